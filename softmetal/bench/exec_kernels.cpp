// The kernels that exec_bench times, written by hand against the ABI.
#include "softmetal/exec/abi.h"

namespace {

sm_query* volatile active_query = nullptr;

consteval sm_site here(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE(),
                       unsigned column = __builtin_COLUMN()) {
    return sm_make_site(sm_hash_file(file), line, column);
}

template <class T>
T* buffer(const sm_arguments* arguments, unsigned index) {
    return static_cast<T*>(arguments->buffers[index]);
}

SM_TRUSTED void sum_floats(sm_lanes* lanes) {
    float sum = 0, value[32];
    __builtin_memcpy(value, lanes->value, sizeof value);
    for (float v : value) sum += v;
    __builtin_memcpy(lanes->result, &sum, sizeof sum);
}

#define KERNEL(name)                                               \
    void name(const sm_thread* t, const sm_arguments* a);          \
    void entry_##name(const sm_thread* t, const sm_arguments* a) { \
        if (sm_query* query = active_query) {                      \
            query->function = #name;                               \
            return;                                                \
        }                                                          \
        name(t, a);                                                \
    }                                                              \
    void name([[maybe_unused]] const sm_thread* t, [[maybe_unused]] const sm_arguments* a)

KERNEL(nothing) {}

KERNEL(barriers) {
    const unsigned n = *buffer<unsigned>(a, 0);
    for (unsigned i = 0; i < n; ++i) sm_threadgroup_barrier(here(), 2);
}

KERNEL(simd_sums) {
    const unsigned n = *buffer<unsigned>(a, 0);
    float value = static_cast<float>(t->position_in_grid.x);
    for (unsigned i = 0; i < n; ++i) {
        const auto* lanes = sm_simd_exchange(here(), &value, 4, sum_floats);
        float sum;
        __builtin_memcpy(&sum, lanes->result, sizeof sum);
        value = sum * 0.03f;
    }
    if (value == 12345) buffer<unsigned>(a, 0)[0] = 0;
}

// c = a + b, one element a thread.
KERNEL(add) {
    const unsigned i = t->position_in_grid.x;
    buffer<float>(a, 0)[i] = buffer<float>(a, 1)[i] + buffer<float>(a, 2)[i];
}

// A matrix of 4-bit numbers times a vector: one row a thread, 2048 columns.
KERNEL(multiply) {
    const auto* row = buffer<const unsigned>(a, 1) + t->position_in_grid.x % 64 * 256;
    const auto* vector = buffer<const float>(a, 2);
    float sum = 0;
    for (unsigned i = 0; i < 256; ++i) {
        unsigned packed = row[i];
        for (unsigned j = 0; j < 8; ++j, packed >>= 4) {
            sum += static_cast<float>(packed & 15) * vector[i * 8 + j];
        }
    }
    buffer<float>(a, 0)[t->position_in_grid.x] = sum;
}

#define ROW(id) \
    sm_kernel { #id, entry_##id, nullptr, 0, 1, __FILE__ }
const sm_kernel kernels[] = {ROW(nothing), ROW(barriers), ROW(simd_sums), ROW(add), ROW(multiply)};
const sm_source_file files[] = {{sm_hash_file(__FILE__), __FILE__}};

}  // namespace

#ifdef CHECKED
constexpr sm_u32 is_checked = 1;
#else
constexpr sm_u32 is_checked = 0;
#endif

extern "C" __attribute__((visibility("default"))) const sm_module softmetal_module = {
    .abi_version = SM_ABI_VERSION,
    .is_checked = is_checked,
    .kernels = kernels,
    .n_kernels = sizeof kernels / sizeof kernels[0],
    .files = files,
    .n_files = 1,
    .query = &active_query,
};

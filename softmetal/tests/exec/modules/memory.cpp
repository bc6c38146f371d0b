// Accesses to buffers and threadgroup memory: built as a checked module.
#include "hand_module.h"

namespace {

struct alignas(16) Float4 {
    float v[4];
};
const Float4 table[2] = {{{1, 2, 3, 4}}, {{5, 6, 7, 8}}};

const sm_threadgroup_variable scratch = {
    .function = "share", .name = "scratch", .bytes = 64 * 4, .alignment = 4, .line = 1};

KERNEL(copy) {
    const unsigned i = k.thread.position_in_grid.x;
    const float value = k.buffer<const float>(1)[i];  // the read
    k.buffer<float>(0)[i] = value;                    // the write
}

KERNEL(read_at) { k.buffer<float>(0)[0] = k.buffer<const float>(1)[*k.buffer<const long>(2)]; }

// A pointer to the end, used backwards.
KERNEL(read_back) {
    const float* end = k.buffer<const float>(1) + *k.buffer<const long>(2);
    for (long i = 1; i <= *k.buffer<const long>(2); ++i) k.buffer<float>(0)[i - 1] = end[-i];
}

KERNEL(share) {
    auto* numbers = static_cast<unsigned*>(sm_threadgroup_storage(&scratch));
    auto* bound = static_cast<unsigned*>(k.arguments.threadgroup[1]);
    const auto* at = k.buffer<const long>(1);
    numbers[at[0]] = 1;  // the variable
    bound[at[1]] = 2;    // the binding
    k.buffer<unsigned>(0)[0] = numbers[at[0]] + bound[at[1]];
}

KERNEL(write_table) {
    auto* numbers = const_cast<float*>(table[0].v);
    asm("" : "+r"(numbers));
    numbers[*k.buffer<const long>(1)] = 1;  // the table
}

KERNEL(read_vector) {
    const auto* bytes = k.buffer<const char>(1) + *k.buffer<const long>(2);
    const auto vector = *reinterpret_cast<const Float4*>(bytes);  // the vector
    for (unsigned i = 0; i < 4; ++i) k.buffer<float>(0)[i] = vector.v[i] + table[i % 2].v[0];
}

KERNEL(count) {
    auto* counter = reinterpret_cast<unsigned*>(k.buffer<char>(0) + *k.buffer<const long>(1));
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

KERNEL(fill) { __builtin_memset(k.buffer<char>(0), 7, *k.buffer<const unsigned long>(1)); }

SM_TRUSTED void sum_trusted(sm_lanes* lanes) { sum_lanes<float>(lanes); }

// Each SIMD group reads 32 numbers, all of them twice, and writes one.
KERNEL(sum_twice) {
    const float value = k.buffer<const float>(1)[k.thread.position_in_grid.x];
    const auto* lanes = sm_simd_exchange(here(), &value, 4, sum_trusted);
    float sum = result_of<float>(lanes, k.lane());
    sm_threadgroup_barrier(here(), 2);
    sum += static_cast<const volatile float*>(k.buffer<float>(1))[k.thread.position_in_grid.x];
    if (k.lane() == 0) k.buffer<float>(0)[k.thread.position_in_grid.x / 32] = sum;
}

// All threads read the same 16 bytes and write to one place.
KERNEL(read_same) {
    const auto vector = *k.buffer<const Float4>(1);
    k.buffer<float>(0)[0] = vector.v[0] + vector.v[3];
}

const sm_argument arguments[] = {
    {.name = "out", .type = "device float*", .kind = SM_ARGUMENT_BUFFER, .index = 0},
    {.name = "in", .type = "const device float*", .kind = SM_ARGUMENT_BUFFER, .index = 1},
    {.name = "bound", .type = "threadgroup uint*", .kind = SM_ARGUMENT_THREADGROUP, .index = 1},
};

#define ROW(id) \
    sm_kernel { #id, entry_##id, arguments, 3, 1, __FILE__ }
const sm_kernel kernels[] = {ROW(copy),        ROW(read_at),  ROW(read_back), ROW(share),
                             ROW(write_table), ROW(count),    ROW(fill),      ROW(read_vector),
                             ROW(sum_twice),   ROW(read_same)};
const sm_threadgroup_variable* const variables[] = {&scratch};
const sm_source_file files[] = {{sm_hash_file(__FILE__), __FILE__}};

}  // namespace

extern "C" __attribute__((visibility("default"))) const sm_module softmetal_module = {
    .abi_version = SM_ABI_VERSION,
    .is_checked = 1,
    .kernels = kernels,
    .n_kernels = sizeof kernels / sizeof kernels[0],
    .threadgroup_variables_begin = variables,
    .threadgroup_variables_end = variables + 1,
    .files = files,
    .n_files = 1,
    .query = &active_query,
};

// Kernels written by hand against the ABI, as mslc would write them: what the test modules share.
#pragma once

#include "softmetal/exec/abi.h"

consteval sm_site here(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE(),
                       unsigned column = __builtin_COLUMN()) {
    return sm_make_site(sm_hash_file(file), line, column);
}

struct Kernel {  // what every kernel here gets
    const sm_thread& thread;
    const sm_arguments& arguments;

    template <class T>
    T* buffer(unsigned index) const {
        return static_cast<T*>(arguments.buffers[index]);
    }
    unsigned lane() const { return thread.index_in_threadgroup % SM_SIMD_WIDTH; }
};

// The value of another lane.
template <class T>
T value_of(const sm_lanes* lanes, unsigned lane) {
    return reinterpret_cast<const T*>(lanes->value)[lane];
}
template <class T>
T result_of(const sm_lanes* lanes, unsigned lane) {
    return reinterpret_cast<const T*>(lanes->result)[lane];
}

// Every active lane's result is the sum over the active lanes.
template <class T>
void sum_lanes(sm_lanes* lanes) {
    T sum = 0;
    for (unsigned i = 0; i < SM_SIMD_WIDTH; ++i) sum += value_of<T>(lanes, i);
    for (unsigned i = 0; i < SM_SIMD_WIDTH; ++i) reinterpret_cast<T*>(lanes->result)[i] = sum;
}
template <class T>
T simd_sum(T value, sm_site site, unsigned lane) {
    return result_of<T>(sm_simd_exchange(site, &value, sizeof(T), sum_lanes<T>), lane);
}

// Kernels are functions named body_NAME; KERNEL(NAME) makes the entry, KERNEL_ROW(NAME) its row in
// the table.
inline sm_query* volatile active_query = nullptr;

#define KERNEL(name)                                                            \
    void body_##name(const Kernel& k);                                          \
    void entry_##name(const sm_thread* thread, const sm_arguments* arguments) { \
        if (sm_query* query = active_query) {                                   \
            query->function = #name;                                            \
            return;                                                             \
        }                                                                       \
        body_##name(Kernel{*thread, *arguments});                               \
    }                                                                           \
    void body_##name(const Kernel& k)
#define KERNEL_ROW(id) \
    sm_kernel { .name = #id, .entry = entry_##id, .line = 1, .file = __FILE__ }

// Only what the compiler may call behind our back: modules link with no library.
extern "C" inline __attribute__((used, weak, visibility("hidden"))) void* memcpy(
    void* to, const void* from, unsigned long bytes) {
    for (unsigned long i = 0; i < bytes; ++i) {
        static_cast<volatile char*>(to)[i] = static_cast<const char*>(from)[i];
    }
    return to;
}

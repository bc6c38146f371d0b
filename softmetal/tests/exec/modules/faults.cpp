// Kernels that fault: an unchecked module.
#include "hand_module.h"

namespace {

const sm_argument arguments[] = {
    {.name = "out", .type = "device uint*", .kind = SM_ARGUMENT_BUFFER, .index = 0},
    {.name = "other", .type = "device uint*", .kind = SM_ARGUMENT_BUFFER, .index = 1},
};

KERNEL(write_unbound) {
    if (k.thread.position_in_grid.x == 37)
        *static_cast<volatile unsigned*>(k.buffer<unsigned>(1)) = 1;
    k.buffer<unsigned>(0)[k.thread.position_in_grid.x] = 1;
}

// Reads a number of bytes behind the beginning of buffer 0.
KERNEL(read_far) {
    k.buffer<unsigned char>(0)[0] = k.buffer<unsigned char>(0)[*k.buffer<unsigned long>(1)];
}

__attribute__((noinline)) unsigned dig(volatile unsigned char* above, unsigned depth) {
    volatile unsigned char block[1000];
    block[0] = above[0];
    const unsigned below = depth == 0 ? 0 : dig(block, depth - 1);
    return block[0] + below;
}
KERNEL(dig_deep) {
    volatile unsigned char one = 1;
    k.buffer<unsigned>(0)[k.thread.position_in_grid.x] = dig(&one, *k.buffer<unsigned>(1));
}

KERNEL(divide) { k.buffer<int>(0)[0] = k.buffer<int>(1)[0] / k.buffer<int>(1)[1]; }

KERNEL(trap) {
    if (*k.buffer<unsigned>(1) != 0) __builtin_trap();
    k.buffer<unsigned>(0)[0] = 1;
}

// Half of the threadgroup waits while the other faults.
KERNEL(fault_beside_waiting) {
    if (k.thread.index_in_threadgroup == 50) *static_cast<volatile unsigned*>(nullptr) = 1;
    sm_threadgroup_barrier(here(), 2);
}

#define ROW(id) \
    sm_kernel { #id, entry_##id, arguments, 2, 1, __FILE__ }
const sm_kernel kernels[] = {ROW(write_unbound), ROW(read_far), ROW(dig_deep),
                             ROW(divide),        ROW(trap),     ROW(fault_beside_waiting)};
const sm_source_file files[] = {{sm_hash_file(__FILE__), __FILE__}};

}  // namespace

extern "C" __attribute__((visibility("default"))) const sm_module softmetal_module = {
    .abi_version = SM_ABI_VERSION,
    .kernels = kernels,
    .n_kernels = 6,
    .files = files,
    .n_files = 1,
    .query = &active_query,
};

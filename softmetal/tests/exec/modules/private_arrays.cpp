// Variables and tables of a thread, built as a checked module: the pass alone watches these.
#include "hand_module.h"

namespace {

constexpr unsigned table[5] = {10, 20, 30, 40, 50};

// Both indices come from the host.
KERNEL(index_variable) {
    unsigned numbers[8];
    for (unsigned i = 0; i < 8; ++i) numbers[i] = i * 3;
    const auto* in = k.buffer<const int>(1);
    numbers[in[0]] = 100;                       // the write
    k.buffer<unsigned>(0)[0] = numbers[in[1]];  // the read
}

KERNEL(index_table) {
    k.buffer<unsigned>(0)[0] = table[*k.buffer<const int>(1)];  // the table
}

KERNEL(copy_variable) {
    unsigned char bytes[24] = {};
    bytes[*k.buffer<unsigned char>(1) & 15] = 1;
    __builtin_memcpy(k.buffer<void>(0), bytes, *k.buffer<const unsigned>(1));  // the copy
}

const sm_kernel kernels[] = {KERNEL_ROW(index_variable), KERNEL_ROW(index_table),
                             KERNEL_ROW(copy_variable)};
const sm_source_file files[] = {{sm_hash_file(__FILE__), __FILE__}};

}  // namespace

extern "C" __attribute__((visibility("default"))) const sm_module softmetal_module = {
    .abi_version = SM_ABI_VERSION,
    .is_checked = 1,
    .kernels = kernels,
    .n_kernels = 3,
    .files = files,
    .n_files = 1,
    .query = &active_query,
};

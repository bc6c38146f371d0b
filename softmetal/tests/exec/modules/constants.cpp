// A module with function constants, and one number of its own that a kernel counts up.
#include "hand_module.h"

namespace {

constexpr sm_u32 kInt = 29, kFloat = 3;  // MTLDataType

int scale = 1;
float offset = 0;
unsigned defined = 0;
unsigned counter = 0;

__attribute__((constructor)) void load_constants() {
    defined = sm_load_function_constant(0, "scale", kInt, &scale, 4) |
              sm_load_function_constant(7, "offset", kFloat, &offset, 4) << 1;
}

KERNEL(apply) {
    auto* out = k.buffer<float>(0);
    out[0] = static_cast<float>(scale);
    out[1] = offset;
    out[2] = static_cast<float>(defined);
    out[3] = static_cast<float>(++counter);
}

const sm_kernel kernels[] = {KERNEL_ROW(apply)};
const sm_function_constant constants[] = {{"scale", 0, kInt, 4}, {"offset", 7, kFloat, 4}};
const sm_source_file files[] = {{sm_hash_file(__FILE__), __FILE__}};

}  // namespace

extern "C" __attribute__((visibility("default"))) const sm_module softmetal_module = {
    .abi_version = SM_ABI_VERSION,
    .kernels = kernels,
    .n_kernels = 1,
    .n_function_constants = 2,
    .function_constants = constants,
    .files = files,
    .n_files = 1,
    .query = &active_query,
};

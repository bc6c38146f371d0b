// The functions that kernel modules call while they run. sm_load_function_constant is in
// module.cpp.
#include <cstdio>
#include <cstdlib>

#include "softmetal/exec/worker.h"

namespace {

using softmetal::exec::Worker;

// A module calls these only from its kernels, and kernels run only on workers.
Worker& worker() { return *Worker::running(); }

}  // namespace

extern "C" {

const sm_thread* sm_current_thread() { return worker().current_thread(); }

[[gnu::visibility("hidden")]] void softmetal_threadgroup_barrier(sm_site site, sm_u32) {
    worker().threadgroup_barrier(site);
}

[[gnu::visibility("hidden")]] void softmetal_simdgroup_barrier(sm_site site, sm_u32) {
    worker().simd_exchange(site, nullptr, 0, nullptr);
}

[[gnu::visibility("hidden")]] const sm_lanes* softmetal_simd_exchange(sm_site site,
                                                                      const void* value,
                                                                      sm_u32 bytes,
                                                                      sm_combine combine) {
    return worker().simd_exchange(site, value, bytes, combine);
}

[[gnu::visibility("hidden")]] const sm_lanes* softmetal_quad_exchange(sm_site site,
                                                                      const void* value,
                                                                      sm_u32 bytes,
                                                                      sm_combine combine) {
    return worker().quad_exchange(site, value, bytes, combine);
}

double* sm_matrix_operands() { return worker().matrix_operands(); }

[[gnu::visibility("hidden")]] const double* softmetal_matrix_products(sm_site site,
                                                                      const sm_product* products,
                                                                      sm_u32 n_products,
                                                                      sm_u32 n_operands,
                                                                      sm_multiply multiply) {
    return worker().matrix_products(site, products, n_products, n_operands, multiply);
}

[[gnu::visibility("hidden")]] double softmetal_matrix_product(sm_site site, double left,
                                                              double right, sm_multiply multiply) {
    static constexpr sm_product kOne[] = {{.left = 0, .right = 1}};
    Worker& here = worker();
    double* const operands = here.matrix_operands();
    operands[0] = left;
    operands[SM_SIMD_WIDTH] = right;
    return *here.matrix_products(site, kOne, 1, 2, multiply);
}

void* sm_threadgroup_storage(const sm_threadgroup_variable* variable) {
    return worker().threadgroup_storage(*variable);
}

void sm_log(sm_u32 type, const char* subsystem, const char* category, const char* text) {
    worker().log({.type = type, .subsystem = subsystem, .category = category, .text = text});
}

void sm_reserve_stack(sm_u64 bytes) {
    // Static initialisers of a module and queries of its entries run on the stack of their caller.
    Worker* const running = Worker::running();
    if (running != nullptr) running->reserve_stack(bytes);
}

void sm_access(const void* address, const void* base, sm_u64 bytes, sm_u32 kind, sm_site site) {
    // Static initialisers of a module are checked code too, but run while it is being loaded.
    Worker* const running = Worker::running();
    if (running == nullptr) return;
    running->access({.address = reinterpret_cast<uintptr_t>(address),
                     .base = reinterpret_cast<uintptr_t>(base),
                     .bytes = bytes,
                     .kind = kind,
                     .site = site});
}

void sm_object_overrun(sm_i64 offset, sm_u64 bytes, sm_u64 object_bytes, const char* object,
                       sm_u32 kind, sm_site site) {
    worker().object_overrun(offset, bytes, object_bytes, object, kind, site);
}

}  // extern "C"

// Entries and threadgroup variables of kernels for NVIDIA GPUs.
#pragma once

namespace sm_glue {

// The x, y and z of a special register.
#define SM_SPECIAL(name)                                     \
    {static_cast<sm_u32>(__nvvm_read_ptx_sreg_##name##_x()), \
     static_cast<sm_u32>(__nvvm_read_ptx_sreg_##name##_y()), \
     static_cast<sm_u32>(__nvvm_read_ptx_sreg_##name##_z())}

// An entry gets the buffers as parameters of its own, so that the compiler knows them to be global
// memory, threadgroup memory as an offset, and last the size of the grid.
inline sm_group group_of(sm_u32x3 grid) {
    const sm_u32x3 position = SM_SPECIAL(ctaid);
    const sm_u32x3 size = SM_SPECIAL(ntid);
    const sm_u32x3 groups = SM_SPECIAL(nctaid);
    // Smaller at a ragged edge.
    const auto rest = [](sm_u32 total, sm_u32 at, sm_u32 each) {
        return total - at * each < each ? total - at * each : each;
    };
    const sm_u32x3 here = {rest(grid.x, position.x, size.x), rest(grid.y, position.y, size.y),
                           rest(grid.z, position.z, size.z)};
    const sm_u32 n = here.x * here.y * here.z, dispatched = size.x * size.y * size.z;
    return {position,
            here,
            size,
            grid,
            groups,
            (n + SM_SIMD_WIDTH - 1) / SM_SIMD_WIDTH,
            (dispatched + SM_SIMD_WIDTH - 1) / SM_SIMD_WIDTH,
            (n + 3) / 4,
            (dispatched + 3) / 4};
}
inline sm_thread thread_of(const sm_group& group) {
    const sm_u32x3 position = SM_SPECIAL(tid);
    const auto& at = group.threadgroup_position_in_grid;
    const auto& size = group.dispatch_threads_per_threadgroup;
    return {&group,
            {at.x * size.x + position.x, at.y * size.y + position.y, at.z * size.z + position.z},
            position,
            (position.z * size.y + position.y) * size.x + position.x};
}
inline bool is_outside(const sm_thread& thread) {
    const auto& at = thread.position_in_grid;
    const auto& grid = thread.group->threads_per_grid;
    return at.x >= grid.x || at.y >= grid.y || at.z >= grid.z;
}

extern __attribute__((shared, aligned(16))) sm_u8 sm_dynamic_memory[];
template <class P>
inline P dynamic_memory(sm_u32 offset) {
    return reinterpret_cast<P>(sm_dynamic_memory + offset);
}

#undef SM_SPECIAL

}  // namespace sm_glue

#define SM_KERNEL_PROLOGUE(max_threads)
#define SM_THREADGROUP_VARIABLE(variable) \
    static __attribute__((shared)) sm_type_##variable variable;

// Barriers.
#pragma once

namespace metal {

// The bits that Apple's compiler uses; the executor gets them as they are.
enum class mem_flags : unsigned {
    mem_none = 0,
    mem_device = 1,
    mem_threadgroup = 2,
    mem_texture = 4,
    mem_threadgroup_imageblock = 8,
    mem_object_data = 16,
    mem_device_and_threadgroup = mem_device | mem_threadgroup,
};
SM_FN constexpr mem_flags operator|(mem_flags a, mem_flags b) {
    return static_cast<mem_flags>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
SM_FN constexpr mem_flags operator&(mem_flags a, mem_flags b) {
    return static_cast<mem_flags>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}

enum memory_order {
    memory_order_relaxed = 0,
    memory_order_acquire = 2,
    memory_order_release = 3,
    memory_order_acq_rel = 4,
    memory_order_seq_cst = 5,
};
enum thread_scope {
    thread_scope_thread,
    thread_scope_simdgroup,
    thread_scope_threadgroup,
    thread_scope_device,
    thread_scope_system,
};

SM_FN void threadgroup_barrier(mem_flags flags = mem_flags::mem_none, SM_SITE) {
    sm::barrier_threadgroup(static_cast<unsigned>(flags), site);
}
SM_FN void threadgroup_barrier(mem_flags flags, thread_scope, SM_SITE) {
    sm::barrier_threadgroup(static_cast<unsigned>(flags), site);
}
SM_FN void threadgroup_barrier(mem_flags flags, memory_order, thread_scope, SM_SITE) {
    sm::barrier_threadgroup(static_cast<unsigned>(flags), site);
}
SM_FN void simdgroup_barrier(mem_flags flags = mem_flags::mem_none, SM_SITE) {
    sm::barrier_simdgroup(static_cast<unsigned>(flags), site);
}
SM_FN void simdgroup_barrier(mem_flags flags, thread_scope, SM_SITE) {
    sm::barrier_simdgroup(static_cast<unsigned>(flags), site);
}
SM_FN void simdgroup_barrier(mem_flags flags, memory_order, thread_scope, SM_SITE) {
    sm::barrier_simdgroup(static_cast<unsigned>(flags), site);
}

}  // namespace metal

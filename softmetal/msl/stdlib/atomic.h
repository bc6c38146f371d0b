// <metal_atomic>. MSL has relaxed operations only and a fence that orders them.
#pragma once

namespace metal {

template <class T>
struct atomic {
    static_assert(__is_same(T, int) || __is_same(T, uint) || __is_same(T, bool) ||
                      __is_same(T, float) || __is_same(T, ulong) || __is_same(T, long),
                  "atomic<T> exists for int, uint, bool, float, long and ulong");
    T __s;
};
template <class T>
using _atomic = atomic<T>;

typedef atomic<int> atomic_int;
typedef atomic<uint> atomic_uint;
typedef atomic<bool> atomic_bool;
typedef atomic<float> atomic_float;
typedef atomic<ulong> atomic_ulong;
typedef atomic<long> atomic_long;

#define SM_OBJECT volatile atomic<T>* object
template <class T>
SM_FN T atomic_load_explicit(const SM_OBJECT, memory_order) {
    T value;
    __atomic_load(&object->__s, &value, __ATOMIC_RELAXED);
    return value;
}
template <class T>
SM_FN void atomic_store_explicit(SM_OBJECT, type_identity_t<T> value, memory_order) {
    __atomic_store(&object->__s, &value, __ATOMIC_RELAXED);
}
template <class T>
SM_FN void atomic_init(SM_OBJECT, type_identity_t<T> value) {
    __atomic_store(&object->__s, &value, __ATOMIC_RELAXED);
}
template <class T>
SM_FN T atomic_exchange_explicit(SM_OBJECT, type_identity_t<T> value, memory_order) {
    T old;
    __atomic_exchange(&object->__s, &value, &old, __ATOMIC_RELAXED);
    return old;
}
// Compares bits, floats included. Never fails without reason.
template <class T>
SM_FN bool atomic_compare_exchange_weak_explicit(SM_OBJECT, T* expected, type_identity_t<T> desired,
                                                 memory_order, memory_order) {
    return __atomic_compare_exchange(&object->__s, expected, &desired, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED);
}

namespace sm {
// The operations that no instruction has.
template <class T, class F>
SM_FN T atomic_update(SM_OBJECT, F f) {
    T old;
    __atomic_load(&object->__s, &old, __ATOMIC_RELAXED);
    for (;;) {
        T desired = f(old);
        if (__atomic_compare_exchange(&object->__s, &old, &desired, false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
            return old;
        }
    }
}
}  // namespace sm

#define SM_ATOMIC(key, requirement, builtin)                                                     \
    template <class T>                                                                           \
        requires(requirement)                                                                    \
    SM_FN T atomic_fetch_##key##_explicit(SM_OBJECT, type_identity_t<T> operand, memory_order) { \
        return builtin(&object->__s, operand, __ATOMIC_RELAXED);                                 \
    }
SM_ATOMIC(add, (!__is_same(T, bool)), __atomic_fetch_add)
SM_ATOMIC(sub, (!__is_same(T, bool)), __atomic_fetch_sub)
SM_ATOMIC(and, sm::is_int_scalar<T>, __atomic_fetch_and)
SM_ATOMIC(or, sm::is_int_scalar<T>, __atomic_fetch_or)
SM_ATOMIC(xor, sm::is_int_scalar<T>, __atomic_fetch_xor)
SM_ATOMIC(min, sm::is_int_scalar<T>, __atomic_fetch_min)
SM_ATOMIC(max, sm::is_int_scalar<T>, __atomic_fetch_max)
#undef SM_ATOMIC

template <class T>
    requires(sm::is_float_scalar<T>)
SM_FN T atomic_fetch_min_explicit(SM_OBJECT, type_identity_t<T> operand, memory_order) {
    return sm::atomic_update<T>(object, [=](T old) { return metal::min(old, operand); });
}
template <class T>
    requires(sm::is_float_scalar<T>)
SM_FN T atomic_fetch_max_explicit(SM_OBJECT, type_identity_t<T> operand, memory_order) {
    return sm::atomic_update<T>(object, [=](T old) { return metal::max(old, operand); });
}

// The forms that return nothing.
template <class T>
SM_FN void atomic_min_explicit(SM_OBJECT, type_identity_t<T> x, memory_order) {
    atomic_fetch_min_explicit(object, x, memory_order_relaxed);
}
template <class T>
SM_FN void atomic_max_explicit(SM_OBJECT, type_identity_t<T> x, memory_order) {
    atomic_fetch_max_explicit(object, x, memory_order_relaxed);
}
#undef SM_OBJECT

SM_FN void atomic_thread_fence(mem_flags, memory_order order = memory_order_seq_cst,
                               thread_scope = thread_scope_device) {
    if (order != memory_order_relaxed) sm::fence();
}

}  // namespace metal

// What clang's built-in operators lack in OpenCL: their left side has no address space, so a
// compound assignment with an object that converts to a number finds none.
#pragma once

namespace metal {
namespace sm {
template <class U>
thread U& object();
template <class T>
constexpr bool is_number = is_scalar<__remove_cv(typename addrspace<T>::removed)>;
}  // namespace sm
}  // namespace metal

#define SM_ASSIGN(op)                                                               \
    template <class T, class U,                                                     \
              class = metal::enable_if_t<__is_class(U) && metal::sm::is_number<T>>, \
              class = decltype(float(metal::sm::object<U>()))>                      \
    T& operator op(T & a, U b);
#define SM_ADVANCE(op)                                                                        \
    template <class T, class U, class = metal::enable_if_t<__is_class(U) && __is_pointer(T)>, \
              class = decltype(long(metal::sm::object<U>())), class = void>                   \
    T& operator op(T & a, U b);
SM_ASSIGN(+=)
SM_ASSIGN(-=)
SM_ASSIGN(*=)
SM_ASSIGN(/=)
SM_ASSIGN(%=)
SM_ASSIGN(&=)
SM_ASSIGN(|=)
SM_ASSIGN(^=)
SM_ASSIGN(<<=)
SM_ASSIGN(>>=)
SM_ADVANCE(+=)
SM_ADVANCE(-=)
#undef SM_ASSIGN
#undef SM_ADVANCE

namespace metal {

// A value that all threads share; it behaves as the value does.
template <class T>
struct uniform {
    constexpr uniform() = default;
    constexpr explicit uniform(T v) : value_(v) {}
    constexpr operator T() const { return value_; }

  private:
    T value_;
};
template <class T>
constexpr uniform<T> make_uniform(T v) {
    return uniform<T>(v);
}
#define SM_UNIFORM(op)                                                                      \
    template <class T, class U>                                                             \
    constexpr auto operator op(uniform<T> a, uniform<U> b)->uniform<decltype(T() op U())> { \
        return make_uniform(T(a) op U(b));                                                  \
    }
SM_UNIFORM(+)
SM_UNIFORM(-)
SM_UNIFORM(*)
SM_UNIFORM(/)
SM_UNIFORM(%)
#undef SM_UNIFORM

}  // namespace metal

// metal::array and as_type.
#pragma once

namespace metal {

template <class T, size_t N>
struct array {
    T __elems[N > 0 ? N : 1];

    typedef T value_type;
    SM_FN constexpr size_t size() const { return N; }
    SM_FN constexpr size_t max_size() const { return N; }
    SM_FN constexpr bool empty() const { return N == 0; }
    SM_FN constexpr T& operator[](size_t i) { return __elems[i]; }
    SM_FN constexpr const T& operator[](size_t i) const { return __elems[i]; }
    SM_FN constexpr T* data() { return __elems; }
    SM_FN constexpr const T* data() const { return __elems; }
    SM_FN constexpr T* begin() { return __elems; }
    SM_FN constexpr T* end() { return __elems + N; }
    SM_FN constexpr const T* begin() const { return __elems; }
    SM_FN constexpr const T* end() const { return __elems + N; }
    SM_FN constexpr T& front() { return __elems[0]; }
    SM_FN constexpr const T& front() const { return __elems[0]; }
    SM_FN constexpr T& back() { return __elems[N - 1]; }
    SM_FN constexpr const T& back() const { return __elems[N - 1]; }
    SM_FN constexpr void fill(const T& value) {
        for (size_t i = 0; i < N; i++) __elems[i] = value;
    }
};
template <class T, class... U>
array(T, U...) -> array<T, 1 + sizeof...(U)>;
}  // namespace metal

namespace metal::sm {
// A vector's clang vector, which a constant expression can see the bits of; anything else as it is.
template <class T, int N>
SM_FN constexpr auto bits_source(const vec<T, N>& a) {
    return a.raw();
}
template <class T>
SM_FN constexpr const T& bits_source(const T& a) {
    return a;
}
template <class T>
struct bits_target {
    template <class From>
    SM_FN static constexpr T from(const From& from) {
        return __builtin_bit_cast(T, from);
    }
};
template <class T, int N>
struct bits_target<vec<T, N>> {
    template <class From>
    SM_FN static constexpr vec<T, N> from(const From& from) {
        return vec<T, N>::of(__builtin_bit_cast(native_t<T, N>, from));
    }
};
}  // namespace metal::sm

// The same bits under another type of the same size. MSL has it as a keyword: it is found
// everywhere.
template <class To, class From>
SM_FN constexpr To as_type(const From& from) {
    static_assert(sizeof(To) == sizeof(From), "as_type needs two types of the same size");
    return metal::sm::bits_target<To>::from(metal::sm::bits_source(from));
}
namespace metal {
using ::as_type;
}

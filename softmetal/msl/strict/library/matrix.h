// floatCxR and its relatives. A column is an lvalue in the address space of its matrix.
#pragma once

namespace metal {

template <class T, int C, int R>
struct matrix {
    vec<T, R> columns[C];

    matrix() = default;
    constexpr explicit matrix(T diagonal) : matrix() {
        for (int c = 0; c < C && c < R; c++) columns[c].each[c] = diagonal;
    }
    template <class... A, class = enable_if_t<sizeof...(A) == C && C != 1 &&
                                              (__is_convertible_to(A, vec<T, R>) && ...) &&
                                              !(sm::is_scalar<A> && ...)>>
    constexpr matrix(A... column) : columns{vec<T, R>(column)...} {}
    template <class... A, class = enable_if_t<sizeof...(A) == C * R && (sm::is_scalar<A> && ...)>,
              class = void>
    constexpr matrix(A... element) : matrix() {
        const T all[] = {static_cast<T>(element)...};
        for (int i = 0; i < C * R; i++) columns[i / R].each[i % R] = all[i];
    }
    template <class U, class = enable_if_t<!__is_same(U, T)>>
    constexpr explicit matrix(const matrix<U, C, R>& m) : matrix() {
        for (int c = 0; c < C; c++) columns[c] = vec<T, R>(m.columns[c]);
    }

    thread vec<T, R>& operator[](size_t c) thread&;
    threadgroup vec<T, R>& operator[](size_t c) threadgroup&;
    device vec<T, R>& operator[](size_t c) __generic&;  // what is neither of the others
    const thread vec<T, R>& operator[](size_t c) const thread&;
    const threadgroup vec<T, R>& operator[](size_t c) const threadgroup&;
    constant vec<T, R>& operator[](size_t c) constant&;
    const device vec<T, R>& operator[](size_t c) const __generic&;
    vec<T, R> operator[](size_t c) const&&;  // of a value that no variable holds

    matrix& operator+=(const matrix& m);
    matrix& operator-=(const matrix& m);
    matrix& operator*=(T s);
    matrix& operator*=(const matrix<T, C, C>& m);
};

template <class T, int C, int R>
matrix<T, C, R> operator+(const matrix<T, C, R>& a, const matrix<T, C, R>& b);
template <class T, int C, int R>
matrix<T, C, R> operator-(const matrix<T, C, R>& a, const matrix<T, C, R>& b);
template <class T, int C, int R>
matrix<T, C, R> operator-(const matrix<T, C, R>& a);
template <class T, int C, int R>
matrix<T, C, R> operator*(const matrix<T, C, R>& a, type_identity_t<T> s);
template <class T, int C, int R>
matrix<T, C, R> operator*(type_identity_t<T> s, const matrix<T, C, R>& a);
template <class T, int C, int R>
vec<T, R> operator*(const matrix<T, C, R>& a, type_identity_t<vec<T, C>> v);
template <class T, int C, int R>
vec<T, C> operator*(type_identity_t<vec<T, R>> v, const matrix<T, C, R>& a);
template <class T, int C, int R, int K>
matrix<T, C, R> operator*(const matrix<T, K, R>& a, const matrix<T, C, K>& b);
template <class T, int C, int R>
bool operator==(const matrix<T, C, R>& a, const matrix<T, C, R>& b);
template <class T, int C, int R>
bool operator!=(const matrix<T, C, R>& a, const matrix<T, C, R>& b);

template <class T, int C, int R>
matrix<T, R, C> transpose(const matrix<T, C, R>& m);
template <class T, int N>
T determinant(const matrix<T, N, N>& m);

}  // namespace metal

#define SM_NAME(T, C, R)                       \
    typedef metal::matrix<T, C, R> T##C##x##R; \
    namespace metal {                          \
    using ::T##C##x##R;                        \
    }
#define SM_NAMES(T)  \
    SM_NAME(T, 2, 2) \
    SM_NAME(T, 2, 3) \
    SM_NAME(T, 2, 4) \
    SM_NAME(T, 3, 2) \
    SM_NAME(T, 3, 3) SM_NAME(T, 3, 4) SM_NAME(T, 4, 2) SM_NAME(T, 4, 3) SM_NAME(T, 4, 4)
SM_NAMES(float)
SM_NAMES(half)
SM_NAMES(bfloat)
#undef SM_NAMES
#undef SM_NAME

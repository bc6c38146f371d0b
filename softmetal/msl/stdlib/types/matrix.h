// <metal_matrix>: float4x3 is four columns of three rows, held column by column.
#pragma once

namespace metal {

template <class T, int C, int R>
struct matrix {
    vec<T, R> columns[C];

    matrix() = default;
    // The diagonal; the rest is 0.
    SM_FN constexpr explicit matrix(T diagonal) {
        for (int c = 0; c < C; c++) {
            columns[c] = vec<T, R>(T(0));
            if (c < R) columns[c].put_lane(c, diagonal);
        }
    }
    template <class... Columns>
        requires(sizeof...(Columns) == C && (__is_convertible_to(Columns, vec<T, R>) && ...) &&
                 !(sm::Scalar<Columns> && ...))
    SM_FN constexpr matrix(Columns... c) : columns{vec<T, R>(c)...} {}
    template <class... Scalars>
        requires(sizeof...(Scalars) == C * R && (sm::Scalar<Scalars> && ...))
    SM_FN constexpr matrix(Scalars... s) {
        const T all[] = {static_cast<T>(s)...};
        for (int c = 0; c < C; c++) {
            columns[c] = vec<T, R>(T(0));
            for (int r = 0; r < R; r++) columns[c].put_lane(r, all[c * R + r]);
        }
    }
    template <class U>
        requires(!__is_same(U, T))
    SM_FN constexpr explicit matrix(const matrix<U, C, R>& m) {
        for (int c = 0; c < C; c++) columns[c] = vec<T, R>(m.columns[c]);
    }

    SM_FN constexpr vec<T, R>& operator[](size_t c) { return columns[c]; }
    SM_FN constexpr const vec<T, R>& operator[](size_t c) const { return columns[c]; }

    SM_FN friend constexpr matrix operator+(matrix a, const matrix& b) { return a += b; }
    SM_FN friend constexpr matrix operator-(matrix a, const matrix& b) { return a -= b; }
    SM_FN friend constexpr matrix operator-(matrix a) {
        for (int c = 0; c < C; c++) a.columns[c] = -a.columns[c];
        return a;
    }
    SM_FN friend constexpr matrix operator*(matrix a, T s) { return a *= s; }
    SM_FN friend constexpr matrix operator*(T s, matrix a) { return a *= s; }
    SM_FN constexpr matrix& operator+=(const matrix& b) {
        for (int c = 0; c < C; c++) columns[c] += b.columns[c];
        return *this;
    }
    SM_FN constexpr matrix& operator-=(const matrix& b) {
        for (int c = 0; c < C; c++) columns[c] -= b.columns[c];
        return *this;
    }
    SM_FN constexpr matrix& operator*=(T s) {
        for (int c = 0; c < C; c++) columns[c] *= s;
        return *this;
    }
    SM_FN constexpr matrix& operator*=(const matrix<T, C, C>& b) { return *this = *this * b; }
    SM_FN friend bool operator==(const matrix& a, const matrix& b) {
        for (int c = 0; c < C; c++) {
            if (!metal::all(a.columns[c] == b.columns[c])) return false;
        }
        return true;
    }
    SM_FN friend bool operator!=(const matrix& a, const matrix& b) { return !(a == b); }

    // The column vector that is the sum of columns weighted by v.
    SM_FN friend constexpr vec<T, R> operator*(const matrix& m, vec<T, C> v) {
        return m.weighted(v, __make_integer_seq<indices, int, C>{});
    }

    template <class I, I...>
    struct indices {};
    template <int... I>
    SM_FN constexpr vec<T, R> weighted(vec<T, C> v, indices<int, I...>) const {
        vec<T, R> sum = columns[0] * v.template lane<0>();
        ((sum = I == 0 ? sum : sum + columns[I] * v.template lane<I>()), ...);
        return sum;
    }
};

// A row vector times a matrix: its dot product with each column.
template <class T, int C, int R>
SM_FN vec<T, C> operator*(vec<T, R> v, const matrix<T, C, R>& m) {
    vec<T, C> result;
    for (int c = 0; c < C; c++) result[c] = metal::dot(v, m.columns[c]);
    return result;
}
template <class T, int C, int R, int K>
SM_FN constexpr matrix<T, C, R> operator*(const matrix<T, K, R>& a, const matrix<T, C, K>& b) {
    matrix<T, C, R> result;
    for (int c = 0; c < C; c++) result.columns[c] = a * b.columns[c];
    return result;
}

template <class T, int C, int R>
SM_FN matrix<T, R, C> transpose(const matrix<T, C, R>& m) {
    matrix<T, R, C> result;
    for (int r = 0; r < R; r++) {
        for (int c = 0; c < C; c++) result.columns[r][c] = m.columns[c][r];
    }
    return result;
}

namespace sm {
template <class T>
SM_FN float determinant_float(const matrix<T, 2, 2>& m) {
    auto a = to_float(m.columns[0]), b = to_float(m.columns[1]);
    return a.x * b.y - b.x * a.y;
}
template <class T>
SM_FN float determinant_float(const matrix<T, 3, 3>& m) {
    auto a = to_float(m.columns[0]), b = to_float(m.columns[1]), c = to_float(m.columns[2]);
    return a.x * (b.y * c.z - c.y * b.z) - b.x * (a.y * c.z - c.y * a.z) +
           c.x * (a.y * b.z - b.y * a.z);
}
// By 2 by 2 minors of the upper and of the lower two rows.
template <class T>
SM_FN float determinant_float(const matrix<T, 4, 4>& m) {
    auto a = to_float(m.columns[0]), b = to_float(m.columns[1]), c = to_float(m.columns[2]),
         d = to_float(m.columns[3]);
    float ab = a.x * b.y - b.x * a.y, ac = a.x * c.y - c.x * a.y, ad = a.x * d.y - d.x * a.y;
    float bc = b.x * c.y - c.x * b.y, bd = b.x * d.y - d.x * b.y, cd = c.x * d.y - d.x * c.y;
    float lower_ab = a.z * b.w - b.z * a.w, lower_ac = a.z * c.w - c.z * a.w;
    float lower_ad = a.z * d.w - d.z * a.w, lower_bc = b.z * c.w - c.z * b.w;
    float lower_bd = b.z * d.w - d.z * b.w, lower_cd = c.z * d.w - d.z * c.w;
    return ab * lower_cd - ac * lower_bd + ad * lower_bc + bc * lower_ad - bd * lower_ac +
           cd * lower_ab;
}
}  // namespace sm
template <class T, int N>
SM_FN T determinant(const matrix<T, N, N>& m) {
    return static_cast<T>(sm::determinant_float(m));
}

}  // namespace metal

#define SM_MATRIX_NAME(T, name)               \
    typedef metal::matrix<T, 2, 2> name##2x2; \
    typedef metal::matrix<T, 2, 3> name##2x3; \
    typedef metal::matrix<T, 2, 4> name##2x4; \
    typedef metal::matrix<T, 3, 2> name##3x2; \
    typedef metal::matrix<T, 3, 3> name##3x3; \
    typedef metal::matrix<T, 3, 4> name##3x4; \
    typedef metal::matrix<T, 4, 2> name##4x2; \
    typedef metal::matrix<T, 4, 3> name##4x3; \
    typedef metal::matrix<T, 4, 4> name##4x4; \
    namespace metal {                         \
    using ::name##2x2;                        \
    using ::name##2x3;                        \
    using ::name##2x4;                        \
    using ::name##3x2;                        \
    using ::name##3x3;                        \
    using ::name##3x4;                        \
    using ::name##4x2;                        \
    using ::name##4x3;                        \
    using ::name##4x4;                        \
    }
SM_MATRIX_NAME(float, float)
SM_MATRIX_NAME(_Float16, half)
SM_MATRIX_NAME(bfloat, bfloat)
#undef SM_MATRIX_NAME

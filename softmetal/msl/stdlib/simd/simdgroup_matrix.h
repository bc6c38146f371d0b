// <metal_simdgroup_matrix>: 8 by 8 matrices spread over the lanes of a SIMD group, two elements a
// lane, in the layout of Apple's GPUs: programs compute coordinates from it.
#pragma once

namespace metal {

template <class T, int Cols, int Rows>
struct simdgroup_matrix {
    static_assert(Cols == 8 && Rows == 8, "a simdgroup_matrix has 8 columns and 8 rows");
    static_assert(sm::is_float_scalar<T>, "a simdgroup_matrix holds half, bfloat or float");
    typedef T value_type;

    vec<T, 2> elements;

    simdgroup_matrix() = default;
    // A diagonal matrix.
    SM_FN explicit simdgroup_matrix(T diagonal) {
        unsigned row = row_of_lane(), column = column_of_lane();
        elements = vec<T, 2>(row == column ? diagonal : T(0), row == column + 1 ? diagonal : T(0));
    }

    // This lane's pair: (row_of_lane(), column_of_lane() + {0, 1}).
    SM_FN vec<T, 2>& thread_elements() { return elements; }
    SM_FN const vec<T, 2>& thread_elements() const { return elements; }

    SM_FN static unsigned row_of_lane() {
        unsigned lane = sm::lane_index();
        return (lane >> 4 & 1) * 4 + (lane >> 1 & 3);
    }
    SM_FN static unsigned column_of_lane() {
        unsigned lane = sm::lane_index();
        return (lane >> 3 & 1) * 4 + (lane & 1) * 2;
    }
};

typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;

template <class T, int Cols, int Rows = Cols>
SM_FN simdgroup_matrix<T, Cols, Rows> make_filled_simdgroup_matrix(T value) {
    simdgroup_matrix<T, Cols, Rows> m;
    m.elements = vec<T, 2>(value);
    return m;
}
template <class T, int Cols, int Rows = Cols>
SM_FN simdgroup_matrix<T, Cols, Rows> make_diagonal_simdgroup_matrix(T value) {
    return simdgroup_matrix<T, Cols, Rows>(value);
}

// ---- Memory. Element (row, column) lies at [origin.y + row][origin.x + column] of an array with
// elements_per_row columns, or transposed at [origin.y + column][origin.x + row].

namespace sm {
template <class T>
SM_FN T* matrix_element(T* memory, ulong pitch, ulong2 origin, bool transposed, unsigned row,
                        unsigned column) {
    unsigned down = transposed ? column : row, across = transposed ? row : column;
    return memory + (origin.y + down) * pitch + origin.x + across;
}
}  // namespace sm

template <class T, int Cols, int Rows>
SM_FN void simdgroup_load(simdgroup_matrix<T, Cols, Rows>& d, const type_identity_t<T>* source,
                          ulong elements_per_row = Cols, ulong2 matrix_origin = 0,
                          bool transpose_matrix = false) {
    unsigned row = d.row_of_lane(), column = d.column_of_lane();
    for (unsigned i = 0; i < 2; i++) {
        d.elements[i] = *sm::matrix_element(source, elements_per_row, matrix_origin,
                                            transpose_matrix, row, column + i);
    }
}
template <class T, int Cols, int Rows>
SM_FN void simdgroup_load(simdgroup_matrix<T, Cols, Rows>& d,
                          const volatile type_identity_t<T>* source, ulong elements_per_row = Cols,
                          ulong2 matrix_origin = 0, bool transpose_matrix = false) {
    simdgroup_load(d, const_cast<const T*>(source), elements_per_row, matrix_origin,
                   transpose_matrix);
}
template <class T, int Cols, int Rows>
SM_FN void simdgroup_store(const simdgroup_matrix<T, Cols, Rows>& a,
                           type_identity_t<T>* destination, ulong elements_per_row = Cols,
                           ulong2 matrix_origin = 0, bool transpose_matrix = false) {
    unsigned row = a.row_of_lane(), column = a.column_of_lane();
    for (unsigned i = 0; i < 2; i++) {
        *sm::matrix_element(destination, elements_per_row, matrix_origin, transpose_matrix, row,
                            column + i) = a.elements[i];
    }
}
template <class T, int Cols, int Rows>
SM_FN void simdgroup_store(const simdgroup_matrix<T, Cols, Rows>& a,
                           volatile type_identity_t<T>* destination, ulong elements_per_row = Cols,
                           ulong2 matrix_origin = 0, bool transpose_matrix = false) {
    simdgroup_store(a, const_cast<T*>(destination), elements_per_row, matrix_origin,
                    transpose_matrix);
}

// ---- Products. Eight float products are summed in float, c is added to their sum, and the result
// is rounded once to the type of d. (How Apple's hardware rounds half results is not known.)

template <class D, class A, class B>
SM_FN void simdgroup_multiply(simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a,
                              const simdgroup_matrix<B, 8, 8>& b, SM_SITE) {
    d.elements = static_cast<vec<D, 2>>(sm::multiply_8x8(a.elements, b.elements, site));
}
template <class D, class A, class B, class C>
SM_FN void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8>& d,
                                         const simdgroup_matrix<A, 8, 8>& a,
                                         const simdgroup_matrix<B, 8, 8>& b,
                                         const simdgroup_matrix<C, 8, 8>& c, SM_SITE) {
    vec<float, 2> product = sm::multiply_8x8(a.elements, b.elements, site);
    d.elements = static_cast<vec<D, 2>>(product + static_cast<vec<float, 2>>(c.elements));
}
template <class T>
SM_FN simdgroup_matrix<T, 8, 8> simdgroup_multiply(const simdgroup_matrix<T, 8, 8>& a,
                                                   const simdgroup_matrix<T, 8, 8>& b, SM_SITE) {
    simdgroup_matrix<T, 8, 8> d;
    simdgroup_multiply(d, a, b, site);
    return d;
}
template <class T, class C>
SM_FN simdgroup_matrix<C, 8, 8> simdgroup_multiply_accumulate(const simdgroup_matrix<T, 8, 8>& a,
                                                              const simdgroup_matrix<T, 8, 8>& b,
                                                              const simdgroup_matrix<C, 8, 8>& c,
                                                              SM_SITE) {
    simdgroup_matrix<C, 8, 8> d;
    simdgroup_multiply_accumulate(d, a, b, c, site);
    return d;
}
// An operator has no room for a site: its product is identified by its place in this header.
template <class T>
SM_FN simdgroup_matrix<T, 8, 8> operator*(const simdgroup_matrix<T, 8, 8>& a,
                                          const simdgroup_matrix<T, 8, 8>& b) {
    return simdgroup_multiply(a, b);
}

}  // namespace metal

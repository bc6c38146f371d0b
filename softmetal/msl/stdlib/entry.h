// What mslc's translator writes into a kernel and into the module's table (exec/abi.h): the
// prologue of a kernel, threadgroup variables, function constants, and the entries that fetch a
// kernel's parameters. The last page of the prelude metal.h, so that `half` and `vec` are known.
#pragma once

#include "softmetal/exec/abi.h"

namespace sm_glue {

// ---- types --------------------------------------------------------------------------------------

template <class T>
struct without_reference {
    using type = T;
};
template <class T>
struct without_reference<T&> {
    using type = T;
};
template <class T>
struct without_cv {
    using type = T;
};
template <class T>
struct without_cv<const T> {
    using type = T;
};
template <class T>
struct without_cv<volatile T> {
    using type = T;
};
template <class T>
struct without_cv<const volatile T> {
    using type = T;
};
template <class T>
using bare = typename without_cv<typename without_reference<T>::type>::type;

template <class T>
constexpr bool is_const = false;
template <class T>
constexpr bool is_const<const T> = true;

template <class A, class B>
constexpr bool same = false;
template <class A>
constexpr bool same<A, A> = true;

// A vector type is a template over element type and width, whatever its name.
template <class T>
struct vector_shape {
    using element = T;
    static constexpr int width = 1;
};
template <template <class, auto> class V, class T, auto N>
struct vector_shape<V<T, N>> {
    using element = T;
    static constexpr int width = static_cast<int>(N);
};

// The parameters of a kernel.
template <class F>
struct signature;
template <class... P>
struct signature<void(P...)> {
    template <unsigned I>
    using parameter = __type_pack_element<I, P...>;
};
template <class F, unsigned I>
using parameter = typename signature<F>::template parameter<I>;

// What a buffer parameter points to; `indirect` is false for anything but a pointer.
template <class P>
struct pointee {
    using type = P;
    static constexpr bool indirect = false;
};
template <class T>
struct pointee<T*> {
    using type = T;
    static constexpr bool indirect = true;
};

template <class P>
constexpr bool is_buffer_type =
    pointee<P>::indirect && !pointee<bare<typename pointee<P>::type>>::indirect;

// ---- where a parameter's value comes from -------------------------------------------------------

template <unsigned I>
struct buffer {
    template <class P>
    static P get(const sm_thread*, const sm_arguments* arguments) {
        return static_cast<P>(arguments->buffers[I]);
    }
};

// Stands in for what an argument points to that does not exist. Kernels do read such arguments, as
// long as nothing comes of it.
alignas(64) static unsigned char nothing[4096];

template <unsigned I, const auto& exists>
struct optional_buffer {
    template <class P>
    static P get(const sm_thread*, const sm_arguments* arguments) {
        void* const bound = arguments->buffers[I];
        return static_cast<P>(exists ? bound : nothing);
    }
};

template <unsigned I>
struct threadgroup_memory {
    template <class P>
    static P get(const sm_thread*, const sm_arguments* arguments) {
        return static_cast<P>(arguments->threadgroup[I]);
    }
};

template <class T>
constexpr bool is_id_element =
    same<T, unsigned> || same<T, unsigned short> || same<T, int> || same<T, short>;

// Positions and sizes are uint, ushort, int or short, or vectors of 2 or 3 of these.
struct position_source {
    template <class P>
    static constexpr bool accepts = is_id_element<typename vector_shape<bare<P>>::element> &&
                                    vector_shape<bare<P>>::width <= 3 && !pointee<P>::indirect;

    template <class P>
    static P make(sm_u32x3 value) {
        using V = bare<P>;
        using T = typename vector_shape<V>::element;
        if constexpr (vector_shape<V>::width == 1)
            return V(value.x);
        else if constexpr (vector_shape<V>::width == 2)
            return V(T(value.x), T(value.y));
        else
            return V(T(value.x), T(value.y), T(value.z));
    }
};

struct index_source {
    template <class P>
    static constexpr bool accepts = is_id_element<bare<P>> && !pointee<P>::indirect;
};

#define SM_POSITION(name, value)                                     \
    struct name : position_source {                                  \
        template <class P>                                           \
        static P get(const sm_thread* thread, const sm_arguments*) { \
            return make<P>(value);                                   \
        }                                                            \
    };
#define SM_INDEX(name, value)                                                         \
    struct name : index_source {                                                      \
        template <class P>                                                            \
        static P get([[maybe_unused]] const sm_thread* thread, const sm_arguments*) { \
            return static_cast<P>(value);                                             \
        }                                                                             \
    };

SM_POSITION(thread_position_in_grid, thread->position_in_grid)
SM_POSITION(thread_position_in_threadgroup, thread->position_in_threadgroup)
SM_POSITION(threadgroup_position_in_grid, thread->group->threadgroup_position_in_grid)
SM_POSITION(threads_per_threadgroup, thread->group->threads_per_threadgroup)
SM_POSITION(dispatch_threads_per_threadgroup, thread->group->dispatch_threads_per_threadgroup)
SM_POSITION(threads_per_grid, thread->group->threads_per_grid)
SM_POSITION(threadgroups_per_grid, thread->group->threadgroups_per_grid)
SM_POSITION(grid_size, thread->group->threads_per_grid)
SM_POSITION(grid_origin, ((void)thread, sm_u32x3{0, 0, 0}))

SM_INDEX(thread_index_in_threadgroup, thread->index_in_threadgroup)
SM_INDEX(thread_index_in_simdgroup, thread->index_in_threadgroup % SM_SIMD_WIDTH)
SM_INDEX(simdgroup_index_in_threadgroup, thread->index_in_threadgroup / SM_SIMD_WIDTH)
SM_INDEX(simdgroups_per_threadgroup, thread->group->simdgroups_per_threadgroup)
SM_INDEX(dispatch_simdgroups_per_threadgroup, thread->group->dispatch_simdgroups_per_threadgroup)
SM_INDEX(threads_per_simdgroup, SM_SIMD_WIDTH)
SM_INDEX(thread_execution_width, SM_SIMD_WIDTH)
SM_INDEX(thread_index_in_quadgroup, thread->index_in_threadgroup % 4)
SM_INDEX(quadgroup_index_in_threadgroup, thread->index_in_threadgroup / 4)
SM_INDEX(quadgroups_per_threadgroup, thread->group->quadgroups_per_threadgroup)
SM_INDEX(dispatch_quadgroups_per_threadgroup, thread->group->dispatch_quadgroups_per_threadgroup)

#undef SM_POSITION
#undef SM_INDEX

// ---- entries and their description --------------------------------------------------------------

template <class T>
constexpr sm_u64 size_or_one() {
    if constexpr (requires { sizeof(T); })
        return sizeof(T);
    else
        return 1;  // void, or declared only
}
template <class T>
constexpr sm_u32 alignment_or_one() {
    if constexpr (requires { alignof(T); })
        return alignof(T);
    else
        return 1;
}

template <class P>
constexpr sm_argument describe(const char* name, const char* type, const char* function_constant,
                               sm_argument_kind kind, unsigned index, bool is_constant,
                               bool is_reference) {
    using T = typename pointee<P>::type;
    using Element = typename without_cv<T>::type;
    if constexpr (same<Element, void>)
        return {name,
                type,
                function_constant,
                kind,
                static_cast<sm_u8>(index),
                is_constant,
                is_const<T>,
                0,
                1,
                1};
    else
        return {name,
                type,
                function_constant,
                kind,
                static_cast<sm_u8>(index),
                is_constant,
                is_const<T>,
                is_reference,
                alignment_or_one<Element>(),
                size_or_one<Element>()};
}

template <unsigned... Indices>
constexpr bool in_bounds = ((Indices < SM_MAX_BUFFERS) && ...);

template <unsigned... Indices>
constexpr bool find_all_different() {
    constexpr unsigned list[] = {Indices...};
    for (unsigned i = 0; i < sizeof...(Indices); ++i)
        for (unsigned k = 0; k < i; ++k)
            if (list[i] == list[k]) return false;
    return true;
}
template <unsigned... Indices>
constexpr bool all_different = find_all_different<Indices...>();

// ---- function constants -------------------------------------------------------------------------

// MTLDataType numbers: a scalar's own, and one more for each further element of a vector.
template <class T>
constexpr sm_u32 scalar_data_type = 0;
template <>
inline constexpr sm_u32 scalar_data_type<float> = 3;
template <>
inline constexpr sm_u32 scalar_data_type<half> = 16;
template <>
inline constexpr sm_u32 scalar_data_type<int> = 29;
template <>
inline constexpr sm_u32 scalar_data_type<unsigned> = 33;
template <>
inline constexpr sm_u32 scalar_data_type<short> = 37;
template <>
inline constexpr sm_u32 scalar_data_type<unsigned short> = 41;
template <>
inline constexpr sm_u32 scalar_data_type<char> = 45;
template <>
inline constexpr sm_u32 scalar_data_type<signed char> = 45;
template <>
inline constexpr sm_u32 scalar_data_type<unsigned char> = 49;
template <>
inline constexpr sm_u32 scalar_data_type<bool> = 53;
template <>
inline constexpr sm_u32 scalar_data_type<long> = 81;
template <>
inline constexpr sm_u32 scalar_data_type<unsigned long> = 85;
template <>
inline constexpr sm_u32 scalar_data_type<bfloat> = 121;

template <class T>
constexpr sm_u32 find_data_type() {
    using V = bare<T>;
    constexpr sm_u32 scalar = scalar_data_type<typename vector_shape<V>::element>;
    return scalar == 0 ? 0 : scalar + vector_shape<V>::width - 1;
}
template <class T>
constexpr sm_u32 data_type = find_data_type<T>();

}  // namespace sm_glue

#if defined(__NVPTX__)
#include "softmetal/msl/stdlib/entry_nvptx.h"
#else
#include "softmetal/msl/stdlib/entry_cpu.h"
#endif

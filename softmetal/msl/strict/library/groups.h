// What lanes and threads do together: <metal_compute>, <metal_simdgroup>, <metal_quadgroup>,
// <metal_atomic>, <metal_simdgroup_matrix>; and logging.
#pragma once

namespace metal {

enum class mem_flags : uint {
    mem_none = 0,
    mem_device = 1,
    mem_threadgroup = 2,
    mem_texture = 4,
    mem_threadgroup_imageblock = 8,
    mem_object_data = 16,
};
constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(uint(a) | uint(b)); }
constexpr mem_flags operator&(mem_flags a, mem_flags b) { return mem_flags(uint(a) & uint(b)); }
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

void threadgroup_barrier(mem_flags flags);
void threadgroup_barrier(mem_flags flags, thread_scope scope);
void threadgroup_barrier(mem_flags flags, memory_order order, thread_scope scope);
void simdgroup_barrier(mem_flags flags);
void simdgroup_barrier(mem_flags flags, thread_scope scope);
void simdgroup_barrier(mem_flags flags, memory_order order, thread_scope scope);
void atomic_thread_fence(mem_flags flags, memory_order order = memory_order_seq_cst,
                         thread_scope scope = thread_scope_device);

// ---- SIMD groups and quads

class simd_vote {
  public:
    typedef uint64_t vote_t;
    explicit constexpr simd_vote(vote_t v = 0) : v_(v) {}
    explicit constexpr operator vote_t() const { return v_; }
    bool all() const;
    bool any() const;

  private:
    vote_t v_;
};
class quad_vote {
  public:
    typedef uint64_t vote_t;
    explicit constexpr quad_vote(vote_t v = 0) : v_(v) {}
    explicit constexpr operator vote_t() const { return v_; }
    bool all() const;
    bool any() const;

  private:
    vote_t v_;
};

#define SM_GROUP(group)                         \
    group##_vote group##_ballot(bool vote);     \
    group##_vote group##_active_threads_mask(); \
    bool group##_any(bool vote);                \
    bool group##_all(bool vote);                \
    bool group##_is_first();                    \
    bool group##_is_helper_thread();
SM_GROUP(simd)
SM_GROUP(quad)
#undef SM_GROUP

#define SM_MOVE(group, V)                                                          \
    V group##_broadcast(V data, ushort lane);                                      \
    V group##_broadcast_first(V data);                                             \
    V group##_shuffle(V data, ushort lane);                                        \
    V group##_shuffle_up(V data, ushort delta);                                    \
    V group##_shuffle_down(V data, ushort delta);                                  \
    V group##_shuffle_xor(V data, ushort mask);                                    \
    V group##_shuffle_rotate_up(V data, ushort delta);                             \
    V group##_shuffle_rotate_down(V data, ushort delta);                           \
    V group##_shuffle_and_fill_up(V data, V filling, ushort delta);                \
    V group##_shuffle_and_fill_up(V data, V filling, ushort delta, ushort modulo); \
    V group##_shuffle_and_fill_down(V data, V filling, ushort delta);              \
    V group##_shuffle_and_fill_down(V data, V filling, ushort delta, ushort modulo);
#define SM_REDUCE(group, V)                     \
    V group##_sum(V data);                      \
    V group##_product(V data);                  \
    V group##_min(V data);                      \
    V group##_max(V data);                      \
    V group##_prefix_inclusive_sum(V data);     \
    V group##_prefix_exclusive_sum(V data);     \
    V group##_prefix_inclusive_product(V data); \
    V group##_prefix_exclusive_product(V data);
#define SM_BITS(group, V)  \
    V group##_and(V data); \
    V group##_or(V data);  \
    V group##_xor(V data);
#define SM_MOVED(V) SM_MOVE(simd, V) SM_MOVE(quad, V)
#define SM_COUNTED(V) SM_MOVED(V) SM_REDUCE(simd, V) SM_REDUCE(quad, V)
#define SM_WHOLE(V) SM_COUNTED(V) SM_BITS(simd, V) SM_BITS(quad, V)
SM_EACH(SM_WHOLE, char)
SM_EACH(SM_WHOLE, uchar)
SM_EACH(SM_WHOLE, short)
SM_EACH(SM_WHOLE, ushort)
SM_EACH(SM_WHOLE, int)
SM_EACH(SM_WHOLE, uint)
SM_EACH(SM_COUNTED, half)
SM_EACH(SM_COUNTED, float)
#undef SM_WHOLE
#undef SM_COUNTED
#undef SM_MOVED
#undef SM_BITS
#undef SM_REDUCE
#undef SM_MOVE
#undef SM_EACH
#undef SM_VECTORS

// ---- Atomics

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

#define SM_OBJECT(space) volatile space atomic<T>* object
#define SM_VALUE type_identity_t<T>
#define SM_FETCH(space, key) \
    template <class T>       \
    T atomic_fetch_##key##_explicit(SM_OBJECT(space), SM_VALUE operand, memory_order order);
#define SM_ATOMICS(space)                                                              \
    template <class T>                                                                 \
    T atomic_load_explicit(const SM_OBJECT(space), memory_order order);                \
    template <class T>                                                                 \
    void atomic_store_explicit(SM_OBJECT(space), SM_VALUE value, memory_order order);  \
    template <class T>                                                                 \
    T atomic_exchange_explicit(SM_OBJECT(space), SM_VALUE value, memory_order order);  \
    template <class T>                                                                 \
    bool atomic_compare_exchange_weak_explicit(SM_OBJECT(space), thread T* expected,   \
                                               SM_VALUE desired, memory_order success, \
                                               memory_order failure);                  \
    SM_FETCH(space, add)                                                               \
    SM_FETCH(space, sub)                                                               \
    SM_FETCH(space, and)                                                               \
    SM_FETCH(space, or)                                                                \
    SM_FETCH(space, xor)                                                               \
    SM_FETCH(space, min)                                                               \
    SM_FETCH(space, max)                                                               \
    template <class T>                                                                 \
    void atomic_min_explicit(SM_OBJECT(space), SM_VALUE x, memory_order order);        \
    template <class T>                                                                 \
    void atomic_max_explicit(SM_OBJECT(space), SM_VALUE x, memory_order order);
SM_ATOMICS(device)
SM_ATOMICS(threadgroup)
#undef SM_ATOMICS
#undef SM_FETCH
#undef SM_VALUE
#undef SM_OBJECT

// ---- Matrices of a SIMD group

template <class T, int Cols, int Rows>
struct simdgroup_matrix {
    static_assert(Cols == 8 && Rows == 8, "a simdgroup_matrix has 8 columns and 8 rows");
    static_assert(sm::is_float<T>, "a simdgroup_matrix holds half, bfloat or float");
    typedef T value_type;
    typedef vec<T, 2> storage_type;

    simdgroup_matrix() = default;
    explicit simdgroup_matrix(T diagonal);
    thread vec<T, 2>& thread_elements() thread;
    const thread vec<T, 2>& thread_elements() const thread;

  private:
    vec<T, 2> elements_;
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;

template <class T, int Cols, int Rows = Cols>
simdgroup_matrix<T, Cols, Rows> make_filled_simdgroup_matrix(T value);
template <class T, int Cols, int Rows = Cols>
simdgroup_matrix<T, Cols, Rows> make_diagonal_simdgroup_matrix(T value);

#define SM_MEMORY(space)                                                                           \
    template <class T, int Cols, int Rows>                                                         \
    void simdgroup_load(thread simdgroup_matrix<T, Cols, Rows>& d, const space T* source,          \
                        ulong elements_per_row = Cols, ulong2 matrix_origin = 0,                   \
                        bool transpose_matrix = false);                                            \
    template <class T, int Cols, int Rows>                                                         \
    void simdgroup_load(thread simdgroup_matrix<T, Cols, Rows>& d, const volatile space T* source, \
                        ulong elements_per_row = Cols, ulong2 matrix_origin = 0,                   \
                        bool transpose_matrix = false);                                            \
    template <class T, int Cols, int Rows>                                                         \
    void simdgroup_store(simdgroup_matrix<T, Cols, Rows> a, space T* destination,                  \
                         ulong elements_per_row = Cols, ulong2 matrix_origin = 0,                  \
                         bool transpose_matrix = false);                                           \
    template <class T, int Cols, int Rows>                                                         \
    void simdgroup_store(simdgroup_matrix<T, Cols, Rows> a, volatile space T* destination,         \
                         ulong elements_per_row = Cols, ulong2 matrix_origin = 0,                  \
                         bool transpose_matrix = false);
SM_MEMORY(device)
SM_MEMORY(threadgroup)
#undef SM_MEMORY

template <class D, class A, class B>
void simdgroup_multiply(thread simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a,
                        simdgroup_matrix<B, 8, 8> b);
template <class D, class A, class B, class C>
void simdgroup_multiply_accumulate(thread simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a,
                                   simdgroup_matrix<B, 8, 8> b, simdgroup_matrix<C, 8, 8> c);
template <class T>
simdgroup_matrix<T, 8, 8> operator*(simdgroup_matrix<T, 8, 8> a, simdgroup_matrix<T, 8, 8> b);

// ---- Threadgroup memory

namespace sm {
// What a threadgroup variable is bound to: clang knows none outside OpenCL's own kernels.
struct threadgroup_memory {
    template <class T>
    operator threadgroup T&() const;
};
constant char* text(const __constant char*);
}  // namespace sm
#define SM_THREADGROUP_VARIABLE(name) \
    threadgroup sm_type_##name& name = metal::sm::threadgroup_memory();

// ---- Logging

class os_log {
  public:
    constexpr os_log(constant char*, constant char*) {}
    template <class... A>
    void log(constant char* format, A...) const;
    template <class... A>
    void log_debug(constant char* format, A...) const;
    template <class... A>
    void log_info(constant char* format, A...) const;
    template <class... A>
    void log_error(constant char* format, A...) const;
    template <class... A>
    void log_fault(constant char* format, A...) const;
};
extern constant os_log os_log_default;

}  // namespace metal

// Swizzles of two and more components as properties: v.xzy reads through get_xzy() and writes
// through put_xzy(). A class that uses SM_SWIZZLES_n has lanes<i, j, ...>() and put_lanes<i, j,
// ...>(). Declarations cost what their class costs to instantiate, 2 ms for four lanes; bodies cost
// nothing until they are used. (Single components are members: clang does not find `p.x += y` with
// a property in a template when an operator += is declared outside of classes.)
#pragma once

// Each of these calls M once per lane with (index, xyzw name, rgba name); A to D are four copies,
// because a macro is not expanded inside itself.
#define SM_LANES_A_2(M, ...) M(__VA_ARGS__, 0, x, r) M(__VA_ARGS__, 1, y, g)
#define SM_LANES_A_3(M, ...) SM_LANES_A_2(M, __VA_ARGS__) M(__VA_ARGS__, 2, z, b)
#define SM_LANES_A_4(M, ...) SM_LANES_A_3(M, __VA_ARGS__) M(__VA_ARGS__, 3, w, a)
#define SM_LANES_B_2(M, ...) M(__VA_ARGS__, 0, x, r) M(__VA_ARGS__, 1, y, g)
#define SM_LANES_B_3(M, ...) SM_LANES_B_2(M, __VA_ARGS__) M(__VA_ARGS__, 2, z, b)
#define SM_LANES_B_4(M, ...) SM_LANES_B_3(M, __VA_ARGS__) M(__VA_ARGS__, 3, w, a)
#define SM_LANES_C_2(M, ...) M(__VA_ARGS__, 0, x, r) M(__VA_ARGS__, 1, y, g)
#define SM_LANES_C_3(M, ...) SM_LANES_C_2(M, __VA_ARGS__) M(__VA_ARGS__, 2, z, b)
#define SM_LANES_C_4(M, ...) SM_LANES_C_3(M, __VA_ARGS__) M(__VA_ARGS__, 3, w, a)
#define SM_LANES_D_2(M, ...) M(__VA_ARGS__, 0, x, r) M(__VA_ARGS__, 1, y, g)
#define SM_LANES_D_3(M, ...) SM_LANES_D_2(M, __VA_ARGS__) M(__VA_ARGS__, 2, z, b)
#define SM_LANES_D_4(M, ...) SM_LANES_D_3(M, __VA_ARGS__) M(__VA_ARGS__, 3, w, a)

#define SM_SWIZZLE_2(n, i, x1, r1, j, x2, r2)                                               \
    SM_FN constexpr vec<T, 2> get_##x1##x2() const { return this->template lanes<i, j>(); } \
    SM_FN constexpr void put_##x1##x2(vec<T, 2> a) { this->template put_lanes<i, j>(a); }   \
    __declspec(property(get = get_##x1##x2, put = put_##x1##x2)) vec<T, 2> x1##x2;          \
    __declspec(property(get = get_##x1##x2, put = put_##x1##x2)) vec<T, 2> r1##r2;

#define SM_SWIZZLE_3(n, i, x1, r1, j, x2, r2, k, x3, r3)                                           \
    SM_FN constexpr vec<T, 3> get_##x1##x2##x3() const { return this->template lanes<i, j, k>(); } \
    SM_FN constexpr void put_##x1##x2##x3(vec<T, 3> a) { this->template put_lanes<i, j, k>(a); }   \
    __declspec(property(get = get_##x1##x2##x3, put = put_##x1##x2##x3)) vec<T, 3> x1##x2##x3;     \
    __declspec(property(get = get_##x1##x2##x3, put = put_##x1##x2##x3)) vec<T, 3> r1##r2##r3;

#define SM_SWIZZLE_4(n, i, x1, r1, j, x2, r2, k, x3, r3, l, x4, r4)                        \
    SM_FN constexpr vec<T, 4> get_##x1##x2##x3##x4() const {                               \
        return this->template lanes<i, j, k, l>();                                         \
    }                                                                                      \
    SM_FN constexpr void put_##x1##x2##x3##x4(vec<T, 4> a) {                               \
        this->template put_lanes<i, j, k, l>(a);                                           \
    }                                                                                      \
    __declspec(property(get = get_##x1##x2##x3##x4, put = put_##x1##x2##x3##x4)) vec<T, 4> \
        x1##x2##x3##x4;                                                                    \
    __declspec(property(get = get_##x1##x2##x3##x4, put = put_##x1##x2##x3##x4)) vec<T, 4> \
        r1##r2##r3##r4;

// One more lane behind those already chosen.
#define SM_TO_4_2(...) SM_LANES_D_2(SM_SWIZZLE_4, __VA_ARGS__)
#define SM_TO_4_3(...) SM_LANES_D_3(SM_SWIZZLE_4, __VA_ARGS__)
#define SM_TO_4_4(...) SM_LANES_D_4(SM_SWIZZLE_4, __VA_ARGS__)
#define SM_TO_3_2(...) SM_LANES_C_2(SM_SWIZZLE_3, __VA_ARGS__) SM_LANES_C_2(SM_TO_4_2, __VA_ARGS__)
#define SM_TO_3_3(...) SM_LANES_C_3(SM_SWIZZLE_3, __VA_ARGS__) SM_LANES_C_3(SM_TO_4_3, __VA_ARGS__)
#define SM_TO_3_4(...) SM_LANES_C_4(SM_SWIZZLE_3, __VA_ARGS__) SM_LANES_C_4(SM_TO_4_4, __VA_ARGS__)
#define SM_TO_2_2(...) SM_LANES_B_2(SM_SWIZZLE_2, __VA_ARGS__) SM_LANES_B_2(SM_TO_3_2, __VA_ARGS__)
#define SM_TO_2_3(...) SM_LANES_B_3(SM_SWIZZLE_2, __VA_ARGS__) SM_LANES_B_3(SM_TO_3_3, __VA_ARGS__)
#define SM_TO_2_4(...) SM_LANES_B_4(SM_SWIZZLE_2, __VA_ARGS__) SM_LANES_B_4(SM_TO_3_4, __VA_ARGS__)

#define SM_SWIZZLES_2 SM_LANES_A_2(SM_TO_2_2, 2)
#define SM_SWIZZLES_3 SM_LANES_A_3(SM_TO_2_3, 3)
#define SM_SWIZZLES_4 SM_LANES_A_4(SM_TO_2_4, 4)

// bfloat as a class, because clang's own converts from float without being asked. Metal's becomes
// float by itself; no other floating type becomes bfloat, or the other way round, unless asked.
#pragma once

class bfloat;

namespace metal {
namespace sm {
template <class U>
constexpr bool is_whole = is_int<U> || __is_same(U, bool) || __is_enum(U);
template <class U>
constexpr bool is_other_float = __is_same(U, float) || __is_same(U, half);
template <>
constexpr bool is_float<bfloat> = true;
}  // namespace sm
}  // namespace metal

class bfloat {
  public:
    bfloat() = default;
    explicit constexpr bfloat(float x) : bits_(ushort(__builtin_bit_cast(uint, x) >> 16)) {}
    explicit constexpr bfloat(half x) : bfloat(float(x)) {}
    template <class U, class = metal::enable_if_t<metal::sm::is_whole<U>>>
    constexpr bfloat(U x) : bfloat(float(x)) {}

    template <class U, class = metal::enable_if_t<__is_same(U, float) || metal::sm::is_whole<U>>>
    constexpr operator U() const {
        return U(__builtin_bit_cast(float, uint(bits_) << 16));
    }
    explicit constexpr operator half() const { return half(float(*this)); }

    friend constexpr bfloat operator-(bfloat a) { return bfloat(-float(a)); }
    friend constexpr bfloat operator+(bfloat a) { return a; }
    bfloat& operator++();
    bfloat& operator--();
    bfloat operator++(int);
    bfloat operator--(int);

// With a bfloat or an integer the result is bfloat, with float or half it is float.
#define SM_MIX(op, Result, condition)                                                            \
    template <class U>                                                                           \
    friend constexpr metal::enable_if_t<metal::sm::condition<U>, Result> operator op(bfloat a,   \
                                                                                     U b) {      \
        return Result(float(a) op float(b));                                                     \
    }                                                                                            \
    template <class U>                                                                           \
    friend constexpr metal::enable_if_t<metal::sm::condition<U>, Result> operator op(U a,        \
                                                                                     bfloat b) { \
        return Result(float(a) op float(b));                                                     \
    }
#define SM_OPERATOR(op, Own, WithFloat)                                                        \
    friend constexpr Own operator op(bfloat a, bfloat b) { return Own(float(a) op float(b)); } \
    SM_MIX(op, Own, is_whole)                                                                  \
    SM_MIX(op, WithFloat, is_other_float)
#define SM_ARITHMETIC(op)          \
    SM_OPERATOR(op, bfloat, float) \
    bfloat& operator op##=(bfloat b);
    SM_ARITHMETIC(+)
    SM_ARITHMETIC(-)
    SM_ARITHMETIC(*)
    SM_ARITHMETIC(/)
    SM_OPERATOR(==, bool, bool)
    SM_OPERATOR(!=, bool, bool)
    SM_OPERATOR(<, bool, bool)
    SM_OPERATOR(>, bool, bool)
    SM_OPERATOR(<=, bool, bool)
    SM_OPERATOR(>=, bool, bool)
#undef SM_ARITHMETIC
#undef SM_OPERATOR
#undef SM_MIX

  private:
    ushort bits_;
};
static_assert(sizeof(bfloat) == 2, "");

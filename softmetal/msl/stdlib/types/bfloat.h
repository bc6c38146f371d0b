// bfloat as a class: clang converts its own __bf16 too freely (from float without being asked) and
// too little (never to and from half), and rounds it by calling a helper, lane by lane. MSL's
// rules: bfloat becomes float by itself, no other floating type becomes bfloat or the other way
// round unless asked, integers go both ways, and every operation rounds.
#pragma once

class bfloat {
  public:
    bfloat() = default;
    SM_FN explicit constexpr bfloat(float x) : bits_(rounded(x)) {}
    SM_FN explicit constexpr bfloat(_Float16 x) : bits_(rounded(static_cast<float>(x))) {}
    SM_FN explicit constexpr bfloat(double x) : bits_(rounded(static_cast<float>(x))) {}
    template <class U>
        requires(metal::sm::is_int_scalar<U> || __is_same(U, bool) || __is_enum(U))
    SM_FN constexpr bfloat(U x) : bits_(rounded(static_cast<float>(x))) {}

    template <class U>
        requires(__is_same(U, float))
    SM_FN constexpr operator U() const {
        return __builtin_bit_cast(float, static_cast<unsigned>(bits_) << 16);
    }
    template <class U>
        requires(metal::sm::is_int_scalar<U> || __is_same(U, bool) || __is_enum(U))
    SM_FN constexpr operator U() const {
        return static_cast<U>(static_cast<float>(*this));
    }
    SM_FN explicit constexpr operator _Float16() const {
        return static_cast<_Float16>(static_cast<float>(*this));
    }
    SM_FN explicit constexpr operator double() const { return static_cast<float>(*this); }

    SM_FN friend constexpr bfloat operator-(bfloat a) { return of_bits(a.bits_ ^ 0x8000u); }
    SM_FN friend constexpr bfloat operator+(bfloat a) { return a; }
    SM_FN constexpr bfloat& operator++() { return *this = bfloat(float(*this) + 1.0f); }
    SM_FN constexpr bfloat& operator--() { return *this = bfloat(float(*this) - 1.0f); }
    SM_FN constexpr bfloat operator++(int) {
        bfloat old = *this;
        ++*this;
        return old;
    }
    SM_FN constexpr bfloat operator--(int) {
        bfloat old = *this;
        --*this;
        return old;
    }

// With a bfloat or an integer the result is bfloat, with float or half it is float.
#define SM_BFLOAT_MIX(op, Result, condition)                           \
    template <class U>                                                 \
        requires(condition)                                            \
    SM_FN friend constexpr Result operator op(bfloat a, U b) {         \
        return static_cast<Result>(float(a) op static_cast<float>(b)); \
    }                                                                  \
    template <class U>                                                 \
        requires(condition)                                            \
    SM_FN friend constexpr Result operator op(U a, bfloat b) {         \
        return static_cast<Result>(static_cast<float>(a) op float(b)); \
    }
#define SM_BFLOAT_OPERATOR(op, Own, WithFloat)                                                  \
    SM_FN friend constexpr Own operator op(bfloat a, bfloat b) {                                \
        return static_cast<Own>(float(a) op float(b));                                          \
    }                                                                                           \
    SM_BFLOAT_MIX(op, Own, (metal::sm::is_int_scalar<U> || __is_same(U, bool) || __is_enum(U))) \
    SM_BFLOAT_MIX(op, WithFloat,                                                                \
                  (__is_same(U, float) || __is_same(U, _Float16) || __is_same(U, double)))
// A float to which a bfloat is added stays what it is; without the second form the bfloat would
// convert to every arithmetic type alike.
#define SM_BFLOAT_ARITHMETIC(op)                                \
    SM_BFLOAT_OPERATOR(op, bfloat, float)                       \
    template <class U>                                          \
    SM_FN constexpr bfloat& operator op##=(U b) {               \
        return *this = static_cast<bfloat>(*this op b);         \
    }                                                           \
    template <class U>                                          \
        requires(__is_arithmetic(U))                            \
    SM_FN friend constexpr U& operator op##=(U & a, bfloat b) { \
        return a = static_cast<U>(a op b);                      \
    }
    SM_BFLOAT_ARITHMETIC(+)
    SM_BFLOAT_ARITHMETIC(-)
    SM_BFLOAT_ARITHMETIC(*)
    SM_BFLOAT_ARITHMETIC(/)
    SM_BFLOAT_OPERATOR(==, bool, bool)
    SM_BFLOAT_OPERATOR(!=, bool, bool)
    SM_BFLOAT_OPERATOR(<, bool, bool)
    SM_BFLOAT_OPERATOR(>, bool, bool)
    SM_BFLOAT_OPERATOR(<=, bool, bool)
    SM_BFLOAT_OPERATOR(>=, bool, bool)
#undef SM_BFLOAT_ARITHMETIC
#undef SM_BFLOAT_OPERATOR
#undef SM_BFLOAT_MIX

    SM_FN static constexpr bfloat of_bits(unsigned bits) {
        bfloat result;
        result.bits_ = static_cast<unsigned short>(bits);
        return result;
    }

  private:
    // Nearest, ties to even. A NaN stays one: its quiet bit is set, lest a payload round to
    // infinity.
    SM_FN static constexpr unsigned short rounded(float x) {
        unsigned bits = __builtin_bit_cast(unsigned, x);
        unsigned nearest = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
        bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
        return static_cast<unsigned short>(is_nan ? bits >> 16 | 0x40u : nearest);
    }

    unsigned short bits_;
};
static_assert(sizeof(bfloat) == 2 && alignof(bfloat) == 2);

namespace metal {
using ::bfloat;
namespace sm {
template <>
inline constexpr bool is_float_scalar<bfloat> = true;
}
}  // namespace metal

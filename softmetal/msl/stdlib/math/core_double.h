// The rarer functions, worked out in double and rounded to float once: their errors stay hardly
// above half an ulp without special care. Every result goes through narrowed().
#pragma once

namespace metal::sm {

// ---- Parts, good to about 2^-45 relative

// |x| below 700.
template <class D>
SM_FN D exp_double(D x) {
    D n = nearest(x * 0x1.71547652b82fep+0);
    D r = fma(n, D(-0x1.62e42fefa39efp-1), x);
    r = fma(n, D(-0x1.abc9e3b39803fp-56), r);
    D p = polynomial(r, 0x1.ffffffffffeb3p-2, 0x1.5555555550158p-3, 0x1.555555558d3bcp-5,
                     0x1.11111126f9338p-7, 0x1.6c16c0be8079fp-10, 0x1.a019889d8d188p-13,
                     0x1.a01b8a85db627p-16, 0x1.72ee7bc2f206ap-19, 0x1.2704581d0f4e8p-22);
    D value = fma(r * r, p, r) + 1.0;
    return value * bits_as<D>((to_integer(n) + 1023) << 52);
}

// x positive, finite and not subnormal (as every positive float is).
template <class D>
SM_FN D log_double(D x) {
    typedef integer_like<D> I;
    constexpr long kRootHalf = 0x3fe6a09e667f3bcdl, kOne = 0x3ff0000000000000l;
    I bits = bits_as<I>(x) + (kOne - kRootHalf);
    D k = to_floating((bits >> 52) - 1023);
    D f = bits_as<D>((bits & 0xfffffffffffffl) + kRootHalf) - 1.0;
    D s = f / (f + 2.0), z = s * s;
    D p = polynomial(z, 0x1.555555555386bp-1, 0x1.999999a2d6576p-2, 0x1.24924149eb37dp-2,
                     0x1.c722931d825e9p-3, 0x1.73288f8980cc5p-3, 0x1.58a47051f2ac7p-3);
    return fma(k, D(0x1.62e42fefa39efp-1), fma(s * z, p, s * 2.0));
}

template <class D>
SM_FN D sin_double(D r) {
    D z = r * r;
    D p = polynomial(z, -0x1.5555555555547p-3, 0x1.111111110f572p-7, -0x1.a01a019bad789p-13,
                     0x1.71de351ef37fbp-19, -0x1.ae5e1f893e42fp-26, 0x1.5d7e38ad25e92p-33);
    return fma(r * z, p, r);
}
template <class D>
SM_FN D cos_double(D r) {
    D z = r * r;
    D p = polynomial(z, 0x1.55555555529a6p-5, -0x1.6c16c166b6372p-10, 0x1.a019f9ec46d28p-16,
                     -0x1.27dfd7b0234b9p-22, 0x1.1bae0b945f39ep-29);
    return fma(z * z, p, fma(z, D(-0.5), D(1.0)));
}

// The angle of the point (x, y) in the first quadrant, both finite and not both zero.
template <class D>
SM_FN D angle_double(D y, D x) {
    auto steep = y > x;
    D num = pick(steep, x, y), den = pick(steep, y, x);
    // Turned by pi/4 where the slope passes tan(pi/8).
    auto turned = num > den * 0x1.a827999fcef32p-2;
    D t = pick(turned, num - den, num) / pick(turned, num + den, den);
    D z = t * t;
    D p = polynomial(z, -0x1.555555550bd48p-2, 0x1.9999992bc61aap-3, -0x1.24922d043c08fp-3,
                     0x1.c71571f401c6fp-4, -0x1.73e0ccf6a9958p-4, 0x1.35fbdb6118670p-4,
                     -0x1.e26c63efbceabp-5, 0x1.f9ab904ead7e8p-6);
    D angle = fma(t * z, p, t) + pick(turned, D(0x1.921fb54442d18p-1), D(0.0));
    return pick(steep, D(0x1.921fb54442d18p+0) - angle, angle);
}

// ---- Trigonometry

template <class F>
SM_FN F tan_float(F x) {
    typedef wide_like<F> D;
    integer_like<F> quadrant;
    auto near = magnitude(x) <= 65536.0f;
    D wide = widened(pick(near, x, F(0.0f)));
    D n = nearest(wide * 0x1.45f306dc9c883p-1);
    D r = fma(n, D(-0x1.921fb54442d18p+0), wide);
    r = fma(n, D(-0x1.1a62633145c07p-54), r);
    quadrant = to_integer(narrowed(n));
    if (__builtin_expect(any_lane(not_mask(near)), 0)) {
        reduce_far_lanes(x, near, r, quadrant);
    }
    D s = sin_double(r), c = cos_double(r);
    auto odd = widened(to_floating(quadrant & 1)) != 0.0;
    F result = narrowed(pick(odd, -c, s) / pick(odd, s, c));
    return pick(x == 0.0f, x, result);
}

// sin(pi x) and cos(pi x): x less the nearest half is exact. Beyond 2^24 every float is even.
template <class F>
struct half_turns {
    wide_like<F> sine, cosine;
    integer_like<F> quadrant;
};
template <class F>
SM_FN half_turns<F> split_half_turns(F x) {
    F bounded = pick(magnitude(x) < 0x1p24f, x, F(0.0f));
    F n = nearest(bounded * 2.0f);
    wide_like<F> r = widened(fma(n, F(-0.5f), bounded)) * 0x1.921fb54442d18p+1;
    return {sin_double(r), cos_double(r), to_integer(n)};
}
template <class F>
SM_FN F invalid_at_infinity(F x, F result) {
    return pick(magnitude(x) < __builtin_inff(), result, x - x);
}
template <class F>
SM_FN F sinpi_float(F x) {
    half_turns<F> t = split_half_turns(x);
    F value = sine_in_quadrant(narrowed(t.sine), narrowed(t.cosine), t.quadrant);
    // A whole number of half turns is a zero with the sign of x.
    value = pick(value == 0.0f, with_sign_of(F(0.0f), x), value);
    return invalid_at_infinity(x, value);
}
template <class F>
SM_FN F cospi_float(F x) {
    half_turns<F> t = split_half_turns(x);
    F value = sine_in_quadrant(narrowed(t.sine), narrowed(t.cosine), t.quadrant + 1);
    return invalid_at_infinity(x, pick(value == 0.0f, F(0.0f), value));
}
template <class F>
SM_FN F tanpi_float(F x) {
    half_turns<F> t = split_half_turns(x);
    auto odd = widened(to_floating(t.quadrant & 1)) != 0.0;
    F value = narrowed(pick(odd, -t.cosine, t.sine) / pick(odd, t.sine, t.cosine));
    // Zeros and poles alternate in sign, as IEEE 754's tanPi has it.
    F flip = pick((t.quadrant & 2) != 0, F(-1.0f), F(1.0f));
    value = pick(value == 0.0f, with_sign_of(F(0.0f), x) * flip, value);
    value = pick(magnitude(value) == __builtin_inff(), F(__builtin_inff()) * flip, value);
    return invalid_at_infinity(x, value);
}

template <class F>
SM_FN F asin_float(F x) {
    wide_like<F> a = widened(magnitude(x));
    F result = narrowed(angle_double(a, square_root((1.0 - a) * (a + 1.0))));
    return pick(magnitude(x) <= 1.0f, with_sign_of(result, x), F(__builtin_nanf("")));
}
template <class F>
SM_FN F acos_float(F x) {
    typedef wide_like<F> D;
    D a = widened(magnitude(x));
    D angle = angle_double(square_root((1.0 - a) * (a + 1.0)), a);
    auto negative = widened(x) < 0.0;
    F result = narrowed(pick(negative, D(0x1.921fb54442d18p+1) - angle, angle));
    return pick(magnitude(x) <= 1.0f, result, F(__builtin_nanf("")));
}
template <class F>
SM_FN F atan_float(F x) {
    typedef wide_like<F> D;
    // Beyond 2^60 the angle is pi/2 to all of a double's bits.
    D a = widened(into_range(magnitude(x), F(0.0f), F(0x1p60f)));
    return pick(x != x, x, with_sign_of(narrowed(angle_double(a, D(1.0))), x));
}
template <class F>
SM_FN F atan2_float(F y, F x) {
    typedef wide_like<F> D;
    // Two infinities stand for equal sides; a finite side beside one counts as nothing.
    F ax = magnitude(x), ay = magnitude(y);
    auto x_inf = ax == __builtin_inff();
    auto y_inf = ay == __builtin_inff();
    F sx = pick(x_inf, F(1.0f), pick(y_inf, F(0.0f), ax));
    F sy = pick(y_inf, F(1.0f), pick(x_inf, F(0.0f), ay));
    sx = pick((sx == 0.0f) & (sy == 0.0f), F(1.0f), sx);
    D angle = angle_double(widened(sy), widened(sx));
    auto negative = bits_as<integer_like<D>>(widened(x)) < 0;
    angle = pick(negative, D(0x1.921fb54442d18p+1) - angle, angle);
    return pick((x != x) | (y != y), x + y, with_sign_of(narrowed(angle), y));
}

// ---- Hyperbolic functions

template <class F>
SM_FN F sinh_float(F x) {
    typedef wide_like<F> D;
    D a = widened(into_range(magnitude(x), F(0.0f), F(100.0f)));
    D z = a * a, e = exp_double(a);
    D p = polynomial(z, 0x1.5555555576d09p-3, 0x1.111110f2e803bp-7, 0x1.a01a24c07546fp-13,
                     0x1.71cc6fc0297e0p-19, 0x1.b68b5dd22e5bcp-26);
    D result = pick(a < 1.0, fma(a * z, p, a), (e - 1.0 / e) * 0.5);
    return pick(x != x, x, with_sign_of(narrowed(result), x));
}
template <class F>
SM_FN F cosh_float(F x) {
    typedef wide_like<F> D;
    D e = exp_double(widened(into_range(magnitude(x), F(0.0f), F(100.0f))));
    return pick(x != x, x, narrowed((e + 1.0 / e) * 0.5));
}
template <class F>
SM_FN F asinh_float(F x) {
    typedef wide_like<F> D;
    F a = magnitude(x);
    D w = widened(into_range(a, F(0.0f), F(__FLT_MAX__))), z = w * w;
    D root = square_root(z + 1.0);
    D result = log_double(w + root);
    // log(1 + u) loses what u has beyond 2^-53; below 2^-10 two terms of the series are enough.
    D series = fma(w * z, D(-0x1.5555555555555p-3) + z * 0.075, w);
    result = pick(w < 0x1p-8, series, result);
    return pick(a < __builtin_inff(), with_sign_of(narrowed(result), x), x);
}
template <class F>
SM_FN F acosh_float(F x) {
    typedef wide_like<F> D;
    D w = widened(into_range(x, F(1.0f), F(__FLT_MAX__)));
    F result = narrowed(log_double(w + square_root((w - 1.0) * (w + 1.0))));
    result = pick(x < __builtin_inff(), result, x);
    return pick(x >= 1.0f, result, F(__builtin_nanf("")));
}
template <class F>
SM_FN F atanh_float(F x) {
    typedef wide_like<F> D;
    F a = magnitude(x);
    D w = widened(pick(a < 1.0f, a, F(0.0f))), z = w * w;
    D series = fma(w * z, fma(z, D(0.2), D(0x1.5555555555555p-2)), w);
    F result = narrowed(pick(w < 0x1p-8, series, log_double((w + 1.0) / (1.0 - w)) * 0.5));
    result = pick(a < 1.0f, result, pick(a == 1.0f, F(__builtin_inff()), F(__builtin_nanf(""))));
    return with_sign_of(result, x);
}

// ---- Powers

// |x|^y for what is left when x or y is special: see pow_float.
template <class F>
SM_FN F power_of_magnitude(F x, F y) {
    typedef wide_like<F> D;
    F a = magnitude(x);
    auto usual = (a > 0.0f) & (a < __builtin_inff());
    D l = log_double(widened(pick(usual, a, F(1.0f))));
    F edge = pick(a == 0.0f, F(-__builtin_inff()), F(__builtin_inff()));
    l = pick(widened(pick(usual, F(1.0f), F(0.0f))) != 0.0, l, widened(edge));
    D t = l * widened(y);
    t = into_range(t, D(-160.0), D(140.0));
    return narrowed(exp_double(t));
}
// As C's pow: 1 for y = 0 and for x = 1 whatever the other is, NaN included.
template <class F>
SM_FN F pow_float(F x, F y) {
    F result = power_of_magnitude(x, y);
    F ay = magnitude(y), half_y = y * 0.5f;
    auto integral = (ay >= 0x1p24f) | (__builtin_elementwise_trunc(y) == y);
    auto odd = (ay < 0x1p24f) & (__builtin_elementwise_trunc(y) == y) &
               (__builtin_elementwise_trunc(half_y) != half_y);
    result = pick(odd, with_sign_of(result, x), result);
    auto no_root = (x < 0.0f) & (x > -__builtin_inff()) & not_mask(integral);
    result = pick(no_root, F(__builtin_nanf("")), result);
    result = pick((x != x) | (y != y), x + y, result);
    auto one = (x == 1.0f) | (y == 0.0f) | ((x == -1.0f) & (ay == __builtin_inff()));
    return pick(one, F(1.0f), result);
}
// powr has x >= 0 only, and no opinion where exp(y log x) has none.
template <class F>
SM_FN F powr_float(F x, F y) {
    F result = power_of_magnitude(x, y);
    F ax = magnitude(x), ay = magnitude(y);
    auto undefined = (x < 0.0f) | ((ax == 0.0f) & (y == 0.0f)) |
                     ((ax == __builtin_inff()) & (y == 0.0f)) |
                     ((x == 1.0f) & (ay == __builtin_inff())) | (x != x) | (y != y);
    return pick(undefined, F(__builtin_nanf("")), result);
}

}  // namespace metal::sm

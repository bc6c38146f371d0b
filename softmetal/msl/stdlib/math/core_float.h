// The functions that kernels call most, in float arithmetic throughout: exp, log, sin, cos, tanh.
// No branches but one for arguments of sin and cos beyond 65536. Errors stay below 1.6 ulp; the
// polynomials come from coefficients.py.
#pragma once

namespace metal::sm {

// ---- Exponentials

// e^r for |r| <= ln(2) / 2.
template <class F>
SM_FN F exp_near_zero(F r) {
    F p = polynomial(r, 0x1.fffffcp-2, 0x1.555482p-3, 0x1.555826p-5, 0x1.124492p-7, 0x1.6afdfep-10);
    return fma(r * r, p, r) + 1.0f;
}

// a * 2^n for -152 <= n <= 130, rounded once.
template <class F>
SM_FN F times_power_of_2(F a, integer_like<F> n) {
    integer_like<F> half_n = n >> 1;
    return a * bits_as<F>((half_n + 127) << 23) * bits_as<F>((n - half_n + 127) << 23);
}

template <class F>
SM_FN F exp_float(F x) {
    F in_range = into_range(x, F(-105.0f), F(89.0f));
    F n = nearest(in_range * 0x1.715476p+0f);
    F r = fma(n, F(-0x1.62e43p-1f), in_range);
    r = fma(n, F(0x1.05c61p-29f), r);
    return pick(x != x, x, times_power_of_2(exp_near_zero(r), to_integer(n)));
}
template <class F>
SM_FN F exp2_float(F x) {
    F in_range = into_range(x, F(-151.0f), F(129.0f));
    F n = nearest(in_range), f = in_range - n;
    F r = fma(f, F(-0x1.05c61p-29f), f * 0x1.62e43p-1f);
    return pick(x != x, x, times_power_of_2(exp_near_zero(r), to_integer(n)));
}
template <class F>
SM_FN F exp10_float(F x) {
    F in_range = into_range(x, F(-46.0f), F(39.0f));
    F n = nearest(in_range * 0x1.a934fp+1f);
    F f = fma(n, F(-0x1.344136p-2f), in_range);
    f = fma(n, F(0x1.ec10cp-27f), f);
    F r = fma(f, F(-0x1.12aabap-25f), f * 0x1.26bb1cp+1f);
    return pick(x != x, x, times_power_of_2(exp_near_zero(r), to_integer(n)));
}

// ---- Logarithms

// x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2). log(1 + f) = f + tail.
template <class F>
struct log_parts {
    F k, f, tail;
};
template <class F>
SM_FN log_parts<F> split_log(F x) {
    auto subnormal = x < 0x1p-126f;
    auto bits = bits_as<integer_like<F>>(pick(subnormal, x * 0x1p23f, x));
    integer_like<F> k = (bits - 0x3f3504f3) >> 23;
    F f = bits_as<F>(bits - (k << 23)) - 1.0f;
    F p = polynomial(f, 0x1.555548p-2, -0x1.000052p-2, 0x1.99a4f8p-3, -0x1.553c32p-3, 0x1.23165cp-3,
                     -0x1.0024dcp-3, 0x1.ecfe3ap-4, -0x1.c8775p-4, 0x1.d9c322p-5);
    F square = f * f;
    return {to_floating(k) + pick(subnormal, F(-23.0f), F(0.0f)), f,
            fma(square, F(-0.5f), square * f * p)};
}
template <class F>
SM_FN F log_edges(F x, F result) {
    F at_bottom = pick(x == 0.0f, F(-__builtin_inff()), F(__builtin_nanf("")));
    return pick(x > 0.0f, pick(x < __builtin_inff(), result, x), at_bottom);
}
template <class F>
SM_FN F log_float(F x) {
    log_parts<F> p = split_log(x);
    F low = fma(p.k, F(-0x1.05c61p-29f), p.tail);
    return log_edges(x, fma(p.k, F(0x1.62e43p-1f), p.f + low));
}
template <class F>
SM_FN F log2_float(F x) {
    log_parts<F> p = split_log(x);
    F low = fma(p.f, F(0x1.4ae0cp-26f), p.tail * 0x1.715476p+0f);
    return log_edges(x, fma(p.f, F(0x1.715476p+0f), low) + p.k);
}
template <class F>
SM_FN F log10_float(F x) {
    log_parts<F> p = split_log(x);
    F low = fma(p.f, F(-0x1.5b235ep-27f), p.tail * 0x1.bcb7b2p-2f);
    low = fma(p.k, F(-0x1.ec10cp-27f), low);
    return log_edges(x, fma(p.k, F(0x1.344136p-2f), fma(p.f, F(0x1.bcb7b2p-2f), low)));
}

// ---- Sine and cosine

struct reduced_angle {
    double r;
    int quadrant;
};
// Any |x| >= 65536, by Payne and Hanek: of x * 2/pi only the bits around the point are worked out.
// Infinities and NaN give NaN.
__attribute__((noinline)) inline reduced_angle reduce_far(float x) {
    unsigned bits = __builtin_bit_cast(unsigned, x) & 0x7fffffff;
    if (bits >= 0x7f800000) return {__builtin_nan(""), 0};
    // |x| = mantissa * 2^e. Four words of 2/pi / 512; from bit e + 7 on, the first has weight 2.
    unsigned e = (bits >> 23) - 150, skip = e + 7;
    unsigned __int128 high =
        static_cast<unsigned __int128>(0x00517cc1b727220aul) << 64 | 0x94fe13abe8fa9a6eul;
    unsigned __int128 low =
        static_cast<unsigned __int128>(0xe06db14acc9e21c8ul) << 64 | 0x20ff28b1d5ef5de2ul;
    unsigned __int128 window = skip == 0 ? high : high << skip | low >> (128 - skip);
    unsigned __int128 product = window * ((bits & 0x7fffff) | 0x800000);
    unsigned quadrant = static_cast<unsigned>(product >> 126);
    long fraction = static_cast<long>(product >> 62);
    if (fraction < 0) quadrant++;
    double r = static_cast<double>(fraction) * (0x1.921fb54442d18p+0 * 0x1p-64);
    bool negative = x < 0;
    return {negative ? -r : r, static_cast<int>(negative ? -quadrant : quadrant)};
}
template <class R>
SM_FN void reduce_far_lanes(float x, bool near, R& r, int& quadrant) {
    if (near) return;
    reduced_angle far = reduce_far(x);
    r = static_cast<R>(far.r);
    quadrant = far.quadrant;
}
template <class R, int N>
SM_FN void reduce_far_lanes(ext<float, N> x, ext<int, N> near, ext<R, N>& r,
                            ext<int, N>& quadrant) {
    for (int i = 0; i < N; i++) {
        if (near[i]) continue;
        reduced_angle far = reduce_far(x[i]);
        r[i] = static_cast<R>(far.r);
        quadrant[i] = far.quadrant;
    }
}
// x = r + quadrant * pi/2, |r| <= pi/4.
template <class F>
SM_FN F reduce_angle(F x, integer_like<F>& quadrant) {
    auto near = magnitude(x) <= 65536.0f;
    F small = pick(near, x, F(0.0f));
    F n = nearest(small * 0x1.45f306p-1f);
    F r = fma(n, F(-0x1.921fb6p+0f), small);
    r = fma(n, F(0x1.777a5cp-25f), r);
    r = fma(n, F(0x1.ee59dap-50f), r);
    quadrant = to_integer(n);
    if (__builtin_expect(any_lane(not_mask(near)), 0)) reduce_far_lanes(x, near, r, quadrant);
    return r;
}
template <class F>
SM_FN F sin_near_zero(F r) {
    F z = r * r;
    F p = polynomial(z, -0x1.555556p-3, 0x1.111172p-7, -0x1.a056a2p-13, 0x1.7b587ap-19);
    return fma(r * z, p, r);
}
template <class F>
SM_FN F cos_near_zero(F r) {
    F z = r * r;
    F p = polynomial(z, 0x1.55554ap-5, -0x1.6c0c14p-10, 0x1.99de6ap-16);
    return fma(z * z, p, fma(z, F(-0.5f), F(1.0f)));
}
// The sine of r + quadrant * pi/2.
template <class F>
SM_FN F sine_in_quadrant(F sine, F cosine, integer_like<F> quadrant) {
    F value = pick((quadrant & 1) != 0, cosine, sine);
    return bits_as<F>(bits_as<integer_like<F>>(value) ^ ((quadrant & 2) << 30));
}
template <class F>
SM_FN F sin_float(F x) {
    integer_like<F> quadrant;
    F r = reduce_angle(x, quadrant);
    F value = sine_in_quadrant(sin_near_zero(r), cos_near_zero(r), quadrant);
    return pick(x == 0.0f, x, value);  // keeps -0
}
template <class F>
SM_FN F cos_float(F x) {
    integer_like<F> quadrant;
    F r = reduce_angle(x, quadrant);
    return sine_in_quadrant(sin_near_zero(r), cos_near_zero(r), quadrant + 1);
}
template <class F>
SM_FN F sincos_float(F x, F& cosine) {
    integer_like<F> quadrant;
    F r = reduce_angle(x, quadrant);
    F s = sin_near_zero(r), c = cos_near_zero(r);
    cosine = sine_in_quadrant(s, c, quadrant + 1);
    return pick(x == 0.0f, x, sine_in_quadrant(s, c, quadrant));
}

// ---- Hyperbolic tangent

template <class F>
SM_FN F tanh_float(F x) {
    F a = magnitude(x), z = a * a;
    F p =
        polynomial(z, -0x1.555532p-2, 0x1.1106f6p-3, -0x1.b835a4p-5, 0x1.51f8cep-6, -0x1.750ce4p-8);
    F near = fma(a * z, p, a);
    F far = 1.0f - 2.0f / (exp_float(into_range(a, F(0.0f), F(10.0f)) * 2.0f) + 1.0f);
    return with_sign_of(pick(a != a, x, pick(a < 0.625f, near, far)), x);
}

}  // namespace metal::sm

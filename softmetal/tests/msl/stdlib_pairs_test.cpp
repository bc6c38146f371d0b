// The stand-in library's functions of two and three floats, and those that take numbers apart.
#include "softmetal/tests/msl/stdlib_support.h"

namespace softmetal::msl::test {
namespace {

double powr(double x, double y) {
    const bool undefined = x < 0 || (x == 0 && y == 0) || (std::isinf(x) && y == 0) ||
                           (x == 1 && std::isinf(y)) || std::isnan(x) || std::isnan(y);
    return undefined ? NAN : std::pow(std::fabs(x), y);
}

struct Binary {
    const char* name;
    double (*reference)(double, double);
    double bound;
};
const Binary kBinary[] = {
    {"pow", [](double x, double y) { return std::pow(x, y); }, 0.51},
    {"powr", powr, 0.51},
    {"atan2", [](double x, double y) { return std::atan2(x, y); }, 0.51},
    {"fmod", [](double x, double y) { return std::fmod(x, y); }, 0},
    {"divide", [](double x, double y) { return x / y; }, 0.5},
    {"copysign", [](double x, double y) { return std::copysign(x, y); }, 0},
    {"fdim", [](double x, double y) { return x <= y ? 0.0 : x - y; }, 0.5},
    {"nextafter",
     [](double x, double y) {
         return double(std::nextafter(static_cast<float>(x), static_cast<float>(y)));
     },
     0},
    {"step", [](double x, double y) { return y < x ? 0.0 : 1.0; }, 0},
    {"fmin", [](double x, double y) { return std::fmin(x, y); }, 0},
    {"fmax", [](double x, double y) { return std::fmax(x, y); }, 0},
    {"min", [](double x, double y) { return std::fmin(x, y); }, 0},
    {"max", [](double x, double y) { return std::fmax(x, y); }, 0},
};

TEST(StdlibMath, FunctionsOfTwoFloatsStayWithinTheirBounds) {
    std::string text = R"(#include <metal_stdlib>
using namespace metal;
#define K(name)                                                                                    \
    kernel void name##_1(device const float* x, device const float* y, device float* out,          \
                         constant uint& n, uint first [[thread_position_in_grid]]) {               \
        for (uint i = first; i < n; i += 32) out[i] = metal::name(x[i], y[i]);                     \
    }                                                                                              \
    kernel void name##_4(device const float4* x, device const float4* y, device float4* out,       \
                         constant uint& n, uint first [[thread_position_in_grid]]) {               \
        for (uint i = first; i < n / 4; i += 32) out[i] = metal::name(x[i], y[i]);                 \
    }
)";
    for (const auto& f : kBinary) text += "K(" + std::string(f.name) + ")\n";
    Program program(text, unchecked());
    ASSERT_TRUE(program);

    std::vector<float> x, y;
    for (const float a : special_floats()) {
        for (const float b : special_floats()) {
            x.push_back(a);
            y.push_back(b);
        }
    }
    std::mt19937 random(7);
    std::uniform_real_distribution<float> base(0, 50), exponent(-25, 25);
    for (int i = 0; i < 100000; ++i) {
        x.push_back(as_float(static_cast<uint32_t>(random())));
        y.push_back(as_float(static_cast<uint32_t>(random())));
        x.push_back(base(random));
        y.push_back(exponent(random));
    }
    std::vector<float> one(x.size()), four(x.size());
    uint32_t n = static_cast<uint32_t>(x.size());
    ASSERT_EQ(n % 4, 0u);
    for (const auto& f : kBinary) {
        const std::string name = f.name;
        program.run(name + "_1", 32, 32, {x.data(), y.data(), one.data(), &n});
        program.run(name + "_4", 32, 32, {x.data(), y.data(), four.data(), &n});
        const bool is_extreme = name.find("min") != name.npos || name.find("max") != name.npos;
        for (size_t i = 0; i < x.size(); ++i) {
            // Of two zeros, either may be the smaller.
            if (is_extreme && x[i] == 0 && y[i] == 0) continue;
            const double error = float_error(one[i], f.reference(x[i], y[i]));
            ASSERT_LE(error, f.bound) << name << "(" << show(x[i]) << ", " << show(y[i]) << ") is "
                                      << show(one[i]) << " and not " << f.reference(x[i], y[i]);
            ASSERT_TRUE(same_value(one[i], four[i]))
                << name << "(" << show(x[i]) << ", " << show(y[i]) << ") is " << show(one[i])
                << " alone and " << show(four[i]) << " in a vector";
        }
    }
}

// The same of 16-bit formats, rounded once from the float result.
template <class Format>
void check_pairs(const std::string& type) {
    std::string text = "#include <metal_stdlib>\nusing namespace metal;\ntypedef " + type + R"( T;
typedef vec<T, 4> V;
#define K(name)                                                                                    \
    kernel void name##_1(device const T* x, device const T* y, device T* out,                      \
                         uint i [[thread_position_in_grid]]) {                                     \
        out[i] = metal::name(x[i], y[i]);                                                          \
    }                                                                                              \
    kernel void name##_4(device const V* x, device const V* y, device V* out,                      \
                         uint i [[thread_position_in_grid]]) {                                     \
        out[i] = metal::name(x[i], y[i]);                                                          \
    }
)";
    for (const auto& f : kBinary) text += "K(" + std::string(f.name) + ")\n";
    Program program(text, unchecked());
    ASSERT_TRUE(program);
    constexpr uint32_t kCount = 32768;
    std::vector<uint16_t> x(kCount), y(kCount), one(kCount), four(kCount);
    std::mt19937 random(21);
    for (uint32_t i = 0; i < kCount; ++i) {
        x[i] = static_cast<uint16_t>(random());
        y[i] = static_cast<uint16_t>(i % 8 == 0 ? x[i] ^ (random() & 1) : random());
    }
    for (const auto& f : kBinary) {
        const std::string name = f.name;
        if (name == "nextafter") continue;  // has a test of its own
        program.run(name + "_1", kCount, 1024, {x.data(), y.data(), one.data()});
        program.run(name + "_4", kCount / 4, 1024, {x.data(), y.data(), four.data()});
        for (uint32_t i = 0; i < kCount; ++i) {
            const double a = Format::value(x[i]), b = Format::value(y[i]);
            const double got = Format::value(one[i]), want = f.reference(a, b);
            ASSERT_LE(small_error<Format>(one[i], want), f.bound == 0 ? 0.5 : 0.51)
                << name << "(" << a << ", " << b << ") is " << got << " and not " << want;
            ASSERT_TRUE(one[i] == four[i] ||
                        (std::isnan(got) && std::isnan(Format::value(four[i]))))
                << name << "(" << a << ", " << b << ") is " << got << " alone";
        }
    }
}
TEST(StdlibMath, FunctionsOfTwoHalfsAreRoundedOnce) { check_pairs<Half>("half"); }
TEST(StdlibMath, FunctionsOfTwoBfloatsAreRoundedOnce) { check_pairs<Bfloat>("bfloat"); }

template <class T>
T next_random(std::mt19937& random);
template <>
float next_random(std::mt19937& random) {
    return as_float(static_cast<uint32_t>(random()));
}

TEST(StdlibMath, FmaRoundsOnceInEveryFormat) {
    Program program(R"(#include <metal_stdlib>
using namespace metal;
#define K(T)                                                                                       \
    kernel void fma_##T(device const T* a, device const T* b, device const T* c, device T* out,    \
                        constant uint& n, uint first [[thread_position_in_grid]]) {                \
        for (uint i = first; i < n; i += 32) out[i] = fma(a[i], b[i], c[i]);                       \
    }                                                                                              \
    kernel void fma4_##T(device const T##4* a, device const T##4* b, device const T##4* c,         \
                         device T##4* out, constant uint& n,                                       \
                         uint first [[thread_position_in_grid]]) {                                 \
        for (uint i = first; i < n / 4; i += 32) out[i] = fma(a[i], b[i], c[i]);                   \
    }
K(float) K(half) K(bfloat)
)",
                    unchecked());
    ASSERT_TRUE(program);
    constexpr uint32_t kCount = 200000;
    uint32_t n = kCount;
    std::mt19937 random(3);

    std::vector<float> a(kCount), b(kCount), c(kCount), out(kCount);
    for (uint32_t i = 0; i < kCount; ++i) {
        a[i] = next_random<float>(random);
        b[i] = next_random<float>(random);
        c[i] = i % 2 ? -a[i] * b[i] * as_float(0x3f800000u + random() % 64)
                     : next_random<float>(random);
    }
    program.run("fma_float", 32, 32, {a.data(), b.data(), c.data(), out.data(), &n});
    for (uint32_t i = 0; i < kCount; ++i)
        ASSERT_TRUE(same_value(out[i], std::fma(a[i], b[i], c[i])))
            << show(a[i]) << " * " << show(b[i]) << " + " << show(c[i]) << " is " << show(out[i]);

    const auto check = [&]<class Format>(Format, const std::string& type) {
        std::vector<uint16_t> p(kCount), q(kCount), r(kCount), s(kCount), v(kCount);
        for (uint32_t i = 0; i < kCount; ++i) {
            p[i] = static_cast<uint16_t>(random());
            q[i] = static_cast<uint16_t>(random());
            r[i] = static_cast<uint16_t>(random());
            if (i % 2) {  // nearly cancelling, and ties
                q[i] = static_cast<uint16_t>(Format::kOne + random() % 32);
                r[i] = static_cast<uint16_t>((p[i] ^ 0x8000) + random() % 8 -
                                             4 * (i % 3) * Format::kOne / 8);
            }
        }
        program.run("fma_" + type, 32, 32, {p.data(), q.data(), r.data(), s.data(), &n});
        program.run("fma4_" + type, 32, 32, {p.data(), q.data(), r.data(), v.data(), &n});
        for (uint32_t i = 0; i < kCount; ++i) {
            const double x = Format::value(p[i]), y = Format::value(q[i]), z = Format::value(r[i]);
            const double got = Format::value(s[i]);
            // Products are exact in double; the sum and its distance from `got` are exact in 113
            // bits.
            const __float128 want = static_cast<__float128>(x * y) + z;
            const double rough = x * y + z;
            ASSERT_TRUE(s[i] == v[i] || (std::isnan(got) && std::isnan(Format::value(v[i]))));
            if (std::isnan(rough)) {
                ASSERT_TRUE(std::isnan(got));
            } else if (std::isinf(got) || std::fabs(rough) >= Format::kOverflow) {
                ASSERT_TRUE(std::isinf(got) && std::fabs(rough) >= Format::kOverflow * (1 - 1e-9))
                    << x << " * " << y << " + " << z << " is " << got;
            } else {
                __float128 distance = got - want;
                if (distance < 0) distance = -distance;
                int exponent = 0;
                std::frexp(rough, &exponent);
                const double unit =
                    std::ldexp(1.0, std::max(exponent, Format::kLow) - Format::kDigits);
                ASSERT_LE(static_cast<double>(distance * 2 - unit), 0.0)
                    << type << ": " << x << " * " << y << " + " << z << " is " << got;
            }
        }
    };
    check(Half{}, "half");
    check(Bfloat{}, "bfloat");
}

struct Parts {
    float fraction, whole, mantissa, sine, cosine, scaled, fract;
    int32_t exponent, ilogb;
};

TEST(StdlibMath, NumbersComeApartAndTogetherExactly) {
    Program program(R"(#include <metal_stdlib>
using namespace metal;
struct Parts { float fraction, whole, mantissa, sine, cosine, scaled, fract; int exponent, ilogb; };
kernel void take_apart(device const float* in, device Parts* out, constant uint& n,
                       uint first [[thread_position_in_grid]]) {
    for (uint i = first; i < n; i += 32) {
        device Parts& p = out[i];
        p.fraction = modf(in[i], p.whole);
        p.mantissa = frexp(in[i], p.exponent);
        p.sine = sincos(in[i], p.cosine);
        p.scaled = ldexp(in[i], int(i % 600) - 300);
        p.fract = fract(in[i]);
        p.ilogb = ilogb(in[i]);
    }
}
kernel void in_vectors(device const float4* in, device Parts* out, constant uint& n,
                       uint first [[thread_position_in_grid]]) {
    for (uint i = first; i < n / 4; i += 32) {
        float4 whole, cosine;
        int4 exponent;
        float4 fraction = modf(in[i], whole), mantissa = frexp(in[i], exponent);
        float4 sine = sincos(in[i], cosine);
        float4 scaled = ldexp(in[i], int4(i * 4 + uint4(0, 1, 2, 3)) % 600 - 300);
        int4 log = ilogb(in[i]);
        for (uint k = 0; k < 4; k++)
            out[i * 4 + k] = {fraction[k], whole[k], mantissa[k], sine[k], cosine[k], scaled[k],
                              fract(in[i])[k], exponent[k], log[k]};
    }
}
)",
                    unchecked());
    ASSERT_TRUE(program);
    auto in = special_floats();
    const auto all = sweep();
    for (size_t i = 0; i < all.size(); i += 11) in.push_back(all[i]);
    in.resize(in.size() / 4 * 4);
    std::vector<Parts> one(in.size()), four(in.size());
    uint32_t n = static_cast<uint32_t>(in.size());
    program.run("take_apart", 32, 32, {in.data(), one.data(), &n});
    program.run("in_vectors", 32, 32, {in.data(), four.data(), &n});
    for (size_t i = 0; i < in.size(); ++i) {
        const float x = in[i];
        const Parts& p = one[i];
        float whole = 0;
        const float fraction = std::modf(x, &whole);
        EXPECT_TRUE(same_value(p.fraction, fraction) && same_value(p.whole, whole)) << show(x);
        int exponent = 0;
        const float mantissa = std::frexp(x, &exponent);
        EXPECT_TRUE(same_value(p.mantissa, mantissa)) << show(x);
        if (std::isfinite(x)) EXPECT_EQ(p.exponent, exponent) << show(x);
        EXPECT_LE(float_error(p.sine, std::sin(double(x))), 1.6) << show(x);
        EXPECT_LE(float_error(p.cosine, std::cos(double(x))), 1.6) << show(x);
        EXPECT_TRUE(same_value(p.scaled, std::ldexp(x, int(i % 600) - 300))) << show(x) << " " << i;
        if (std::isfinite(x)) {
            EXPECT_EQ(p.fract, std::fmin(x - std::floor(x), 0x1.fffffep-1f)) << show(x);
            EXPECT_LT(p.fract, 1.0f);
        }
        EXPECT_EQ(p.ilogb, x == 0 || std::isnan(x) ? INT32_MIN : std::ilogb(x)) << show(x);
        const Parts& q = four[i];
        EXPECT_TRUE(same_value(p.fraction, q.fraction) && same_value(p.whole, q.whole) &&
                    same_value(p.mantissa, q.mantissa) && same_value(p.sine, q.sine) &&
                    same_value(p.cosine, q.cosine) && same_value(p.scaled, q.scaled) &&
                    same_value(p.fract, q.fract) && p.exponent == q.exponent && p.ilogb == q.ilogb)
            << show(x) << " in a vector";
        if (HasFailure()) return;
    }
}

TEST(StdlibMath, NextafterStepsThroughTheBitsOfHalfAndBfloat) {
    Program program(R"(#include <metal_stdlib>
using namespace metal;
template <typename T> void steps(device const T* in, device T* out, uint i) {
    out[3 * i] = nextafter(in[i], T(INFINITY));
    out[3 * i + 1] = nextafter(in[i], T(-INFINITY));
    out[3 * i + 2] = nextafter(in[i], T(0));
}
kernel void of_half(device const half* in, device half* out, uint i [[thread_position_in_grid]]) {
    steps(in, out, i);
}
kernel void of_bfloat(device const bfloat* in, device bfloat* out, uint i [[thread_position_in_grid]]) {
    steps(in, out, i);
}
)",
                    unchecked());
    ASSERT_TRUE(program);
    std::vector<uint16_t> in(65536), out(3 * 65536);
    for (uint32_t i = 0; i < 65536; ++i) in[i] = static_cast<uint16_t>(i);
    const auto check = [&](const char* kernel, uint32_t infinity) {
        program.run(kernel, 65536, 1024, {in.data(), out.data()});
        for (uint32_t i = 0; i < 65536; ++i) {
            const uint32_t magnitude = i & 0x7fff, sign = i & 0x8000;
            if (magnitude > infinity) continue;
            const uint32_t up = magnitude == 0  ? 1
                                : i == infinity ? infinity
                                : sign          ? i - 1
                                                : i + 1;
            const uint32_t down = magnitude == 0             ? 0x8001
                                  : i == (infinity | 0x8000) ? i
                                  : sign                     ? i + 1
                                                             : i - 1;
            const uint32_t to_zero = magnitude == 0 ? 0 : i - 1;
            ASSERT_EQ(out[3 * i], up) << kernel << " " << i;
            ASSERT_EQ(out[3 * i + 1], down) << kernel << " " << i;
            ASSERT_EQ(out[3 * i + 2], to_zero) << kernel << " " << i;
        }
    };
    check("of_half", 0x7c00);
    check("of_bfloat", 0x7f80);
}

}  // namespace
}  // namespace softmetal::msl::test

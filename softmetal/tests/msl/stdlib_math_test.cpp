// The stand-in library's functions of one float against the host's, computed in double.
#include "softmetal/tests/msl/stdlib_support.h"

namespace softmetal::msl::test {
namespace {

// sin(pi x): the sine of what is left of x modulo 2, and at whole numbers the zero that x suggests.
double sinpi(double x) {
    if (x == std::trunc(x)) return std::isinf(x) ? NAN : std::copysign(0.0, x);
    return std::sin(std::fmod(x, 2.0) * M_PI);
}
double cospi(double x) {
    const double rest = std::fabs(std::fmod(x, 2.0));
    if (rest == 0.5 || rest == 1.5) return 0;
    return std::cos(rest * M_PI);
}
// IEEE 754's tanPi: zeros and poles alternate in sign.
double tanpi(double x) {
    if (std::isinf(x) || std::isnan(x)) return NAN;
    const double rest = std::fmod(x, 2.0), magnitude = std::fabs(rest);
    const double sign = std::signbit(x) ? -1 : 1;
    if (magnitude == 0) return sign * 0.0;
    if (magnitude == 1) return -sign * 0.0;
    if (magnitude == 0.5) return sign * INFINITY;
    if (magnitude == 1.5) return -sign * INFINITY;
    return std::tan(rest * M_PI);
}

struct Unary {
    const char* name;
    double (*reference)(double);
    double bound;  // ulp of float; the MSL specification allows 1 to 6
};

const Unary kUnary[] = {
    {"exp", [](double x) { return std::exp(x); }, 1.0},
    {"exp2", [](double x) { return std::exp2(x); }, 1.0},
    {"exp10", [](double x) { return std::pow(10.0, x); }, 1.3},
    {"log", [](double x) { return std::log(x); }, 1.0},
    {"log2", [](double x) { return std::log2(x); }, 1.0},
    {"log10", [](double x) { return std::log10(x); }, 1.0},
    {"sin", [](double x) { return std::sin(x); }, 1.6},
    {"cos", [](double x) { return std::cos(x); }, 1.6},
    {"tan", [](double x) { return std::tan(x); }, 0.51},
    {"sinpi", sinpi, 0.51},
    {"cospi", cospi, 0.51},
    {"tanpi", tanpi, 0.51},
    {"asin", [](double x) { return std::asin(x); }, 0.51},
    {"acos", [](double x) { return std::acos(x); }, 0.51},
    {"atan", [](double x) { return std::atan(x); }, 0.51},
    {"sinh", [](double x) { return std::sinh(x); }, 0.51},
    {"cosh", [](double x) { return std::cosh(x); }, 0.51},
    {"tanh", [](double x) { return std::tanh(x); }, 1.5},
    {"asinh", [](double x) { return std::asinh(x); }, 0.51},
    {"acosh", [](double x) { return std::acosh(x); }, 0.51},
    {"atanh", [](double x) { return std::atanh(x); }, 0.51},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1.6},
    {"sqrt", [](double x) { return std::sqrt(x); }, 0.5},
    {"fabs", [](double x) { return std::fabs(x); }, 0},
    {"abs", [](double x) { return std::fabs(x); }, 0},
    {"floor", [](double x) { return std::floor(x); }, 0},
    {"ceil", [](double x) { return std::ceil(x); }, 0},
    {"trunc", [](double x) { return std::trunc(x); }, 0},
    {"rint", [](double x) { return std::nearbyint(x); }, 0},
    {"round", [](double x) { return std::round(x); }, 0},
    {"saturate", [](double x) { return x > 0 ? (x < 1 ? x : 1.0) : 0.0; }, 0},
    {"sign", [](double x) { return std::isnan(x) ? 0.0
                                   : x > 0       ? 1.0
                                   : x < 0       ? -1.0
                                                 : x; }, 0},
};

// Each function as a kernel of `type`; a `width` above 1 works on vectors.
std::string source(const std::string& type, int width) {
    std::string text = R"(#include <metal_stdlib>
using namespace metal;
typedef )" + type + (width > 1 ? std::to_string(width) : "") +
                       R"( T;
#define K(name)                                                                            \
    kernel void name##_k(device const T* in, device T* out, constant uint& n,              \
                         uint first [[thread_position_in_grid]]) {                         \
        for (uint i = first; i < n; i += 32) out[i] = metal::name(in[i]);                  \
    }
)";
    for (const auto& f : kUnary) text += "K(" + std::string(f.name) + ")\n";
    return text;
}

template <class T>
void run(Program& program, const char* name, std::vector<T>& in, std::vector<T>& out, int width) {
    uint32_t n = static_cast<uint32_t>(in.size() / width);
    out.assign(in.size(), T{});
    program.run(std::string(name) + "_k", 32, 32, {in.data(), out.data(), &n});
}

void check_bounds(const CompileOptions& options) {
    Program program(source("float", 1), options);
    ASSERT_TRUE(program);
    auto in = sweep();
    std::vector<float> out;
    for (const auto& f : kUnary) {
        run(program, f.name, in, out, 1);
        double worst = -1;
        size_t at = 0;
        for (size_t i = 0; i < in.size(); ++i) {
            const double error = float_error(out[i], f.reference(in[i]));
            if (error > worst) {
                worst = error;
                at = i;
            }
        }
        EXPECT_LE(worst, f.bound) << f.name << "(" << show(in[at]) << ") is " << show(out[at]);
    }
}

TEST(StdlibMath, FunctionsOfOneFloatStayWithinTheirBounds) { check_bounds(unchecked()); }
TEST(StdlibMath, FastMathDoesNotLoosenTheBounds) {
    auto options = unchecked();
    options.fast_math = true;
    check_bounds(options);
}

TEST(StdlibMath, FunctionsOfVectorsGiveWhatTheirLanesGive) {
    Program scalar(source("float", 1), unchecked()), four(source("float", 4), unchecked());
    ASSERT_TRUE(scalar && four);
    auto in = special_floats();
    const auto all = sweep();
    for (size_t i = 0; i < all.size(); i += 17) in.push_back(all[i]);
    in.resize(in.size() / 4 * 4);
    std::vector<float> one, vectors;
    for (const auto& f : kUnary) {
        run(scalar, f.name, in, one, 1);
        run(four, f.name, in, vectors, 4);
        for (size_t i = 0; i < in.size(); ++i) {
            ASSERT_TRUE(same_value(one[i], vectors[i]))
                << f.name << "(" << show(in[i]) << ") is " << show(one[i]) << " alone and "
                << show(vectors[i]) << " in a vector";
        }
    }
}

// All 65536 values of a 16-bit format: a float result rounded once is almost always the nearest
// one.
template <class Format>
void check_all_values(const char* type) {
    Program program(source(type, 1), unchecked());
    ASSERT_TRUE(program);
    std::vector<uint16_t> in(65536), out;
    for (uint32_t i = 0; i < 65536; ++i) in[i] = static_cast<uint16_t>(i);
    for (const auto& f : kUnary) {
        run(program, f.name, in, out, 1);
        for (uint32_t i = 0; i < 65536; ++i) {
            const double want = f.reference(Format::value(in[i]));
            const double error = small_error<Format>(out[i], want);
            ASSERT_LE(error, f.bound == 0 ? 0.5 : 0.51)
                << f.name << "(" << Format::value(in[i]) << ") is " << Format::value(out[i])
                << " and not " << want;
        }
    }
}

TEST(StdlibMath, FunctionsOfEveryHalfAreRoundedOnce) { check_all_values<Half>("half"); }
TEST(StdlibMath, FunctionsOfEveryBfloatAreRoundedOnce) { check_all_values<Bfloat>("bfloat"); }

}  // namespace
}  // namespace softmetal::msl::test

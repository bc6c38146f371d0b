// Types of the stand-in library: layout, conversions, components, operators. Most of it is asserted
// in MSL itself, where programs see it.
#include "softmetal/tests/msl/stdlib_support.h"

namespace softmetal::msl::test {
namespace {

const std::vector<std::string> kScalars = {"bool", "char", "uchar", "short", "ushort", "int",
                                           "uint", "long", "ulong", "half",  "bfloat", "float"};

TEST(StdlibTypes, HaveMetalsSizesAndAlignments) {
    std::string text = "#include <metal_stdlib>\nusing namespace metal;\n";
    const int sizes[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4};
    for (size_t i = 0; i < kScalars.size(); ++i) {
        const auto& type = kScalars[i];
        const auto expect = [&](const std::string& name, int size, int alignment) {
            text += "static_assert(sizeof(" + name + ") == " + std::to_string(size) +
                    " && alignof(" + name + ") == " + std::to_string(alignment) + ", \"" + name +
                    "\");\n";
        };
        expect(type, sizes[i], sizes[i]);
        for (int n = 2; n <= 4; ++n) {
            const int padded = n == 3 ? 4 : n;
            expect(type + std::to_string(n), padded * sizes[i], padded * sizes[i]);
            expect("metal::" + type + std::to_string(n), padded * sizes[i], padded * sizes[i]);
            expect("packed_" + type + std::to_string(n), n * sizes[i], sizes[i]);
            expect("vec<" + type + ", " + std::to_string(n) + ">", padded * sizes[i],
                   padded * sizes[i]);
        }
    }
    for (const std::string type : {"float", "half", "bfloat"}) {
        for (int c = 2; c <= 4; ++c) {
            for (int r = 2; r <= 4; ++r) {
                const int column = (type == "float" ? 4 : 2) * (r == 3 ? 4 : r);
                text += "static_assert(sizeof(" + type + std::to_string(c) + "x" +
                        std::to_string(r) + ") == " + std::to_string(c * column) + ", \"\");\n";
            }
        }
    }
    text += R"(
struct Packed { packed_float3 a; float b; };
static_assert(sizeof(Packed) == 16, "");
struct Padded { float3 a; float b; };
static_assert(sizeof(Padded) == 32, "");
static_assert(sizeof(array<float, 3>) == 12 && sizeof(atomic_uint) == 4 && sizeof(atomic<ulong>) == 8, "");
static_assert(is_same_v<float4, vec<float, 4>> && is_same_v<metal::float4, float4>, "");
static_assert(is_same_v<size_t, ulong> && is_same_v<uint8_t, uchar> && is_same_v<int64_t, long>, "");
)";
    EXPECT_EQ(refusal(text), "");
}

TEST(StdlibTypes, SimdHeaderNamesTheSameTypesForThoseWhoIncludeIt) {
    EXPECT_EQ(refusal(R"(#include <metal_stdlib>
#include <simd/simd.h>
using namespace metal;
struct Shared { simd::float4 a; vector_uint2 b; matrix_float4x4 c; simd_half3 d; };
static_assert(is_same_v<simd::float4, float4> && is_same_v<vector_uint2, uint2>, "");
static_assert(is_same_v<simd_half3, half3> && is_same_v<simd_float3x3, float3x3>, "");
static_assert(is_same_v<matrix_float4x4, simd::float4x4> && sizeof(Shared) == 112, "");
kernel void k(device Shared* s) { s->a += s->c[0]; }
)"),
              "");
    EXPECT_EQ(refusal("#include <metal_stdlib>\nkernel void simd(device uint* a, uint simd_float4 "
                      "[[thread_position_in_grid]]) "
                      "{ a[simd_float4] = 1; }\n"),
              "");
}

// Every pair of element types and every width, both in a template and by each spelling of a cast:
// lane by lane what the conversion of scalars gives. Then the conversion of scalars against the
// host's.
TEST(StdlibTypes, EveryPairOfVectorsConvertsLikeItsElements) {
    std::string text = R"(#include <metal_stdlib>
using namespace metal;
template <typename T> bool same(T a, T b) { return a == b || (a != a && b != b); }
template <typename To, typename From, int N>
__attribute__((optnone)) void convert(device uint* wrong, float seed) {
    float values[] = {0.0f, 1.0f, -1.0f, 2.75f, -3.5f, 100.25f, 127.0f, 255.5f, 300.0f, -129.0f,
                      65504.0f, 7e4f, -4e4f, 3e9f, -3e9f, 5e9f, 1e19f, -1e19f, 2e19f, seed,
                      INFINITY, -INFINITY, NAN, 0.499f, 1e-8f};
    for (uint i = 0; i + N <= sizeof(values) / sizeof(float); i++) {
        vec<From, N> from;
        for (int k = 0; k < N; k++) from[k] = From(values[i + k]);
        vec<To, N> to;
        if (N == 2) to = (vec<To, N>)from;
        if (N == 3) to = vec<To, N>(packed_vec<To, N>(packed_vec<From, N>(from)));
        if (N == 4) to = static_cast<vec<To, N>>(from);
        for (int k = 0; k < N; k++) {
            if (!same(to[k], static_cast<To>(from[k]))) *wrong += 1;
        }
    }
}
)";
    std::vector<std::string> names;
    text += "kernel void conversions(device uint* wrong, constant float& seed) {\n";
    for (const auto& to : kScalars) {
        for (const auto& from : kScalars) {
            for (int n = 2; n <= 4; ++n) {
                text += "    convert<" + to + ", " + from + ", " + std::to_string(n) +
                        ">(wrong + " + std::to_string(names.size()) + ", seed);\n";
                names.push_back(from + std::to_string(n) + " to " + to + std::to_string(n));
            }
        }
    }
    text += "}\n";
    Program program(text, unchecked());
    ASSERT_TRUE(program);
    std::vector<uint32_t> wrong(names.size());
    for (float seed : {3.25f, -0.0f, 12345.678f})
        program.run("conversions", 1, 1, {wrong.data(), &seed});
    for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(wrong[i], 0u) << names[i];
}

template <class T>
T saturated(float x) {
    if (std::isnan(x)) return 0;
    const double low = static_cast<double>(std::numeric_limits<T>::min());
    if (x <= low) return std::numeric_limits<T>::min();
    if (static_cast<double>(x) >= static_cast<double>(std::numeric_limits<T>::max()))
        return std::numeric_limits<T>::max();
    return static_cast<T>(x);
}

template <class T>
void check_float_to(Program& program, const char* name, std::vector<float> in) {
    std::vector<T> scalar(in.size());
    AlignedVector<T> vector(in.size());
    program.run(std::string("to_") + name, static_cast<uint32_t>(in.size() / 4), 32,
                {in.data(), scalar.data(), vector.data()});
    for (size_t i = 0; i < in.size(); ++i) {
        ASSERT_EQ(scalar[i], saturated<T>(in[i])) << show(in[i]) << " to " << name;
        ASSERT_EQ(vector[i], saturated<T>(in[i])) << show(in[i]) << " to " << name << "4";
    }
}

TEST(StdlibTypes, FloatsBecomeIntegersBySaturation) {
    Program program(R"(#include <metal_stdlib>
using namespace metal;
#define K(T)                                                                                    \
    kernel void to_##T(device const float4* in, device T* scalar, device T##4* vector,          \
                       uint i [[thread_position_in_grid]]) {                                    \
        for (int k = 0; k < 4; k++) scalar[4 * i + k] = static_cast<T>(in[i][k]);               \
        vector[i] = T##4(in[i]);                                                                \
    }
K(char) K(uchar) K(short) K(ushort) K(int) K(uint) K(long) K(ulong)
)",
                    unchecked());
    ASSERT_TRUE(program);
    auto in = special_floats();
    for (int power = 0; power < 66; ++power) {
        for (const float scale : {0.5f, 0.99999994f, 1.0f, 1.0000001f, 1.25f}) {
            in.push_back(std::ldexp(scale, power));
            in.push_back(-std::ldexp(scale, power));
        }
    }
    in.resize(in.size() / 4 * 4);
    check_float_to<int8_t>(program, "char", in);
    check_float_to<uint8_t>(program, "uchar", in);
    check_float_to<int16_t>(program, "short", in);
    check_float_to<uint16_t>(program, "ushort", in);
    check_float_to<int32_t>(program, "int", in);
    check_float_to<uint32_t>(program, "uint", in);
    check_float_to<int64_t>(program, "long", in);
    check_float_to<uint64_t>(program, "ulong", in);
}

TEST(StdlibTypes, BfloatRoundsToNearestEvenAndKeepsNans) {
    Program program(R"(#include <metal_stdlib>
using namespace metal;
kernel void narrow(device const float4* in, device bfloat* scalar, device bfloat4* vector,
                   uint i [[thread_position_in_grid]]) {
    for (int k = 0; k < 4; k++) scalar[4 * i + k] = bfloat(in[i][k]);
    vector[i] = bfloat4(in[i]);
}
)",
                    unchecked());
    ASSERT_TRUE(program);
    std::vector<float> in = special_floats();
    for (uint64_t bits = 0x7fff; bits < (1ull << 32); bits += 0x10000) {
        for (const uint32_t near : {0u, 1u, 2u, 0x8000u, 0x8001u})
            in.push_back(as_float(uint32_t(bits) + near));
    }
    in.resize(in.size() / 128 * 128);
    std::vector<uint16_t> scalar(in.size()), vector(in.size());
    program.run("narrow", static_cast<uint32_t>(in.size() / 4), 32,
                {in.data(), scalar.data(), vector.data()});
    for (size_t i = 0; i < in.size(); ++i) {
        ASSERT_EQ(scalar[i], vector[i]) << show(in[i]);
        if (std::isnan(in[i])) {
            ASSERT_TRUE(std::isnan(Bfloat::value(scalar[i]))) << show(in[i]);
            continue;
        }
        const uint32_t bits = std::bit_cast<uint32_t>(in[i]), low = bits & 0xffff;
        const uint32_t up = low > 0x8000 || (low == 0x8000 && (bits >> 16 & 1));
        ASSERT_EQ(scalar[i], (bits >> 16) + up) << show(in[i]);
    }
}

TEST(StdlibTypes, BfloatConvertsAsTheLanguageSays) {
    EXPECT_EQ(refusal(R"(#include <metal_stdlib>
using namespace metal;
static_assert(is_convertible_v<bfloat, float> && !is_convertible_v<float, bfloat>, "");
static_assert(is_convertible_v<bfloat, int> && is_convertible_v<int, bfloat>, "");
static_assert(!is_convertible_v<bfloat, half> && !is_convertible_v<half, bfloat>, "");
static_assert(is_same_v<decltype(bfloat(1.0f) + bfloat(1.0f)), bfloat>, "");
static_assert(is_same_v<decltype(bfloat(1.0f) + 1.0f), float>, "");
static_assert(is_same_v<decltype(bfloat(1.0f) * 2), bfloat>, "");
static_assert(is_same_v<decltype(true ? bfloat(1.0f) : 1.0f), float>, "");
static_assert(bfloat(1.0f) + bfloat(0.00390625f) == 1.0f, "rounded after the operation");
constexpr constant bfloat table[] = {bfloat(1.5f), bfloat(-2.0f)};
static_assert(table[0] * table[1] == -3.0f && -table[1] == 2.0f && !bfloat(0.0f), "");
kernel void k(device half* h, device bfloat* b, device int* i) {
    *h = half(*b);
    *b = bfloat(*h);
    *b += 1.5f;
    *b *= 2;
    *i = int(*b);
    if (*b > 1.0f && *b <= bfloat(8) && *b != 0) ++*b;
}
)"),
              "");
    EXPECT_NE(refusal("#include <metal_stdlib>\nkernel void k(device bfloat* b) { b[0] = 1.0f; }\n")
                  .find("float"),
              std::string::npos);
}

TEST(StdlibTypes, SwizzlesReadEveryCombinationAndWriteDistinctOnes) {
    // Reads are compared with the lanes they name, in constant expressions and at run time.
    std::string text = R"(#include <metal_stdlib>
using namespace metal;
constexpr constant float4 c4 = float4(1.0f, 2.0f, 3.0f, 4.0f);
constexpr constant half3 c3 = half3(1.0h, 2.0h, 3.0h);
constexpr constant int2 c2 = int2(1, 2);
)";
    const auto add = [&](const std::string& object, const std::string& names, size_t width) {
        for (size_t length = 1; length <= 4; ++length) {
            size_t total = 1;
            for (size_t i = 0; i < length; ++i) total *= width;
            for (size_t code = 0; code < total; ++code) {
                std::string swizzle, condition;
                size_t rest = code;
                for (size_t i = 0; i < length; ++i, rest /= width) {
                    const size_t lane = rest % width;
                    swizzle += names[lane];
                    condition += (i ? " && " : "") + object + "." + "%S" +
                                 (length > 1 ? std::string(".") + "xyzw"[i] : "") +
                                 " == " + std::to_string(lane + 1);
                }
                for (size_t at; (at = condition.find("%S")) != std::string::npos;)
                    condition.replace(at, 2, swizzle);
                // clang evaluates no second name of a component: single rgba ones are left to run
                // time.
                if (length == 1 && names == "rgba") continue;
                text += "static_assert(" + condition + ", \"" + object + "." + swizzle + "\");\n";
            }
        }
    };
    add("c4", "xyzw", 4);
    add("c4", "rgba", 4);
    add("c3", "xyzw", 3);
    add("c3", "rgba", 3);
    add("c2", "xyzw", 2);
    add("c2", "rgba", 2);
    text += R"(
template <typename V> void in_template(thread V& v, V w) {
    v.zx = w.yx;
    v.xyz += w.zyx;
    v.y *= w.x;
}
kernel void writes(device float* out) {
    float4 a = float4(1, 2, 3, 4);
    a.wx = float2(10, 20);
    a.gb = a.bg;
    a.x += 0.5f;
    a[3]++;
    a.yz *= 2.0f;
    float3 b = float3(1, 2, 3);
    in_template(b, float3(4, 5, 6));
    packed_float3 p = b;
    p.zx = p.xz;
    p.y = a.r + a.g;
    bool4 m = false;
    m.yw = bool2(true, true);
    half4 h = half4(a);
    h.wzyx = h;
    float values[] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, p.x, p.y, p.z, float(m.x), float(m.y),
                      float(m.z), float(m.w), float(h.x), float(h.w)};
    for (uint i = 0; i < 16; i++) out[i] = values[i];
}
)";
    Program program(text, unchecked());
    ASSERT_TRUE(program);
    float out[16] = {};
    program.run("writes", 1, 1, {out});
    const float want[16] = {20.5f, 6, 4, 11, 10, 28, 9, 9, 26.5f, 10, 0, 1, 0, 1, 11, 20.5f};
    for (int i = 0; i < 16; ++i) EXPECT_EQ(out[i], want[i]) << i;

    const auto twice = refusal(
        "#include <metal_stdlib>\nkernel void k(device float4* a) { a->xx = float2(1, 2); }\n");
    EXPECT_NE(twice.find("twice"), std::string::npos) << twice;
}

TEST(StdlibTypes, ConstructorsAndOperatorsMixScalarsAndVectors) {
    EXPECT_EQ(refusal(R"(#include <metal_stdlib>
using namespace metal;
constexpr bool eq(float4 v, float a, float b, float c, float d) { return v.x == a && v.y == b && v.z == c && v.w == d; }
constexpr bool eq(int3 v, int a, int b, int c) { return v.x == a && v.y == b && v.z == c; }
constexpr bool eq(bool4 v, bool a, bool b, bool c, bool d) { return v.x == a && v.y == b && v.z == c && v.w == d; }
constexpr constant float2 f2 = float2(1, 2);
constexpr constant float3 f3 = float3(3, 4, 5);
static_assert(eq(float4(7), 7, 7, 7, 7), "");
static_assert(eq(float4(f2, 3, 4), 1, 2, 3, 4), "");
static_assert(eq(float4(3, f2, 4), 3, 1, 2, 4), "");
static_assert(eq(float4(3, 4, f2), 3, 4, 1, 2), "");
static_assert(eq(float4(f2, f2), 1, 2, 1, 2), "");
static_assert(eq(float4(f3, 9), 3, 4, 5, 9), "");
static_assert(eq(float4(9, f3), 9, 3, 4, 5), "");
static_assert(eq(int3(int2(1, 2), 3), 1, 2, 3) && eq(int3(3, int2(1, 2)), 3, 1, 2), "");
static_assert(eq(float4{1, 2, 3, 4} + 1, 2, 3, 4, 5) && eq(2.0f * float4(1, 2, 3, 4), 2, 4, 6, 8), "");
static_assert(eq(int3(7, -7, 9) / 2, 3, -3, 4) && eq(int3(7, -7, 9) % 4, 3, -3, 1), "");
static_assert(eq(int3(1, 2, 3) << 33, 2, 4, 6), "shift amounts are taken modulo 32");
static_assert(eq((int3(12, 10, 6) & 6) | int3(1, 1, 1) ^ 3, 6, 2, 6), "");
static_assert(eq(~int3(0, 1, 2), -1, -2, -3) && eq(-int3(1, 2, 3), -1, -2, -3), "");
static_assert(eq(float4(1, 2, 3, 4) > 2.5f, false, false, true, true), "");
static_assert(eq(float4(bool4(true, false, true, false)), 1, 0, 1, 0), "true is 1");
static_assert(eq(!bool4(true, false, true, false) && bool4(true), false, true, false, true), "");
static_assert(eq(float4(1, NAN, 1, 1) == float4(1, NAN, 2, 1), true, false, false, true), "");
static_assert(as_type<uint>(1.0f) == 0x3f800000u && as_type<float4>(uint4(0x40000000u)).w == 2.0f, "");
static_assert(as_type<ushort2>(0x00020001u).y == 2, "");
static_assert(is_same_v<decltype(half4(1) * half(2)), half4>, "");
static_assert(!is_convertible_v<int4, float4> && !is_convertible_v<float3, float4>, "");
static_assert(is_convertible_v<float, float4> && is_convertible_v<packed_float3, float3>, "");
union Bits { float4 f; uint4 u; };
kernel void k(device float4* out, device packed_half4* p, constant int& n) {
    float4 v = 0;
    v += 1;
    v = -v * out[0] / 2 - p[0][1];
    v[n] += 3;
    uint2 small = {1u, uint(n)};
    short2 braces{short(n), short(n)};
    Bits bits;
    bits.f = v;
    out[1] = float4(bits.u >> 1) + float4(float2(small), float2(braces));
    p[1] = half4(v);
    p[2] = p[0] * 2 + p[1];
    vec<float, 1> one = vec<float, 1>(v.x);
    vec<half, 8> eight = vec<half, 8>(1.0h);
    eight[n] += half(one[0]);
    out[2] = float(eight[0]);
}
)"),
              "");
}

TEST(StdlibTypes, LimitsAndTraitsAreThoseOfTheTypes) {
    EXPECT_EQ(refusal(R"(#include <metal_stdlib>
using namespace metal;
static_assert(numeric_limits<float>::max() == FLT_MAX && numeric_limits<float>::min() == FLT_MIN, "");
static_assert(numeric_limits<float>::epsilon() == FLT_EPSILON && numeric_limits<float>::lowest() == -MAXFLOAT, "");
static_assert(numeric_limits<float>::denorm_min() > 0 && numeric_limits<float>::denorm_min() < FLT_MIN, "");
static_assert(numeric_limits<float>::infinity() == INFINITY && numeric_limits<float>::quiet_NaN() != numeric_limits<float>::quiet_NaN(), "");
static_assert(numeric_limits<half>::max() == HALF_MAX && numeric_limits<half>::min() == HALF_MIN && numeric_limits<half>::epsilon() == HALF_EPSILON, "");
static_assert(numeric_limits<half>::quiet_NaN() != numeric_limits<half>::quiet_NaN(), "");
static_assert(numeric_limits<bfloat>::max() == BFLT_MAX && numeric_limits<bfloat>::epsilon() == BFLT_EPSILON, "");
static_assert(numeric_limits<bfloat>::quiet_NaN() != numeric_limits<bfloat>::quiet_NaN() && numeric_limits<bfloat>::infinity() > BFLT_MAX, "");
static_assert(numeric_limits<char>::min() == -128 && numeric_limits<uchar>::max() == 255, "");
static_assert(numeric_limits<short>::min() == SHRT_MIN && numeric_limits<ushort>::max() == USHRT_MAX, "");
static_assert(numeric_limits<int>::min() == INT_MIN && numeric_limits<uint>::max() == UINT_MAX, "");
static_assert(numeric_limits<long>::min() == LONG_MIN && numeric_limits<ulong>::max() == ULONG_MAX, "");
static_assert(numeric_limits<bool>::max() == true && numeric_limits<int>::digits == 31 && numeric_limits<ulong>::digits10 == 19, "");
static_assert(numeric_limits<float>::digits == 24 && numeric_limits<half>::digits10 == 3 && numeric_limits<float>::digits10 == 6, "");
static_assert(is_floating_point_v<half> && is_floating_point_v<const bfloat> && !is_floating_point_v<int>, "");
static_assert(is_integral_v<bool> && is_integral_v<ulong> && !is_integral_v<half> && !is_integral_v<int2>, "");
static_assert(is_signed_v<char> && is_signed_v<half> && !is_signed_v<uint> && is_unsigned_v<uchar>, "");
static_assert(is_same_v<make_unsigned_t<short>, ushort> && is_same_v<make_signed_t<ulong>, long>, "");
static_assert(is_same_v<conditional_t<true, int, float>, int> && is_same_v<remove_cv_t<const volatile int>, int>, "");
static_assert(is_same_v<remove_reference_t<int&>, int> && is_same_v<decay_t<int[3]>, int*>, "");
static_assert(is_same<enable_if_t<true, half>, half>::value && is_convertible<int, float>::value, "");
static_assert(integral_constant<int, 3>::value == 3 && bool_constant<true>() && !false_type::value, "");
static_assert(is_same_v<decltype(declval<int>() + declval<float>()), float> && is_pointer_v<device int*>, "");
static_assert(rank<int[2][3]>::value == 2 && extent<int[2][3], 1>::value == 3 && is_array_v<int[2]>, "");
static_assert(disjunction_v<false_type, true_type> && !conjunction_v<true_type, false_type> && negation_v<false_type>, "");
static_assert(is_same_v<common_type_t<int, float>, float> && is_trivially_copyable_v<float4> && is_trivial_v<half3>, "");
static_assert(index_sequence<1, 2, 3>::size() == 3 && is_same_v<make_index_sequence<2>, index_sequence<0, 1>>, "");
constexpr constant array<int, 3> list = {1, 2, 3};
static_assert(list.size() == 3 && list[2] == 3, "");
static_assert(M_PI_F == 0x1.921fb6p+1f && M_PI_H == half(3.140625) && M_E_F > 2.7f && CHAR_BIT == 8, "");
)"),
              "");
}

TEST(StdlibTypes, MatricesMultiplyTransposeAndHaveDeterminants) {
    Program program(R"(#include <metal_stdlib>
using namespace metal;
kernel void matrices(device const float* in, device float* out) {
    float4x4 m, n(2.0f);
    for (int i = 0; i < 16; i++) m[i / 4][i % 4] = in[i];
    float3x2 wide = float3x2(1, 2, 3, 4, 5, 6);
    float2x3 tall = transpose(wide);
    float4 v = float4(1, 2, 3, 4);
    device float* o = out;
    float4 mv = m * v, vm = v * m;
    for (int i = 0; i < 4; i++) *o++ = mv[i];
    for (int i = 0; i < 4; i++) *o++ = vm[i];
    float4x4 p = m * transpose(m) + n * 3 - m;
    for (int i = 0; i < 16; i++) *o++ = p[i / 4][i % 4];
    float2x2 small = wide * tall;
    for (int i = 0; i < 4; i++) *o++ = small.columns[i / 2][i % 2];
    *o++ = determinant(m);
    *o++ = determinant(float3x3(float3(2, 0, 1), float3(1, 3, 2), float3(1, 1, 4)));
    *o++ = determinant(small);
    half4x4 h = half4x4(m);
    *o++ = h[2][1];
    *o++ = (m == m) + 2 * (m != n);
    m *= n;
    *o++ = m[3][3];
}
)",
                    unchecked());
    ASSERT_TRUE(program);
    float in[16] = {2, 1, 0, 3, 4, -1, 2, 1, 0, 5, 1, 2, 3, 2, 1, 4};
    float out[34] = {};
    program.run("matrices", 1, 1, {in, out});
    const auto m = [&](int c, int r) { return double(in[4 * c + r]); };
    int at = 0;
    for (int r = 0; r < 4; ++r, ++at)
        EXPECT_EQ(out[at], m(0, r) + 2 * m(1, r) + 3 * m(2, r) + 4 * m(3, r)) << r;
    for (int c = 0; c < 4; ++c, ++at)
        EXPECT_EQ(out[at], m(c, 0) + 2 * m(c, 1) + 3 * m(c, 2) + 4 * m(c, 3)) << c;
    for (int c = 0; c < 4; ++c) {
        for (int r = 0; r < 4; ++r, ++at) {
            double want = (c == r ? 6 : 0) - m(c, r);
            for (int k = 0; k < 4; ++k) want += m(k, r) * m(k, c);
            EXPECT_EQ(out[at], want) << c << " " << r;
        }
    }
    const float want[] = {35, 44, 44, 56, /* determinants */ -100, 18, 24, 5, 3, 8};
    // The 4x4 determinant by elimination.
    double a[4][4], determinant = 1;
    for (int c = 0; c < 4; ++c)
        for (int r = 0; r < 4; ++r) a[r][c] = m(c, r);
    for (int k = 0; k < 4; ++k) {
        determinant *= a[k][k];
        for (int r = k + 1; r < 4; ++r)
            for (int c = 3; c >= k; --c) a[r][c] -= a[k][c] * a[r][k] / a[k][k];
    }
    for (const float w : want) {
        EXPECT_NEAR(out[at], w == -100 ? determinant : w, 1e-4) << at;
        ++at;
    }
}

}  // namespace
}  // namespace softmetal::msl::test

// The stand-in library's integer, common, relational, geometric and packing functions against plain
// C++ on the host.
#include <algorithm>

#include "softmetal/tests/msl/stdlib_support.h"

namespace softmetal::msl::test {
namespace {

using Wide = __int128;

template <class T>
std::vector<T> integers() {
    std::vector<T> out;
    for (const int64_t x : {0, 1, 2, 3, 7, 8, 100, 127, 128, 255, 256}) {
        out.push_back(static_cast<T>(x));
        out.push_back(static_cast<T>(-x));
    }
    for (int i = 0; i < 3; ++i) {
        out.push_back(static_cast<T>(std::numeric_limits<T>::max() - i));
        out.push_back(static_cast<T>(std::numeric_limits<T>::min() + i));
    }
    std::mt19937_64 random(5);
    while (out.size() < 64) out.push_back(static_cast<T>(random()));
    return out;
}

template <class T>
T clamped(Wide x) {
    return static_cast<T>(
        std::clamp<Wide>(x, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

template <class T>
int leading_zeros(T x) {
    int n = 0;
    for (int i = sizeof(T) * 8 - 1; i >= 0 && !(x >> i & 1); --i) ++n;
    return n;
}
template <class T>
int trailing_zeros(T x) {
    int n = 0;
    while (n < int(sizeof(T) * 8) && !(x >> n & 1)) ++n;
    return n;
}
template <class T>
T reversed(T x) {
    using U = std::make_unsigned_t<T>;
    U out = 0;
    for (size_t i = 0; i < sizeof(T) * 8; ++i)
        out = U(out | U((U(x) >> i & 1) << (sizeof(T) * 8 - 1 - i)));
    return static_cast<T>(out);
}
template <class T>
T rotated(T x, T by) {
    using U = std::make_unsigned_t<T>;
    const unsigned bits = sizeof(T) * 8, left = U(by) % bits;
    return static_cast<T>(U(U(x) << left) | (left ? U(U(x) >> (bits - left)) : U(0)));
}

const char* const kIntegerSource = R"(#include <metal_stdlib>
using namespace metal;
#define RESULTS 27
template <typename V, typename X> void all(V x, V y, thread V* out) {
    typedef X T;
    int i = 0;
    out[i++] = clz(x);
    out[i++] = ctz(x);
    out[i++] = popcount(x);
    out[i++] = reverse_bits(x);
    out[i++] = abs(x);
    out[i++] = as_type<V>(absdiff(x, y));
    out[i++] = addsat(x, y);
    out[i++] = subsat(x, y);
    out[i++] = hadd(x, y);
    out[i++] = rhadd(x, y);
    out[i++] = mulhi(x, y);
    out[i++] = madhi(x, y, x);
    out[i++] = madsat(x, y, x);
    out[i++] = rotate(x, y);
    out[i++] = min(x, y);
    out[i++] = max(x, y);
    out[i++] = min3(x, y, V(5));
    out[i++] = max3(x, y, V(5));
    out[i++] = median3(x, y, V(5));
    out[i++] = clamp(x, V(3), V(100));
    out[i++] = extract_bits(x, 2, 5);
    out[i++] = extract_bits(x, 0, sizeof(T) * 8);
    out[i++] = extract_bits(x, 3, 0);
    out[i++] = insert_bits(x, y, 1, 6);
    out[i++] = insert_bits(x, y, 0, sizeof(T) * 8);
    out[i++] = insert_bits(x, y, 4, 0);
    out[i++] = V(select(x, y, x < y));
}
#define K(T)                                                                                     \
    kernel void scalar_##T(device const T* x, device const T* y, device T* out,                  \
                           uint i [[thread_position_in_grid]]) {                                 \
        T r[RESULTS];                                                                            \
        all<T, T>(x[i], y[i], r);                                                                \
        for (int k = 0; k < RESULTS; k++) out[RESULTS * i + k] = r[k];                           \
    }                                                                                            \
    kernel void vector_##T(device const packed_##T##3* x, device const packed_##T##3* y,         \
                           device T* out, uint i [[thread_position_in_grid]]) {                  \
        T##3 r[RESULTS];                                                                         \
        all<T##3, T>(x[i], y[i], r);                                                             \
        for (int lane = 0; lane < 3; lane++)                                                     \
            for (int k = 0; k < RESULTS; k++) out[RESULTS * (3 * i + lane) + k] = r[k][lane];    \
    }
)";
constexpr size_t kResults = 27;

template <class T>
void check_integers(const std::string& type) {
    Program program(kIntegerSource + ("K(" + type + ")\n"), unchecked());
    ASSERT_TRUE(program);
    std::vector<T> x, y;
    for (const T a : integers<T>()) {
        for (const T b : integers<T>()) {
            x.push_back(a);
            y.push_back(b);
        }
    }
    x.resize(x.size() / 3 * 3);
    y.resize(x.size());
    const auto n = static_cast<uint32_t>(x.size());
    std::vector<T> one(n * kResults), three(n * kResults);
    program.run("scalar_" + type, n, 32, {x.data(), y.data(), one.data()});
    program.run("vector_" + type, n / 3, 32, {x.data(), y.data(), three.data()});
    using U = std::make_unsigned_t<T>;
    constexpr int kBits = sizeof(T) * 8;
    constexpr bool kSigned = std::is_signed_v<T>;
    for (size_t i = 0; i < x.size(); ++i) {
        const T a = x[i], b = y[i];
        const Wide p = a, q = b;
        const auto field = static_cast<T>(a >> 2 & 31);
        const T want[kResults] = {
            static_cast<T>(leading_zeros(a)),
            static_cast<T>(trailing_zeros(a)),
            static_cast<T>(std::popcount(U(a))),
            reversed(a),
            static_cast<T>(p < 0 ? -p : p),
            static_cast<T>(p > q ? p - q : q - p),
            clamped<T>(p + q),
            clamped<T>(p - q),
            static_cast<T>((p + q) >> 1),
            static_cast<T>((p + q + 1) >> 1),
            static_cast<T>(kSigned ? (p * q) >> kBits
                                   : static_cast<Wide>(
                                         (static_cast<unsigned __int128>(U(a)) * U(b)) >> kBits)),
            static_cast<T>((kSigned ? (p * q) >> kBits
                                    : static_cast<Wide>(
                                          (static_cast<unsigned __int128>(U(a)) * U(b)) >> kBits)) +
                           p),
            kBits == 64 && !kSigned
                ? static_cast<T>(static_cast<unsigned __int128>(U(a)) * U(b) + U(a) > U(~U(0))
                                     ? U(~U(0))
                                     : U(a) * U(b) + U(a))
                : clamped<T>(p * q + p),
            rotated(a, b),
            std::min(a, b),
            std::max(a, b),
            std::min({a, b, T(5)}),
            std::max({a, b, T(5)}),
            std::max(std::min(a, b), std::min(std::max(a, b), T(5))),
            std::clamp(a, T(3), T(100)),
            static_cast<T>(kSigned && (field & 16) ? field - 32 : field),
            a,
            T(0),
            static_cast<T>((a & ~T(63 << 1)) | T(U(b & 63) << 1)),
            b,
            a,
            a < b ? b : a,
        };
        for (size_t k = 0; k < kResults; ++k) {
            ASSERT_EQ(one[kResults * i + k], want[k])
                << type << " function " << k << " of " << +a << ", " << +b;
            ASSERT_EQ(three[kResults * i + k], want[k])
                << type << "3 function " << k << " of " << +a << ", " << +b;
        }
    }
}

TEST(StdlibInteger, FunctionsOfEightAndSixteenBitsMatchTheHost) {
    check_integers<int8_t>("char");
    check_integers<uint8_t>("uchar");
    check_integers<int16_t>("short");
    check_integers<uint16_t>("ushort");
}
TEST(StdlibInteger, FunctionsOfThirtyTwoBitsMatchTheHost) {
    check_integers<int32_t>("int");
    check_integers<uint32_t>("uint");
}
TEST(StdlibInteger, FunctionsOfSixtyFourBitsMatchTheHost) {
    check_integers<int64_t>("long");
    check_integers<uint64_t>("ulong");
}

// Questions about all halfs and bfloats, each answered again for a vector.
TEST(StdlibRelational, QuestionsAreAnsweredFromTheBits) {
    Program program(R"(#include <metal_stdlib>
using namespace metal;
template <typename T, typename V> void ask(T x, V v, device uchar* out) {
    out[0] = isnan(x) | isinf(x) << 1 | isfinite(x) << 2 | isnormal(x) << 3 | signbit(x) << 4;
    out[1] = isnan(v)[1] | isinf(v)[1] << 1 | isfinite(v)[1] << 2 | isnormal(v)[1] << 3 | signbit(v)[1] << 4;
    out[2] = any(isnan(v)) | all(isnan(v)) << 1 | isordered(x, T(1)) << 2 | isunordered(T(1), x) << 3;
}
#define K(T) kernel void ask_##T(device const T* in, device uchar* out, uint i [[thread_position_in_grid]]) \
    { ask(in[i], T##3(T(0), in[i], T(-1)), out + 3 * i); }
K(half) K(bfloat) K(float)
)",
                    unchecked());
    ASSERT_TRUE(program);
    const auto check = [&]<class T>(const char* kernel, std::vector<T> in, auto value,
                                    double normal) {
        std::vector<uint8_t> out(3 * in.size());
        program.run(kernel, static_cast<uint32_t>(in.size()), 128, {in.data(), out.data()});
        for (size_t i = 0; i < in.size(); ++i) {
            const double x = value(in[i]);
            const bool nan = std::isnan(x), inf = std::isinf(x);
            const int want = nan | inf << 1 | (!nan && !inf) << 2 |
                             (std::isfinite(x) && std::fabs(x) >= normal) << 3 |
                             std::signbit(x) << 4;
            ASSERT_EQ(out[3 * i], want) << kernel << " " << i;
            ASSERT_EQ(out[3 * i + 1], want) << kernel << " in a vector, " << i;
            ASSERT_EQ(out[3 * i + 2], nan | !nan << 2 | nan << 3) << kernel << " " << i;
        }
    };
    std::vector<uint16_t> all(65536);
    for (uint32_t i = 0; i < 65536; ++i) all[i] = static_cast<uint16_t>(i);
    check("ask_half", all, &Half::value, 0x1p-14);
    check("ask_bfloat", all, &Bfloat::value, 0x1p-126);
    check("ask_float", special_floats(), [](float x) { return double(x); }, 0x1p-126);
}

TEST(StdlibRelational, ComparisonsAndSelectionFollowTheNumbers) {
    EXPECT_EQ(refusal(R"(#include <metal_stdlib>
using namespace metal;
static_assert(is_same_v<decltype(isnan(half3(1))), bool3> && is_same_v<decltype(isless(1.0f, 2.0f)), bool>, "");
static_assert(is_same_v<decltype(select(float4(1), float4(2), bool4(true))), float4>, "");
static_assert(is_same_v<decltype(clamp(uchar(1), uchar(2), uchar(3))), uchar> && min(3, 4) == 3 && max(2.0f, 1.0f) == 2.0f, "");
static_assert(is_same_v<decltype(absdiff(short2(1), short2(2))), ushort2> && abs(-3) == 3, "");
)"),
              "");
    Program program(R"(#include <metal_stdlib>
using namespace metal;
kernel void compare(device int* out, constant float& nan, constant float& one) {
    int i = 0;
    out[i++] = isequal(one, 1.0f) && isnotequal(one, 2.0f) && !isequal(nan, nan) && isnotequal(nan, nan);
    out[i++] = isless(one, 2.0f) && islessequal(one, 1.0f) && isgreater(2.0f, one) && isgreaterequal(one, 1.0f);
    out[i++] = !isless(nan, 1.0f) && !islessgreater(nan, one) && islessgreater(one, 3.0f) && !islessgreater(one, 1.0f);
    out[i++] = all(select(int4(1, 2, 3, 4), int4(5), bool4(true, false, true, false)) == int4(5, 2, 5, 4));
    out[i++] = all(select(float4(1), float4(2), int4(0, 1, -1, 8)) == float4(1, 2, 2, 2));
    out[i++] = all(select(half2(1, 2), half2(3, 4), one > 0.5f) == half2(3, 4)) && select(1, 2, nan < 1) == 1;
    out[i++] = any(bool3(false, false, true)) && !any(bool3(false)) && all(bool2(true)) && !all(bool4(true, true, false, true));
    out[i++] = all(select(uchar4(1), uchar4(2), float4(1, 2, 3, 4) > 2.0f) == uchar4(1, 1, 2, 2));
    out[i++] = fmin3(nan, 3.0f, one) == 1 && fmax3(one, nan, 3.0f) == 3 && fmedian3(one, 5.0f, 3.0f) == 3;
    out[i++] = clamp(nan, 2.0f, 3.0f) == 2 && clamp(5.0f, 2.0f, 3.0f) == 3 && saturate(nan) == 0;
}
)",
                    unchecked());
    ASSERT_TRUE(program);
    int32_t out[10] = {};
    float nan = NAN, one = 1;
    program.run("compare", 1, 1, {out, &nan, &one});
    for (int i = 0; i < 10; ++i) EXPECT_EQ(out[i], 1) << i;
}

TEST(StdlibCommon, BlendingAndGeometryMatchTheHost) {
    Program program(R"(#include <metal_stdlib>
using namespace metal;
template <typename V, typename T> void work(V a, V b, T t, device float* o) {
    *o++ = float(dot(a, b));
    *o++ = float(length(a));
    *o++ = float(length_squared(b));
    *o++ = float(distance(a, b));
    *o++ = float(distance_squared(a, b));
    V n = normalize(a), c = cross(a, b), r = reflect(a, normalize(b)), m = mix(a, b, t);
    V f = refract(n, -n, T(0.5f)), total = refract(normalize(V(1, T(0.05f), 0)), V(0, -1, 0), T(1.5f));
    V s = smoothstep(V(0), V(4), a), e = step(b, a), face = faceforward(a, b, V(1));
    V list[] = {n, c, r, m, f, total, s, e, face};
    for (V v : list)
        for (int i = 0; i < 3; i++) *o++ = float(v[i]);
}
kernel void of_float(device float* o) { work(float3(1, -2, 3), float3(4, 0.5f, -6), 0.25f, o); }
kernel void of_half(device float* o) { work(half3(1, -2, 3), half3(4, 0.5f, -6), half(0.25f), o); }
kernel void of_packed(device const packed_float3* v, device float* o) {
    *o++ = length(v[0]);
    *o++ = dot(v[0], v[1]);
    *o++ = cross(v[0], v[1]).z;
    *o++ = max(v[0], 0.0f).y;
    *o++ = (v[0] * 2 + v[1]).x;
}
)",
                    unchecked());
    ASSERT_TRUE(program);
    const double a[3] = {1, -2, 3}, b[3] = {4, 0.5, -6};
    const auto dot = [](const double* p, const double* q) {
        return p[0] * q[0] + p[1] * q[1] + p[2] * q[2];
    };
    std::vector<double> want = {dot(a, b), std::sqrt(dot(a, a)), dot(b, b)};
    const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    want.insert(want.end(), {std::sqrt(dot(d, d)), dot(d, d)});
    const double length = std::sqrt(dot(a, a)), scale = dot(a, b) / dot(b, b) * 2;
    for (const double x : a) want.push_back(x / length);
    want.insert(want.end(),
                {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]});
    for (int i = 0; i < 3; ++i) want.push_back(a[i] - scale * b[i]);
    for (int i = 0; i < 3; ++i) want.push_back(a[i] + (b[i] - a[i]) * 0.25);
    for (const double x : a) want.push_back(x / length);  // straight through
    want.insert(want.end(), {0, 0, 0});                   // total reflection
    for (const double x : a) {
        const double t = std::clamp(x / 4, 0.0, 1.0);
        want.push_back(t * t * (3 - 2 * t));
    }
    for (int i = 0; i < 3; ++i) want.push_back(a[i] < b[i] ? 0 : 1);
    for (const double x : a) want.push_back(x);  // dot(b, 1) is negative
    std::vector<float> out(want.size());
    const auto check = [&](const char* kernel, double digits) {
        program.run(kernel, 1, 1, {out.data()});
        for (size_t i = 0; i < want.size(); ++i)
            EXPECT_NEAR(out[i], want[i], std::ldexp(std::fabs(want[i]) + 1, -digits))
                << kernel << " " << i;
    };
    check("of_float", 22);
    check("of_half", 8);
    float packed[6] = {1, -2, 3, 4, 0.5, -6};
    program.run("of_packed", 1, 1, {packed, out.data()});
    EXPECT_FLOAT_EQ(out[0], std::sqrt(14.0f));
    EXPECT_EQ(out[1], -15);
    EXPECT_EQ(out[2], 8.5f);
    EXPECT_EQ(out[3], 0);
    EXPECT_EQ(out[4], 6);
}

TEST(StdlibPack, PackingRoundsAndUnpackingUndoesIt) {
    Program program(R"(#include <metal_stdlib>
using namespace metal;
// Every code of every format survives the way to float and back; ends and middles are what they say.
kernel void codes(device uint* wrong, uint i [[thread_position_in_grid]]) {
    uint c = i * 0x01010101u;
    wrong[0] += pack_float_to_unorm4x8(unpack_unorm4x8_to_float(c)) != c;
    wrong[1] += pack_half_to_unorm4x8(unpack_unorm4x8_to_half(c)) != c;
    wrong[2] += pack_float_to_snorm4x8(unpack_snorm4x8_to_float(c)) != (i == 128 ? 0x81818181u : c);
    wrong[3] += pack_half_to_snorm4x8(unpack_snorm4x8_to_half(c)) != (i == 128 ? 0x81818181u : c);
    wrong[4] += pack_float_to_srgb_unorm4x8(unpack_unorm4x8_srgb_to_float(c)) != c;
    for (uint low = i; low < 65536; low += 256) {
        uint pair = low | (65535 - low) << 16;
        wrong[5] += pack_float_to_unorm2x16(unpack_unorm2x16_to_float(pair)) != pair;
        uint back = pack_float_to_snorm2x16(unpack_snorm2x16_to_float(pair));
        wrong[6] += (short(back) != max(short(pair), short(-32767))) || (back >> 16 != max(pair >> 16 == 0x8000 ? 0x8001u : pair >> 16, 0u));
        wrong[7] += pack_float_to_unorm565(unpack_unorm565_to_float(ushort(low))) != low;
        wrong[8] += pack_half_to_unorm565(unpack_unorm565_to_half(ushort(low))) != low;
        uint ten = low * 65537u;
        wrong[9] += pack_float_to_unorm10a2(unpack_unorm10a2_to_float(ten)) != ten;
    }
}
kernel void values(device float* out, constant float& nan) {
    float4 u = unpack_unorm4x8_to_float(0xff800001u), s = unpack_snorm4x8_to_float(0x7f8081ffu);
    float4 ten = unpack_unorm10a2_to_float(3u << 30 | 1023u << 20 | 1u);
    float3 five = unpack_unorm565_to_float(31 | 1 << 11);
    float2 wide = unpack_snorm2x16_to_float(0x80007fffu);
    for (int i = 0; i < 4; i++) { out[i] = u[i]; out[4 + i] = s[i]; out[8 + i] = ten[i]; }
    for (int i = 0; i < 3; i++) out[12 + i] = five[i];
    out[15] = wide.x;
    out[16] = wide.y;
    out[17] = float(pack_float_to_unorm4x8(float4(-1, 2, nan, 0.5f / 255)));
    out[18] = float(pack_float_to_snorm4x8(float4(-2, 0, 0, 0)));
    out[19] = float(pack_half_to_unorm2x16(half2(1, 0)));
    out[20] = unpack_unorm4x8_srgb_to_float(0x80808080u).x;
    out[21] = unpack_unorm4x8_srgb_to_float(0x80808080u).w;
}
)",
                    unchecked());
    ASSERT_TRUE(program);
    uint32_t wrong[10] = {};
    program.run("codes", 256, 1, {wrong});
    for (int i = 0; i < 10; ++i) EXPECT_EQ(wrong[i], 0u) << i;
    float out[22] = {}, nan = NAN;
    program.run("values", 1, 1, {out, &nan});
    const double want[22] = {
        1 / 255.0, 0, 128 / 255.0, 1, -1 / 127.0, -1,     -1,   1,     1 / 1023.0, 0,          1, 1,
        1,         0, 1 / 31.0,    1, -1,         0xff00, 0x81, 65535, 0.2158605,  128 / 255.0};
    for (int i = 0; i < 22; ++i) EXPECT_NEAR(out[i], want[i], 1e-7 * (1 + want[i])) << i;
}

}  // namespace
}  // namespace softmetal::msl::test

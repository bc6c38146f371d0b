// SIMD-group and quad-group functions of the stand-in library: every lane's result against loops on
// the host, also where the last group has fewer lanes and where lanes have returned.
#include <functional>
#include <type_traits>

#include "softmetal/tests/msl/stdlib_support.h"

namespace softmetal::msl::test {
namespace {

// Threads in groups of `group`; thread i of a threadgroup takes part unless it has returned.
struct Shape {
    uint32_t threads, group;
    uint32_t returned;  // lanes whose bit is set return at once, in each SIMD group
};
const Shape kShapes[] = {
    {64, 64, 0},           {50, 50, 0},           {96, 33, 0},          {7, 7, 0},
    {64, 64, 0x80000001u}, {64, 32, 0x0000fff0u}, {70, 70, 0x55555555u}};

// The lanes of the SIMD group (or quad) that a thread is in.
struct Lanes {
    uint32_t first = 0, width = 32;  // global index of lane 0
    uint32_t present = 0;            // lanes that exist
    uint32_t active = 0;             // and have not returned
    uint32_t base = 0;               // lane 0's lane of 32
};
Lanes lanes_of(const Shape& shape, uint32_t thread, uint32_t width) {
    Lanes out;
    const uint32_t group_begin = thread / shape.group * shape.group;
    const uint32_t group_end = std::min(group_begin + shape.group, shape.threads);
    out.first = group_begin + (thread - group_begin) / width * width;
    out.width = width;
    out.base = (out.first - group_begin) % 32;
    for (uint32_t i = 0; i < width && out.first + i < group_end; ++i) {
        out.present |= 1u << i;
        const uint32_t lane = (out.first + i - group_begin) % 32;
        if (!(shape.returned >> lane & 1)) out.active |= 1u << i;
    }
    return out;
}
bool takes_part(const Shape& shape, uint32_t thread) {
    return !(shape.returned >> (thread % shape.group % 32) & 1);
}

// As the kernel's integers do, without overflow in C++'s sense.
template <class T>
T wrapping_sum(T a, T b) {
    if constexpr (std::is_integral_v<T>)
        __builtin_add_overflow(a, b, &a);
    else
        a = T(a + b);
    return a;
}
template <class T>
T wrapping_product(T a, T b) {
    if constexpr (std::is_integral_v<T>)
        __builtin_mul_overflow(a, b, &a);
    else
        a = T(a * b);
    return a;
}

// Runs `kernel` with a value of type T per thread and looks at each result.
template <class T>
using Verify = std::function<void(const Lanes&, uint32_t lane, const T* in, const T* out)>;

template <class T>
void check(Program& program, const std::string& kernel, uint32_t width, std::vector<T> in,
           size_t per_thread, const std::type_identity_t<Verify<T>>& verify) {
    for (const auto& shape : kShapes) {
        std::vector<T> out(shape.threads * per_thread);
        uint32_t returned = shape.returned;
        in.resize(std::max<size_t>(in.size(), shape.threads * per_thread));
        program.run(kernel, shape.threads, shape.group, {in.data(), out.data(), &returned});
        for (uint32_t i = 0; i < shape.threads; ++i) {
            if (!takes_part(shape, i)) continue;
            const auto lanes = lanes_of(shape, i, width);
            SCOPED_TRACE(kernel + ", thread " + std::to_string(i) + " of " +
                         std::to_string(shape.threads) + " in groups of " +
                         std::to_string(shape.group));
            verify(lanes, i - lanes.first, in.data() + lanes.first, out.data() + i * per_thread);
            if (testing::Test::HasFailure()) return;
        }
    }
}

const std::string kBegin = R"(#include <metal_stdlib>
using namespace metal;
#define KERNEL(name, T, R)                                                                        \
    kernel void name(device const T* in, device R* out, constant uint& returned,                  \
                     uint i [[thread_position_in_grid]],                                          \
                     uint lane [[thread_index_in_simdgroup]])
#define RETURNED if (returned >> lane & 1) return;
)";

template <class T>
std::vector<T> numbers(uint32_t seed) {
    std::mt19937_64 random(seed);
    std::vector<T> out(128);
    for (auto& x : out) {
        if constexpr (std::is_floating_point_v<T>)
            x = static_cast<T>(static_cast<int>(random() % 2001) - 1000) / 8;
        else
            x = static_cast<T>(random());
    }
    return out;
}

// The order of the library: a butterfly over lanes 16, 8, 4, 2 and 1 apart, missing lanes neutral.
template <class T>
T tree(const Lanes& lanes, const T* in, T neutral, const std::function<T(T, T)>& op) {
    std::vector<T> v(lanes.width, neutral);
    for (uint32_t i = 0; i < lanes.width; ++i)
        if (lanes.active >> i & 1) v[i] = in[i];
    for (uint32_t half = lanes.width / 2; half > 0; half /= 2)
        for (uint32_t i = 0; i < half; ++i) v[i] = op(v[i], v[i + half]);
    return v[0];
}

template <class T>
void check_reductions(const std::string& type) {
    constexpr bool kFloat = std::is_floating_point_v<T>;
    std::string body;
    for (const std::string group : {"simd", "quad"}) {
        body +=
            "KERNEL(" + group + "_reduce, " + type + ", " + type + ") { RETURNED out += 7 * i;\n";
        for (const std::string op : {"sum", "product", "min", "max", "and", "or", "xor"}) {
            const bool bitwise = op == "and" || op == "or" || op == "xor";
            body += "    *out++ = " +
                    (kFloat && bitwise ? std::string("0") : group + "_" + op + "(in[i])") + ";\n";
        }
        body += "}\n";
    }
    Program program(kBegin + body, unchecked());
    ASSERT_TRUE(program);
    for (const uint32_t width : {32u, 4u}) {
        check<T>(
            program, width == 32 ? "simd_reduce" : "quad_reduce", width, numbers<T>(11), 7,
            [](const Lanes& lanes, uint32_t, const T* in, const T* out) {
                using Limits = std::numeric_limits<T>;
                EXPECT_EQ(out[0], tree<T>(lanes, in, 0, wrapping_sum<T>));
                EXPECT_EQ(out[1], tree<T>(lanes, in, 1, wrapping_product<T>));
                EXPECT_EQ(out[2], tree<T>(lanes, in, kFloat ? Limits::infinity() : Limits::max(),
                                          [](T a, T b) { return std::min(a, b); }));
                EXPECT_EQ(out[3],
                          tree<T>(lanes, in, kFloat ? -Limits::infinity() : Limits::lowest(),
                                  [](T a, T b) { return std::max(a, b); }));
                if constexpr (!kFloat) {
                    EXPECT_EQ(out[4],
                              tree<T>(lanes, in, T(~T(0)), [](T a, T b) { return T(a & b); }));
                    EXPECT_EQ(out[5], tree<T>(lanes, in, 0, [](T a, T b) { return T(a | b); }));
                    EXPECT_EQ(out[6], tree<T>(lanes, in, 0, [](T a, T b) { return T(a ^ b); }));
                }
            });
    }
}

TEST(StdlibSimd, ReductionsOfEveryTypeFollowOneOrder) {
    check_reductions<int8_t>("char");
    check_reductions<uint16_t>("ushort");
    check_reductions<int32_t>("int");
    check_reductions<uint64_t>("ulong");
    check_reductions<float>("float");
}

TEST(StdlibSimd, ReductionsOfVectorsAndSmallFloatsRoundOnce) {
    Program program(kBegin + R"(
KERNEL(vectors, float, float) {
    RETURNED
    float4 v = float4(in[i], -in[i], in[i] * 2, 1);
    float4 sum = simd_sum(v), most = quad_max(v);
    half3 h = simd_sum(half3(v.xyz / 16));
    bfloat b = simd_sum(bfloat(in[i]));
    int2 scan = simd_prefix_inclusive_sum(int2(int(in[i]), 1));
    out += 12 * i;
    for (int k = 0; k < 4; k++) { out[k] = sum[k]; out[4 + k] = most[k]; }
    out[8] = h.z;
    out[9] = b;
    out[10] = scan.x;
    out[11] = scan.y;
}
)",
                    unchecked());
    ASSERT_TRUE(program);
    check<float>(program, "vectors", 32, numbers<float>(4), 12,
                 [](const Lanes& lanes, uint32_t lane, const float* in, const float* out) {
                     double sum = 0, halves = 0, bfloats = 0;
                     float most = -INFINITY, least = INFINITY;
                     int scan = 0, count = 0, total = 0;
                     for (uint32_t i = 0; i < 32; ++i) {
                         if (!(lanes.active >> i & 1)) continue;
                         sum += in[i];
                         ++total;
                         halves += static_cast<_Float16>(in[i] * 2 / 16);
                         // All inputs are bfloats up to a tie, which rounds to even.
                         const uint32_t bits = std::bit_cast<uint32_t>(in[i]);
                         bfloats += as_float((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u);
                         if (i / 4 == lane / 4) {
                             most = std::max(most, in[i]);
                             least = std::min(least, in[i]);
                         }
                         if (i <= lane) {
                             scan += static_cast<int>(in[i]);
                             ++count;
                         }
                     }
                     EXPECT_EQ(out[0], sum);  // eighths up to 1000: exact
                     EXPECT_EQ(out[1], -sum);
                     EXPECT_EQ(out[2], 2 * sum);
                     EXPECT_EQ(out[3], total);
                     EXPECT_EQ(out[4], most);
                     EXPECT_EQ(out[5], -least);
                     EXPECT_EQ(out[6], 2 * most);
                     EXPECT_EQ(out[7], 1);
                     EXPECT_EQ(out[8], static_cast<float>(
                                           static_cast<_Float16>(static_cast<float>(halves))));
                     EXPECT_NEAR(out[9], bfloats, std::fabs(bfloats) / 256);
                     EXPECT_EQ(out[10], scan);
                     EXPECT_EQ(out[11], count);
                 });
}

TEST(StdlibSimd, PrefixSumsLeaveOutLanesThatReturned) {
    Program program(kBegin + R"(
KERNEL(prefix, int, int) {
    RETURNED
    out += 8 * i;
    *out++ = simd_prefix_inclusive_sum(in[i]);
    *out++ = simd_prefix_exclusive_sum(in[i]);
    *out++ = simd_prefix_inclusive_product(in[i]);
    *out++ = simd_prefix_exclusive_product(in[i]);
    *out++ = quad_prefix_inclusive_sum(in[i]);
    *out++ = quad_prefix_exclusive_sum(in[i]);
    *out++ = quad_prefix_inclusive_product(in[i]);
    *out++ = quad_prefix_exclusive_product(in[i]);
}
)",
                    unchecked());
    ASSERT_TRUE(program);
    check<int32_t>(program, "prefix", 32, numbers<int32_t>(2), 8,
                   [](const Lanes& lanes, uint32_t lane, const int32_t* in, const int32_t* out) {
                       uint32_t sum = 0, product = 1, quad_sum = 0, quad_product = 1;
                       for (uint32_t i = 0; i < lane; ++i) {
                           if (!(lanes.active >> i & 1)) continue;
                           const auto x = static_cast<uint32_t>(in[i]);
                           sum += x;
                           product *= x;
                           if (i / 4 == lane / 4) {
                               quad_sum += x;
                               quad_product *= x;
                           }
                       }
                       const auto x = static_cast<uint32_t>(in[lane]);
                       const uint32_t want[] = {sum + x,          sum,          product * x,
                                                product,          quad_sum + x, quad_sum,
                                                quad_product * x, quad_product};
                       for (int k = 0; k < 8; ++k)
                           EXPECT_EQ(static_cast<uint32_t>(out[k]), want[k]) << k;
                   });
}

// Each movement as a function from a lane to the lane it reads; where that one is missing, zero.
TEST(StdlibSimd, MovementsReadTheLaneTheyName) {
    std::string body;
    const char* const kMoves[] = {"shuffle(x, ushort(31 - lane) % W)",
                                  "shuffle_xor(x, 5 % W)",
                                  "shuffle_up(x, 2)",
                                  "shuffle_down(x, 3)",
                                  "shuffle_rotate_up(x, 1)",
                                  "shuffle_rotate_down(x, 2)",
                                  "broadcast(x, 2)",
                                  "broadcast_first(x)",
                                  "shuffle_and_fill_up(x, y, 2)",
                                  "shuffle_and_fill_down(x, y, 1)",
                                  "shuffle_and_fill_up(x, y, 1, 2)",
                                  "shuffle_and_fill_down(x, y, 3, 4)"};
    for (const std::string type : {"uint", "half4", "packed_char3", "long2", "bool", "bfloat"}) {
        for (const std::string group : {"simd", "quad"}) {
            body += "#undef W\n#define W " + std::string(group == "simd" ? "32" : "4") + "\n";
            body +=
                "KERNEL(move_" + group + "_" + type + ", uint, uint) { RETURNED out += 12 * i;\n";
            // Values that fit every type and tell lanes apart; bools only tell even from odd.
            body += "    auto x = (" + type + ")(" + (type == "bool" ? "lane & 1" : "lane + 1") +
                    "), y = (" + type + ")(" + (type == "bool" ? "!(lane & 1)" : "lane + 65") +
                    ");\n";
            for (const char* move : kMoves) {
                const bool is_vector = type.back() >= '2' && type.back() <= '4';
                body +=
                    "    *out++ = uint(" + group + "_" + move + (is_vector ? "[1]" : "") + ");\n";
            }
            body += "}\n";
        }
    }
    Program program(kBegin + body, unchecked());
    ASSERT_TRUE(program);
    for (const std::string type : {"uint", "half4", "packed_char3", "long2", "bool", "bfloat"}) {
        for (const uint32_t width : {32u, 4u}) {
            check<uint32_t>(
                program, (width == 32 ? "move_simd_" : "move_quad_") + type, width, {}, 12,
                [&](const Lanes& lanes, uint32_t lane, const uint32_t*, const uint32_t* out) {
                    const int w = static_cast<int>(width), l = static_cast<int>(lane);
                    // The lane read, and whether its filling is.
                    struct Read {
                        int lane;
                        bool filling = false;
                    };
                    const Read reads[12] = {
                        {0},
                        {l ^ 5 % w},
                        {l >= 2 ? l - 2 : l},
                        {l + 3 < w ? l + 3 : l},
                        {(l + w - 1) % w},
                        {(l + 2) % w},
                        {2},
                        {std::countr_zero(lanes.active)},
                        {(l + w - 2) % w, l < 2},
                        {(l + 1) % w, l + 1 >= w},
                        {l / 2 * 2 + (l % 2 + 1) % 2, l % 2 < 1},
                        {l / 4 * 4 + (l % 4 + 3) % 4, l % 4 + 3 >= 4},
                    };
                    for (int k = 0; k < 12; ++k) {
                        int from = reads[k].lane;
                        // The first is written in terms of the lane of 32.
                        const uint32_t base = lanes.base;
                        if (k == 0) from = static_cast<int>((31 - (base + lane)) % width);
                        if (!(lanes.active >> from & 1)) {
                            EXPECT_EQ(out[k], 0u) << type << " movement " << k;
                            continue;
                        }
                        const uint32_t number = base + static_cast<uint32_t>(from);
                        const uint32_t want = type == "bool"
                                                  ? (number & 1) ^ (reads[k].filling ? 1 : 0)
                                                  : number + (reads[k].filling ? 65 : 1);
                        EXPECT_EQ(out[k], want) << type << " movement " << k;
                    }
                });
        }
    }
}

TEST(StdlibSimd, VotesCountOnlyLanesThatAreActive) {
    Program program(kBegin + R"(
KERNEL(votes, uint, uint) {
    RETURNED
    bool vote = in[i] % 3 != 0;
    out += 14 * i;
    *out++ = uint(ulong(simd_ballot(vote)));
    *out++ = uint(ulong(simd_active_threads_mask()));
    *out++ = simd_any(vote) | simd_all(vote) << 1 | simd_any(false) << 2 | simd_all(true) << 3;
    *out++ = simd_is_first() | simd_is_helper_thread() << 1;
    *out++ = uint(quad_vote::vote_t(quad_ballot(vote)));
    *out++ = uint(ulong(quad_active_threads_mask()));
    *out++ = quad_any(vote) | quad_all(vote) << 1 | quad_any(false) << 2 | quad_all(true) << 3;
    *out++ = quad_is_first() | quad_is_helper_thread() << 1;
    *out++ = simd_vote(~0ul).all() | simd_ballot(vote).any() << 1 | simd_vote(0).any() << 2;
    *out++ = simd_active_threads_mask().all() | quad_active_threads_mask().all() << 1;
}
)",
                    unchecked());
    ASSERT_TRUE(program);
    check<uint32_t>(program, "votes", 32, numbers<uint32_t>(9), 14,
                    [](const Lanes& lanes, uint32_t lane, const uint32_t* in, const uint32_t* out) {
                        uint32_t ballot = 0;
                        for (uint32_t i = 0; i < 32; ++i)
                            if ((lanes.active >> i & 1) && in[i] % 3 != 0) ballot |= 1u << i;
                        const uint32_t shift = lane & 28, quad = ballot >> shift & 15,
                                       quad_active = lanes.active >> shift & 15;
                        EXPECT_EQ(out[0], ballot);
                        EXPECT_EQ(out[1], lanes.active);
                        EXPECT_EQ(out[2], (ballot != 0) | (ballot == lanes.active) << 1 | 8u);
                        EXPECT_EQ(out[3], uint32_t(std::countr_zero(lanes.active)) == lane);
                        EXPECT_EQ(out[4], quad);
                        EXPECT_EQ(out[5], quad_active);
                        EXPECT_EQ(out[6], (quad != 0) | (quad == quad_active) << 1 | 8u);
                        EXPECT_EQ(out[7], uint32_t(std::countr_zero(quad_active)) == lane % 4);
                        EXPECT_EQ(out[8], 1u | (ballot != 0) << 1);
                        EXPECT_EQ(out[9], (lanes.active == lanes.present) |
                                              (quad_active == (lanes.present >> shift & 15)) << 1);
                    });
}

TEST(StdlibSimd, InternalNamesAndCallsInTemplatesReachTheSameFunctions) {
    Program program(kBegin + R"(
template <typename T> T twice(T x) { return simd_sum(x) + simd_sum(x * T(2)); }
KERNEL(internals, float, float) {
    RETURNED
    out += 8 * i;
    *out++ = twice(in[i]) == 3 * simd_sum(in[i]);
    *out++ = __metal_simd_sum(in[i]) == simd_sum(in[i]);
    *out++ = __metal_simd_shuffle_xor(in[i], 1) == simd_shuffle_xor(in[i], 1);
    *out++ = __metal_get_thread_index_in_simdgroup(ushort()) == lane;
    *out++ = __metal_get_simdgroup_size(ushort()) == 32;
    *out++ = __metal_exp(1.0f, __METAL_FAST_MATH__) == exp(1.0f) && fast::exp(1.0f) == precise::exp(1.0f);
    int k;
    *out++ = __metal_frexp(8.0f, &k) == 0.5f && k == 4;
    *out++ = __metal_simd_shuffle_and_fill_up(in[i], 1.0f, 3, 8) == simd_shuffle_and_fill_up(in[i], 1.0f, 3, 8);
}
)",
                    unchecked());
    ASSERT_TRUE(program);
    check<float>(program, "internals", 32, numbers<float>(1), 8,
                 [](const Lanes&, uint32_t, const float*, const float* out) {
                     for (int k = 0; k < 8; ++k) EXPECT_EQ(out[k], 1) << k;
                 });
}

TEST(StdlibSimd, BarriersInEverySpellingOrderThreadgroupMemory) {
    Program program(R"(#include <metal_stdlib>
using namespace metal;
kernel void turn(device uint* out, uint i [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
    threadgroup uint shared[128];
    threadgroup uint other[128];
    shared[i] = i;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    other[i] = shared[n - 1 - i];
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    shared[i] = other[(i + 1) % n];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    threadgroup_barrier(mem_flags::mem_none);
    out[i] = shared[n - 1 - i];
}
)",
                    unchecked());
    ASSERT_TRUE(program);
    for (const uint32_t n : {128u, 45u, 1u}) {
        std::vector<uint32_t> out(n);
        program.run("turn", n, n, {out.data()});
        for (uint32_t i = 0; i < n; ++i) EXPECT_EQ(out[i], n - 1 - (n - 1 - i + 1) % n) << i;
    }
}

}  // namespace
}  // namespace softmetal::msl::test

// Atomics and os_log of the stand-in library.
#include <mutex>

#include "softmetal/tests/msl/stdlib_support.h"

namespace softmetal::msl::test {
namespace {

// Runs on several workers, so that operations really meet.
exec::Counters run_on(int workers, const Program& program, const std::string& kernel,
                      uint32_t threads, const std::vector<void*>& buffers,
                      std::vector<std::string>* log = nullptr) {
    exec::Executor executor(workers);
    exec::Launch launch;
    launch.module = program.shared();
    launch.kernel = launch.module->find(kernel);
    launch.threads = {threads, 1, 1};
    launch.threads_per_threadgroup = {64, 1, 1};
    for (size_t i = 0; i < buffers.size(); ++i) launch.buffers[i] = buffers[i];
    std::mutex mutex;
    if (log) {
        launch.log = [&](const exec::LogMessage& message) {
            const std::lock_guard lock(mutex);
            log->emplace_back(message.text);
        };
    }
    const auto done = executor.run(launch);
    if (!done) ADD_FAILURE() << done.error();
    return done ? *done : exec::Counters{};
}

TEST(StdlibAtomic, OperationsOfEveryTypeMeetWithoutLosses) {
    Program program(R"(#include <metal_stdlib>
#include <metal_atomic>
using namespace metal;
struct All {
    atomic_uint add, sub, low, high, all, some, odd;
    atomic_int signed_add, signed_low, signed_high;
    atomic_float sum, least, most;
    atomic<ulong> wide, wide_low, wide_high;
    atomic_bool flag;
};
kernel void meet(volatile device All* v, device All* w, device uint* seen, uint i [[thread_position_in_grid]]) {
    const auto relaxed = memory_order_relaxed;
    uint ticket = atomic_fetch_add_explicit(&v->add, 1u, relaxed);
    seen[ticket] += 1;
    atomic_fetch_sub_explicit(&w->sub, 3, relaxed);
    atomic_fetch_min_explicit(&v->low, 5000u - i, relaxed);
    atomic_fetch_max_explicit(&w->high, i * 2, relaxed);
    atomic_fetch_and_explicit(&v->all, ~(1u << i % 32), relaxed);
    atomic_fetch_or_explicit(&w->some, 1u << i % 7, relaxed);
    atomic_fetch_xor_explicit(&v->odd, i, relaxed);
    atomic_fetch_add_explicit(&w->signed_add, -2, relaxed);
    atomic_fetch_min_explicit(&v->signed_low, int(i) - 3000, relaxed);
    atomic_fetch_max_explicit(&w->signed_high, -int(i), relaxed);
    atomic_fetch_add_explicit(&v->sum, 0.5f, relaxed);
    atomic_fetch_min_explicit(&w->least, -float(i), relaxed);
    atomic_fetch_max_explicit(&v->most, float(i), relaxed);
    ulong expected = atomic_load_explicit(&w->wide, relaxed);
    while (!atomic_compare_exchange_weak_explicit(&w->wide, &expected, expected + (1ul << 33), relaxed, relaxed)) {}
    atomic_min_explicit(&w->wide_low, ulong(i) << 40, relaxed);
    atomic_max_explicit(&w->wide_high, ulong(i) << 40, relaxed);
    if (atomic_exchange_explicit(&w->flag, true, relaxed)) atomic_store_explicit(&v->flag, true, relaxed);
    atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
}
)",
                    unchecked());
    ASSERT_TRUE(program);
    struct All {
        uint32_t add = 0, sub = 0, low = ~0u, high = 0, all = ~0u, some = 0, odd = 0;
        int32_t signed_add = 0, signed_low = 0, signed_high = -5000;
        float sum = 0, least = 0, most = 0;
        uint64_t wide = 0, wide_low = ~0ull, wide_high = 0;
        uint8_t flag = 0;
    } v;
    constexpr uint32_t kThreads = 4096;
    std::vector<uint32_t> seen(kThreads);
    run_on(4, program, "meet", kThreads, {&v, &v, seen.data()});
    EXPECT_EQ(v.add, kThreads);
    for (const uint32_t s : seen) ASSERT_EQ(s, 1u);
    EXPECT_EQ(v.sub, 0u - 3 * kThreads);
    EXPECT_EQ(v.low, 5000 - (kThreads - 1));
    EXPECT_EQ(v.high, 2 * (kThreads - 1));
    EXPECT_EQ(v.all, 0u);
    EXPECT_EQ(v.some, 127u);
    EXPECT_EQ(v.odd, 0u);
    EXPECT_EQ(v.signed_add, -2 * int(kThreads));
    EXPECT_EQ(v.signed_low, -3000);
    EXPECT_EQ(v.signed_high, 0);
    EXPECT_EQ(v.sum, kThreads / 2.0f);
    EXPECT_EQ(v.least, -float(kThreads - 1));
    EXPECT_EQ(v.most, float(kThreads - 1));
    EXPECT_EQ(v.wide, uint64_t(kThreads) << 33);
    EXPECT_EQ(v.wide_low, 0u);
    EXPECT_EQ(v.wide_high, uint64_t(kThreads - 1) << 40);
    EXPECT_EQ(v.flag, 1);
}

TEST(StdlibAtomic, ThreadgroupAtomicsAndComparisonsByBits) {
    Program program(R"(#include <metal_stdlib>
using namespace metal;
kernel void local(device uint* out, constant float& nan, uint i [[thread_index_in_threadgroup]]) {
    threadgroup atomic_uint count;
    threadgroup atomic_float value;
    if (i == 0) {
        atomic_store_explicit(&count, 0, memory_order_relaxed);
        atomic_store_explicit(&value, nan, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&count, i, memory_order_relaxed);
    float expected = nan;
    bool first = atomic_compare_exchange_weak_explicit(&value, &expected, 1.0f, memory_order_relaxed,
                                                       memory_order_relaxed);
    out[1 + i] = first;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i == 0) out[0] = atomic_load_explicit(&count, memory_order_relaxed);
}
)",
                    unchecked());
    ASSERT_TRUE(program);
    uint32_t out[65] = {};
    float nan = NAN;
    program.run("local", 64, 64, {out, &nan});
    EXPECT_EQ(out[0], 63u * 32);
    uint32_t firsts = 0;
    for (int i = 0; i < 64; ++i) firsts += out[1 + i];
    EXPECT_EQ(firsts, 1u) << "a NaN in memory equals the same NaN";
}

TEST(StdlibLog, FormatsAreThoseOfPrintf) {
    struct Case {
        const char *format, *arguments;
        std::string want;
    };
    const auto printed = []<class... A>(const char* format, A... a) {
        char text[256];
        std::snprintf(text, sizeof text, format, a...);
        return std::string(text);
    };
    const std::vector<Case> cases = {
        {"plain 100%%", "", "plain 100%"},
        {"%d %i %u", "-5, 7, 4000000000u", "-5 7 4000000000"},
        {"%x %X %#x %o", "255u, 48879u, 255u, 8u", "ff BEEF 0xff 10"},
        {"[%5d|%-5d|%05d|%+d|% d]", "42, 42, 42, 42, 42", "[   42|42   |00042|+42| 42]"},
        {"[%.3d|%*d|%-*d]", "7, 4, 5, 3, 6", "[007|   5|6  ]"},
        {"%ld %lu %hd %llx", "-3000000000l, 18446744073709551615ul, short(-7), 1ul << 40",
         "-3000000000 18446744073709551615 -7 10000000000"},
        {"%s and %.2s and %6s|", "\"text\", \"cut\", \"pad\"", "text and cu and    pad|"},
        {"%c%c", "'o', 'k'", "ok"},
        {"%f %f %f", "1.5f, -0.1f, 123456.789f", printed("%f %f %f", 1.5f, -0.1f, 123456.789f)},
        {"%.2f %.0f %.0f %.0f", "2.675f, 0.5f, 1.5f, 2.5f",
         printed("%.2f %.0f %.0f %.0f", 2.675f, 0.5f, 1.5f, 2.5f)},
        {"%f %.10f", "3.40282347e38f, 1e-10f", printed("%f %.10f", 3.40282347e38f, 1e-10f)},
        {"%e %.3e %E", "1234.5f, 9.9996e-20f, 1e-45f",
         printed("%e %.3e %E", 1234.5f, 9.9996e-20f, 1e-45f)},
        {"%g %g %g %g %g", "0.0001f, 1e-5f, 1e6f, 100000.0f, 0.1f",
         printed("%g %g %g %g %g", 0.0001f, 1e-5f, 1e6f, 100000.0f, 0.1f)},
        {"%g %g %G", "-0.0f, 0.0f, 3e30f", "-0 0 3E+30"},
        {"%f %F %5.1f|", "INFINITY, -INFINITY, 2.25f", "inf -INF   2.2|"},
        {"%8.3f|%-8.3f|%08.3f|%+.1f", "3.14159f, 3.14159f, -3.14159f, 1.0f",
         "   3.142|3.142   |-003.142|+1.0"},
        {"%v3f %v2d", "float3(1, 2, 3), int2(-1, 5)", "1.000000,2.000000,3.000000 -1,5"},
        {"%f %d", "half(0.5f), bool(true)", "0.500000 1"},
        {"%f", "bfloat(1.25f)", "1.250000"},
        {"%y %d", "1", "%y 1"},
        {"%d %d", "1", "1 %d"},
        {"%{public}s", "\"shown\"", "shown"},
        {"%p", "(device float*)nullptr", "0x0"},
    };
    std::string body =
        "#include <metal_stdlib>\n#include <metal_logging>\nusing namespace metal;\n"
        "constant os_log named(\"sub\", \"cat\");\nkernel void say(device float* unused) {\n";
    for (const auto& c : cases) {
        std::string format;
        for (const char* at = c.format; *at; ++at) format += *at;
        body += "    os_log_default.log(\"" + format + "\"" + (*c.arguments ? ", " : "") +
                c.arguments + ");\n";
    }
    body += "    named.log_error(\"%d\", 3);\n}\n";
    Program program(body, unchecked());
    ASSERT_TRUE(program);
    std::vector<std::string> log;
    run_on(1, program, "say", 1, {nullptr}, &log);
    ASSERT_EQ(log.size(), cases.size() + 1);
    for (size_t i = 0; i < cases.size(); ++i) EXPECT_EQ(log[i], cases[i].want) << cases[i].format;
    EXPECT_EQ(log.back(), "3");
}

}  // namespace
}  // namespace softmetal::msl::test

// Accesses that leave their buffers, and counts of those that do not.
#include <algorithm>

#include "support.h"

namespace softmetal::exec {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Memory : public ::testing::Test {
  protected:
    // Buffers of floats, `out` and `in` beside each other with room around them.
    Launch launch_with(const char* kernel, uint32_t threads, size_t out_bytes, size_t in_bytes) {
        auto launch = launch_of(module, kernel, threads, 32, {out, in, &at});
        ranges = {{.begin = out, .bytes = out_bytes, .label = "output"},
                  {.begin = in, .bytes = in_bytes},
                  {.begin = &at, .bytes = sizeof at}};
        launch.memory = ranges;
        launch.checks = Checks::Bounds;
        launch.threadgroup_bytes[1] = 16;
        return launch;
    }
    // A kernel whose argument 1 is the index.
    Launch launch_at(const char* kernel) {
        auto launch = launch_with(kernel, 1, 64, 64);
        launch.buffers[1] = &at;
        return launch;
    }

    std::shared_ptr<const Module> module = load_module("memory");
    std::vector<MemoryRange> ranges;
    alignas(64) float all[512] = {};
    float* out = all + 64;
    float* in = all + 160;
    int64_t at[2] = {};
};

TEST_F(Memory, AllOfABufferMayBeUsed) {
    std::fill(in, in + 64, 3.f);
    EXPECT_EQ(error_of(launch_with("copy", 64, 256, 256)), "");
    EXPECT_EQ(out[63], 3.f);
}

TEST_F(Memory, ReadsPastTheEndAreReported) {
    EXPECT_THAT(error_of(launch_with("copy", 64, 256, 252)),
                AllOf(StartsWith(place("memory", "the read")), HasSubstr("kernel 'copy'"),
                      HasSubstr("reads 4 bytes at offset 252 of buffer (argument 'in' at index "
                                "1), which has 252"),
                      HasSubstr("thread (31, 0, 0)"), HasSubstr("threadgroup (1, 0, 0)")));
}

TEST_F(Memory, WritesPastTheEndAreReportedAndNotMade) {
    std::fill(in, in + 64, 3.f);
    EXPECT_THAT(error_of(launch_with("copy", 64, 254, 256)),
                AllOf(StartsWith(place("memory", "the write")),
                      HasSubstr("writes 4 bytes at offset 252 of buffer 'output' (argument "
                                "'out' at index 0), which has 254")));
    EXPECT_EQ(out[62], 3.f);
    EXPECT_EQ(out[63], 0.f);
}

TEST_F(Memory, ReadsBeforeTheBeginningAreReported) {
    at[0] = -1;
    EXPECT_THAT(error_of(launch_with("read_at", 1, 4, 256)),
                HasSubstr("reads 4 bytes at offset -4 of buffer (argument 'in'"));
}

TEST_F(Memory, AnotherBufferIsNoExcuse) {
    at[0] = out - in;  // lies in the other buffer
    EXPECT_THAT(error_of(launch_with("read_at", 1, 256, 256)),
                HasSubstr("reads 4 bytes at offset -384 of buffer (argument 'in'"));
}

TEST_F(Memory, BuffersMayTouchAndOverlap) {
    auto launch = launch_with("copy", 64, 256, 256);
    ranges.push_back({.begin = out + 8, .bytes = 40 * 4, .label = "view"});
    ranges.push_back({.begin = all, .bytes = sizeof all, .label = "everything"});
    launch.memory = ranges;
    EXPECT_EQ(error_of(launch), "");
    launch.buffers[0] = out + 8;  // past the view, inside of what it is a view of
    EXPECT_EQ(error_of(launch), "");
}

TEST_F(Memory, APointerToTheEndMayBeUsedBackwards) {
    at[0] = 16;
    for (int i = 0; i < 16; ++i) in[i] = static_cast<float>(i);
    EXPECT_EQ(error_of(launch_with("read_back", 1, 64, 64)), "");
    EXPECT_EQ(out[0], 15.f);
    EXPECT_EQ(out[15], 0.f);
    // Also when another buffer begins there.
    auto launch = launch_with("read_back", 1, 64, 64);
    ranges.push_back({.begin = in + 16, .bytes = 64});
    launch.memory = ranges;
    EXPECT_EQ(error_of(launch), "");
}

TEST_F(Memory, WhatIsNotBoundIsNamed) {
    auto launch = launch_with("copy", 1, 256, 256);
    launch.buffers[1] = nullptr;
    EXPECT_THAT(error_of(launch), AllOf(StartsWith(place("memory", "the read")),
                                        HasSubstr("reads 4 bytes at address 0x0"),
                                        HasSubstr("nothing is bound to argument 'in' at index 1")));
}

TEST_F(Memory, ThatWasFreedBelongsToNobody) {
    auto launch = launch_with("copy", 1, 256, 256);
    ranges.erase(ranges.begin() + 1, ranges.end());
    launch.memory = ranges;
    EXPECT_THAT(error_of(launch), HasSubstr("reads 4 bytes at offset 384 of buffer 'output'"));
    launch.memory = {};
    EXPECT_THAT(error_of(launch), HasSubstr("which belongs to no buffer"));
}

TEST_F(Memory, ThreadgroupVariablesHaveBounds) {
    EXPECT_EQ(error_of(launch_at("share")), "");
    at[0] = 63;
    at[1] = 3;
    EXPECT_EQ(error_of(launch_at("share")), "");
    EXPECT_EQ(reinterpret_cast<uint32_t&>(out[0]), 3u);
    at[0] = 64;
    EXPECT_THAT(error_of(launch_at("share")),
                AllOf(StartsWith(place("memory", "the variable")),
                      HasSubstr("writes 4 bytes at offset 256 of threadgroup memory 'scratch', "
                                "which has 256")));
    at[0] = 0;
    at[1] = 4;
    EXPECT_THAT(error_of(launch_at("share")),
                AllOf(StartsWith(place("memory", "the binding")),
                      HasSubstr("writes 4 bytes at offset 16 of threadgroup memory 'bound', "
                                "which has 16")));
}

TEST_F(Memory, ConstantsOfTheLibraryMayNotBeWritten) {
    EXPECT_THAT(
        error_of(launch_at("write_table")),
        AllOf(StartsWith(place("memory", "the table")), HasSubstr("writes 4 bytes at offset"),
              HasSubstr("of the constants of the library, which may only be read")));
}

TEST_F(Memory, ReadOnlyRangesMayNotBeWritten) {
    auto launch = launch_with("copy", 1, 256, 256);
    ranges[1].read_only = true;
    EXPECT_EQ(error_of(launch), "");
    ranges[0].read_only = true;
    EXPECT_THAT(error_of(launch), HasSubstr("of buffer 'output' (argument 'out' at index 0), "
                                            "which may only be read"));
}

TEST_F(Memory, VectorsAndAtomicsMustBeAligned) {
    EXPECT_EQ(error_of(launch_with("read_vector", 1, 64, 64)), "");
    at[0] = 8;
    EXPECT_THAT(error_of(launch_with("read_vector", 1, 64, 64)),
                AllOf(StartsWith(place("memory", "the vector")),
                      HasSubstr("at offset 8 of buffer (argument 'in' at index 1), which is not a "
                                "multiple of 16 in memory")));
    at[0] = 4;
    EXPECT_EQ(error_of(launch_at("count")), "");
    at[0] = 6;
    EXPECT_THAT(error_of(launch_at("count")),
                AllOf(HasSubstr("atomically changes 4 bytes at offset 6"),
                      HasSubstr("not a multiple of 4")));
}

TEST_F(Memory, FillsAreWatchedWhole) {
    at[0] = 64;
    EXPECT_EQ(error_of(launch_at("fill")), "");
    at[0] = 65;
    EXPECT_THAT(error_of(launch_at("fill")),
                HasSubstr("writes 65 bytes at offset 0 of buffer 'output' (argument 'out' at "
                          "index 0), which has 64"));
}

TEST_F(Memory, IsNotWatchedWithoutChecks) {
    auto launch = launch_with("copy", 64, 4, 4);
    launch.checks = Checks::Off;
    EXPECT_EQ(error_of(launch), "");
}

TEST_F(Memory, AnErrorInOneThreadgroupEndsTheGrid) {
    auto executor = Executor(2);
    for (int i = 0; i < 50; ++i) {
        EXPECT_FALSE(executor.run(launch_with("copy", 64, 252, 256)));
        EXPECT_TRUE(executor.run(launch_with("copy", 64, 256, 256)));
    }
}

class MemoryCounters : public Memory {
  protected:
    Counters counters_of(const Launch& launch, int workers = 1) {
        const auto counters = run(launch, workers);
        EXPECT_TRUE(counters) << counters.error();
        return counters ? *counters : Counters{};
    }
};

TEST_F(MemoryCounters, StayZeroUnlessAsked) {
    const auto counters = counters_of(launch_with("sum_twice", 64, 8, 256));
    EXPECT_EQ(counters.read_bytes, 0u);
    EXPECT_EQ(counters.barriers, 2u);
}

TEST_F(MemoryCounters, TellTotalFromDistinct) {
    for (const int workers : {1, 3}) {
        auto launch = launch_with("sum_twice", 64, 8, 256);
        launch.count_memory = true;
        const auto counters = counters_of(launch, workers);
        EXPECT_EQ(counters.read_bytes, 64u * 4 * 2);
        EXPECT_EQ(counters.read_distinct_bytes, 64u * 4);
        EXPECT_EQ(counters.read_distinct_in_simdgroup_bytes, 64u * 4);
        EXPECT_EQ(counters.written_bytes, 2u * 4);
        EXPECT_EQ(counters.written_distinct_bytes, 2u * 4);
        EXPECT_EQ(counters.written_distinct_in_simdgroup_bytes, 2u * 4);
    }
}

TEST_F(MemoryCounters, CountWhatEverySimdgroupReadsAgain) {
    auto launch = launch_with("read_same", 96, 4, 16);
    launch.threads_per_threadgroup = {.x = 64};
    launch.count_memory = true;
    const auto counters = counters_of(launch);
    EXPECT_EQ(counters.read_bytes, 96u * 8);  // the two numbers that are used
    EXPECT_EQ(counters.read_distinct_bytes, 8u);
    EXPECT_EQ(counters.read_distinct_in_simdgroup_bytes, 3u * 8);
    EXPECT_EQ(counters.written_bytes, 96u * 4);
    EXPECT_EQ(counters.written_distinct_bytes, 4u);
    EXPECT_EQ(counters.written_distinct_in_simdgroup_bytes, 3u * 4);
}

TEST_F(MemoryCounters, CountOverlappingBuffersOnce) {
    auto launch = launch_with("copy", 64, 256, 256);
    ranges.push_back({.begin = out + 8, .bytes = 256});
    launch.memory = ranges;
    launch.count_memory = true;
    EXPECT_EQ(counters_of(launch).written_distinct_bytes, 256u);
}

}  // namespace
}  // namespace softmetal::exec

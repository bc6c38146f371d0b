#pragma once
// The story model with a cache of some type: how it goes on, on a device and on the CPU.

#include "apps/program.h"

namespace minfer {

// 62 tokens; its context of 2048 holds 33 of them.
constexpr std::string_view kHenStory =
    "Once upon a time there was a little red hen who lived in a barn with her friends, the cat, "
    "the "
    "dog and the pig. One day she found some grains of wheat and asked who would help her to plant "
    "them. Not I, said the cat. Not I, said the dog.";

inline Outcome continued_story(size_t repeats, std::string cache_type, std::string device) {
    std::string prompt;
    for (size_t i = 0; i < repeats; ++i) prompt += (i ? " " : "") + std::string(kHenStory);
    // Exact in both places, so that only what the cache holds could tell them apart.
    return minfer_says({"run", MINFER_STORY_MODEL, prompt, "-n", "12", "--greedy", "--ignore-eos",
                        "--cache-type", std::move(cache_type), "--device", std::move(device)},
                       {.environment = {{"MINFER_CPU_ACT", "f32"}, {"MINFER_GEMM_F32", "1"}}});
}

inline void expect_goes_on_alike(size_t repeats, const std::string& cache_type) {
    const auto metal = continued_story(repeats, cache_type, "metal"),
               cpu = continued_story(repeats, cache_type, "cpu");
    ASSERT_EQ(metal.code, 0) << metal.err;
    ASSERT_EQ(cpu.code, 0) << cpu.err;
    EXPECT_EQ(metal.out, cpu.out) << metal.err;
    for (const auto& [outcome, device] :
         {std::pair(&metal, "device metal ("), {&cpu, "device cpu ("}}) {
        EXPECT_THAT(outcome->err, testing::HasSubstr(device));
        EXPECT_THAT(outcome->err, testing::HasSubstr(" tokens with " + cache_type + " KV "));
    }
}

}  // namespace minfer

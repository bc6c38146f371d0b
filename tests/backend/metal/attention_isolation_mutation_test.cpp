// The gate of attention_isolation.h can fail: faults put into a copy of the tiles, each of which it
// has to see.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "backend/metal/attention_isolation.h"
#include "support/temp_dir.h"

namespace minfer::test {
namespace {

struct Mutation {
    const char* name;
    std::string_view from, to;
};

const Mutation kMutations[] = {
    {"Nothing", "", ""},
    {"VIsMultipliedWhereItLies", "eight_bits(by_all, cell) != 0xff", "false"},
    {"WhatOneQuerySeesAllSee", "simd_and(is_there ? own : uint2(~0u))", "simd_or(own)"},
    {"InfinityIsKept", "keeps_second ? second : Cell(0)", "second"},
    {"InfinityIsForgotten", "if (!left_out) continue;", "continue;"},
    {"InfinityIsAddedForAll", "(seen >> cell & 1) != 0 && !isfinite(value)", "!isfinite(value)"},
};

// The kernels, without instances of other attention, of fused nodes and of products, and tiles for
// f32 cells and heads of 64 alone: compiling them all takes long.
std::string tiles_source() {
    static const auto left_out = std::regex(
        R"(^(MINFER_(MUL_M|GET_ROWS|ATTENTION_DECODE|PREFILL_WINDOWS)|template.*"(fused|attention)))");
    auto in = std::ifstream(MINFER_KERNELS_SOURCE);
    auto out = std::string();
    for (std::string line; std::getline(in, line); out += line + "\n")
        if (std::regex_search(line, left_out) &&
            !line.starts_with("MINFER_PREFILL_WINDOWS(64, f32"))
            line.clear();
    return out;
}

class MetalIsolationMutation : public testing::TestWithParam<Mutation> {};
INSTANTIATE_TEST_SUITE_P(Tiles, MetalIsolationMutation, testing::ValuesIn(kMutations),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(MetalIsolationMutation, IsSeen) {
    const auto& [name, from, to] = GetParam();
    auto source = tiles_source();
    const auto at = source.find(from);
    ASSERT_NE(at, std::string::npos) << "the kernels no longer say: " << from;
    source.replace(at, from.size(), to);
    const TempDir folder;
    const auto path = folder.path() / "kernels.metal";
    std::ofstream(path) << source;
    const auto found = leaks({.library = path.string()}, {.n_ctx = 110}, map_sight());
    EXPECT_EQ(found.empty(), from.empty());
}

}  // namespace
}  // namespace minfer::test

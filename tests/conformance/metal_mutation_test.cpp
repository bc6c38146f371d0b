#include <gtest/gtest.h>

#include "conformance/metal_mutation.h"

namespace minfer::test {
namespace {

// Quick ones, in every run of the tests.
const Mutation kQuickMutations[] = {
    {"ElementwiseWithoutTail", "if (first + 4 <= args.count) {", "if (first < args.count) {", "Add",
     "f32"},
    {"NormWithoutBarrier",
     "    threadgroup_barrier(mem_flags::mem_threadgroup);\n    const float factor = norm_factor",
     "    const float factor = norm_factor", "RmsNorm", "f32"},
    {"StoreInTheNextCell", "region + ulong(cells[token]) * args.cell_bytes",
     "region + ulong(cells[token] + 1) * args.cell_bytes", "KvStore", "f32"},
    {"StoreRoundsHalfAwayFromZero", "char(rint(value * (1.0f / scale)))",
     "char(round(value * (1.0f / scale)))", "KvStore", "f32"},
};

const Mutation kMutations[] = {
    {"NormWithEightSlotsReadByThirtyTwoLanes",
     "    if (part == 0 && lane >= kNormParts) parts[lane] = 0;\n",
     "    if (part == 0 && lane >= kNormParts) parts[lane] = 1;\n", "RmsNorm", "f32"},
    {"NormWithoutTail", "for (uint i = width & ~3u; i < width; ++i)",
     "for (uint i = width; i < width; ++i)", "RmsNorm", "f32"},
    {"RopeTurnsTheOtherWay", "a * cosine - b * sine, a * sine + b * cosine",
     "a * cosine + b * sine, b * cosine - a * sine", "Rope", "f32"},
    {"RopeWithoutTheLastPairs",
     "for (uint i = first; i < half_dim; ++i) {\n        const float angle",
     "for (uint i = first; i < first; ++i) {\n        const float angle", "Rope", "f32"},
    {"RopeOfTheFirstHeadsOnly", "head < end_head", "head < first_head + 1", "Rope", "f32"},
    {"StoreInTheRowOfTheToken", "ulong(cells[token]) * args.cell_bytes",
     "ulong(token) * args.cell_bytes", "KvStore", "f32"},
    {"StoreStridesByF32Cells", "ulong(cells[token]) * args.cell_bytes",
     "ulong(cells[token]) * (args.width * 4)", "KvStore", "f32"},
    {"StoreStridesByBlocksWithoutPadding", "ulong(cells[token]) * args.cell_bytes",
     "ulong(cells[token]) * (args.cell_bytes % 34 == 2 ? args.cell_bytes - 2 : args.cell_bytes)",
     "KvStore", "f32"},
    {"StoreLooksAt31OfABlocksElements", "simd_max(as_type<uint>(value) & 0x7fffffffu)",
     "simd_max(lane == 31 ? 0u : as_type<uint>(value) & 0x7fffffffu)", "KvStore", "f32"},
    {"StoreKeepsTheScaleOfTheNextBlock", "*Cell::scale(cell, block, args.width) = stored_scale;",
     "*Cell::scale(cell, min(block + 1, n_blocks - 1), args.width) = stored_scale;", "KvStore",
     "f32"},
    {"StoreLeavesThePadding", "i < args.cell_bytes; ++i) cell[i] = 0;", "i < 0; ++i) cell[i] = 0;",
     "KvStore", "f32"},
    {"FusedStoresAtThePosition", "ulong(token_cell) * args.cell_bytes",
     "ulong(token_position) * args.cell_bytes", "FusedQkv_F32", "f32"},
    {"FusedForgetsTheBiasOfV", "four += load4(bias + first);", "", "FusedQkv_F32", "f32"},
    {"FusedStoresKBeforeItIsRotated",
     "if (is_key) Heads::template store_four<Cell>(key_cell, key_at, half_dim, first, four);",
     "if (is_key) Heads::template store_four<Cell>(key_cell, key_at, half_dim, first, "
     "Heads::load_four(bias, half_dim, first));",
     "FusedQkvNorm_F32", "f32"},
    {"GatherReadsQ4_0ForQ5_0", "MINFER_GET_ROWS(q5_0, Q5_0)", "MINFER_GET_ROWS(q5_0, Q4_0)",
     "Embed_Q5_0", "q5_0"},
    {"GatherReadsF16ForBf16", "MINFER_GET_ROWS(bf16, BF16)", "MINFER_GET_ROWS(bf16, F16)",
     "Embed_BF16", "bf16"},
    {"GatherTakesTheNextRow", "const uint id = min(uint(ids[row]), args.n_rows - 1);",
     "const uint id = min(uint(ids[row]) + 1, args.n_rows - 1);", "GatherRows", "f32"},
    {"MulMvWithoutBarrier",
     "threadgroup_barrier(mem_flags::mem_threadgroup);\n        if (simdgroup == 0 && lane == 0) {",
     "if (simdgroup == 0 && lane == 0) {", "MatMul_Q8_0", "q8_0"},
    {"MulMvStoresPartialSumsWhileOthersAreRead",
     "        if (token + args.passes * C < args.n_tokens)\n"
     "            threadgroup_barrier(mem_flags::mem_threadgroup);\n",
     "",
     "MatMul_Q8_0",
     "q8_0",
     {.gemm = false},
     3},
    {"MulMvReadsPastTheLastRow", "min(first_row + r, n_rows - 1)", "(first_row + r)", "MatMul_Q8_0",
     "q8_0"},
    {"MulMvReadsPastTheLastToken", "min(token + c, args.n_tokens - 1)", "(token + c)",
     "MatMul_Q8_0", "q8_0"},
    {"MulMvWithoutTail", "args.in_dim % W::kBlock == 0 ? 0 :", "true ? 0 :", "MatMul_BF16", "bf16"},
    {"MulMvReadsF16ForBf16", "MINFER_MUL_MV(\"bf16\", Float<BF16>",
     "MINFER_MUL_MV(\"bf16\", Float<F16>", "MatMul_BF16", "bf16"},
    {"MulMvTakesQ5_KForSigned", "w.mins = float4(as_type<uchar4>(mins)) * -float(d.y);",
     "w.mins = -16.0f * w.scales;", "MatMul_Q5_K", "q5_k"},
    {"GatherWithoutTail", "if (first + 16 > args.width) {", "if (false) {", "Embed_F16", "f16"},
    {"RotationOfNeighboursWhereHalvesAreMeant", "return {head[i], head[i + half_dim]};",
     "return {head[i], head[i + 1]};", "Rope", "f32"},
    {"StoreWithoutTail", "if (first + 4 <= args.width) {", "if (true) {", "KvStore", "f32"},
    {"VectorProductReadsQ4_0ForQ5_0", "MINFER_MUL_MV(\"q5_0\", Q5_0",
     "MINFER_MUL_MV(\"q5_0\", Q4_0", "MatMul_Q5_0", "q5_0"},
    {"VectorProductLeavesOutTheLastBlock", "(args.in_dim + W::kBlock - 1) / W::kBlock",
     "args.in_dim / W::kBlock", "MatMul_F16", "f16"},
    {"GemmStagesWhileOthersStillRead",
     "            threadgroup_barrier(mem_flags::mem_threadgroup);  // the last matrices have been "
     "read\n",
     "", "MatMul_Q4_0", "q4_0"},
    {"GemmReadsWhileOthersStillStage",
     "            threadgroup_barrier(mem_flags::mem_threadgroup);\n#pragma unroll\n            "
     "for "
     "(uint step",
     "#pragma unroll\n            for (uint step", "MatMul_Q4_0", "q4_0"},
    {"GemmStoresPartialTilesOverMatricesInUse",
     "        threadgroup_barrier(mem_flags::mem_threadgroup);\n        threadgroup float* const "
     "results",
     "        threadgroup float* const results", "MatMul_F32", "f32"},
    {"GemmReadsPastTheLastRow", "min(first_row + row, args.out_dim - 1)", "(first_row + row)",
     "MatMul_Q4_0", "q4_0"},
    {"GemmReadsPastTheLastToken", "min(first_token + token + i, args.n_tokens - 1)",
     "(first_token + token + i)", "MatMul_Q4_0", "q4_0"},
    {"GemmWritesPastTheLastToken", "if (first_token + t < args.n_tokens && o < out_dim)",
     "if (o < out_dim)", "MatMul_Q4_0", "q4_0"},
    {"GemmWithoutTail", "if (k + 4 > in_dim) {", "if (false) {", "MatMul_BF16", "bf16"},
    {"GemmLetsActivationsOverflow", "scaled = simd_any(most > HALF_MAX);", "scaled = false;",
     "MatMul_Q8_0", "q8_0"},
    {"GemmForgetsToUndoTheScaling", "const float undo = 1.0f / lane_scale;",
     "const float undo = 1.0f;", "MatMul_Q8_0", "q8_0"},
    {"GemmReadsQ4_1ForQ5_1", "MINFER_MUL_MM_ALL(q5_1, Q5_1)", "MINFER_MUL_MM_ALL(q5_1, Q4_1)",
     "MatMul_Q5_1", "q5_1"},
};

class MetalMutation : public testing::TestWithParam<Mutation> {};
TEST_P(MetalMutation, IsSeen) { expect_seen(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Kernels, MetalMutation, testing::ValuesIn(kQuickMutations),
                         mutation_name<Mutation>);

class SlowMetalMutation : public testing::TestWithParam<Mutation> {};
TEST_P(SlowMetalMutation, IsSeen) { expect_seen(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Kernels, SlowMetalMutation, testing::ValuesIn(kMutations),
                         mutation_name<Mutation>);

class SlowMetalSource
    : public testing::TestWithParam<std::pair<std::string_view, std::string_view>> {};

TEST_P(SlowMetalSource, IsRightAsItIs) {
    const auto& [wanted, type] = GetParam();
    expect_right_as_it_is(wanted, type);
}

TEST(SlowMetalSourceInOtherOrders, IsRightWithoutMatrixKernels) {
    expect_right_as_it_is("MatMul_Q8_0", "q8_0", {.gemm = false}, 3);
}

std::vector<std::pair<std::string_view, std::string_view>> mutated_families() {
    auto all = std::map<std::string_view, std::string_view>();
    for (const auto& mutation : kQuickMutations) all.emplace(mutation.seen_by, mutation.type);
    for (const auto& mutation : kMutations) all.emplace(mutation.seen_by, mutation.type);
    return {all.begin(), all.end()};
}

INSTANTIATE_TEST_SUITE_P(Kernels, SlowMetalSource, testing::ValuesIn(mutated_families()),
                         [](const auto& info) { return std::string(info.param.first); });

}  // namespace
}  // namespace minfer::test

// Faults in kernels of attention. Each is looked for on the one route that takes its kernel.

#include <gtest/gtest.h>

#include "conformance/metal_mutation.h"
#include "support/classic_attention.h"

namespace minfer::test {
namespace {

// The classic kernel, and one family besides.
MetalOptions route(auto change) {
    auto attention = kClassicAttention;
    change(attention);
    return {.attention = attention};
}
const auto kClassic = route([](AttentionOptions&) {});
const auto kTiles = route([](AttentionOptions& a) { a.prefill_flash = a.window_flash = true; });
const auto kThreePasses = route([](AttentionOptions& a) { a.three_pass = true; });
const auto kDecode = route([](AttentionOptions& a) { a.flash = true; });
const auto kShared = route([](AttentionOptions& a) { a.flash = true, a.share_kv_from = 1; });
const auto kSplit = route([](AttentionOptions& a) { a.split = true; });

struct Changed {
    const char* name;
    std::string_view from, to;
    const MetalOptions& options;
};

void PrintTo(const Changed& changed, std::ostream* out) { *out << changed.name; }

const Changed kChanged[] = {
    {"AttentionShiftedByOneCell", "bases = cells - (ends - counts);",
     "bases = cells - (ends - counts) + 1;", kClassic},
    {"AttentionCountsTheLastRowAgain", "const bool visible = lane < n_keys;",
     "const bool visible = true;", kClassic},
    {"AttentionKeepsSumsOfAnOldMaximum", "sums[i] *= correction;", "sums[i] *= 1;", kClassic},
    {"AttentionScoresBeforeKeysArrive",
     "            threadgroup_barrier(mem_flags::mem_threadgroup);\n            device const "
     "float* q",
     "            device const float* q", kClassic},
    {"AttentionReadsTheRunsOfTheFirstToken", "data + ulong(token) * 8", "data", kClassic},
    {"AttentionStoresForTheHeadThatIsNotThere", "if (!valid_head) return;", "", kClassic},
    {"CausalWindowWithoutTheTokenItself", "counts.x = data[token] + 1;", "counts.x = data[token];",
     kClassic},
    {"AttentionOverwritesKeysThatOthersRead",
     "            threadgroup_barrier(mem_flags::mem_threadgroup);\n"
     "            // Half a SIMD group a key.",
     "            // Half a SIMD group a key.", kClassic},
    {"AttentionReadsCellsPastTheWindow", "rows.cell(min(first + key, end_row - 1))",
     "rows.cell(first + key)", kClassic},
    {"TilesReadTheLastCellsAgain",
     "    if (cell < args.n_cells)\n"
     "        bytes = load_uint4(region + ulong(args.first_cell + cell)",
     "    if (args.first_cell >= kPrefillCells)\n"
     "        bytes = load_uint4(region + ulong(args.first_cell + args.n_cells - kPrefillCells + "
     "cell)",
     kTiles},
    {"TilesReadCellsPastTheArena", "    if (cell < args.n_cells)\n        bytes",
     "    if (true)\n        bytes", kTiles},
    {"TilesStoreForTokensThatAreNotThere", "if (token >= args.n_tokens) continue;", "", kTiles},
    {"TilesLoadTokensThatAreNotThere", "if (token < args.n_tokens) four = load4", "four = load4",
     kTiles},
    {"TilesWeighScoresThatAreNotThere",
     "        threadgroup_barrier(mem_flags::mem_threadgroup);  // all scores are there\n", "",
     kTiles},
    {"TilesAddUpWeightsThatAreNotThere",
     "        threadgroup_barrier(mem_flags::mem_threadgroup);  // all weights are there\n", "",
     kTiles},
    {"TilesScoreWhileWeightsAreRead",
     "        threadgroup_barrier(mem_flags::mem_threadgroup);  // all sums are there, the weights "
     "read\n",
     "", kTiles},
    {"TilesRoundQueriesToHalf",
     "four = load4(q + (ulong(token) * args.n_head + head) * kDim + dim)",
     "four = float4(half4(load4(q + (ulong(token) * args.n_head + head) * kDim + dim)))", kTiles},
    {"TilesRoundWeightsToHalf", "weights[32] = weight1;", "weights[32] = half(weight1);", kTiles},
    {"TilesStopABlockEarly", "for (; first < end_seen; first += kCells) {",
     "for (; first + kCells < end_seen; first += kCells) {", kTiles},
    {"TilesSkipABlockOfWhichTheLastCellIsSeen", "run.x < int(first + kCells)",
     "run.x + 1 < int(first + kCells)", kTiles},
    {"TilesSkipABlockOfWhichTheFirstCellIsSeen", "run.y > int(first)", "run.y > int(first) + 1",
     kTiles},
    {"TilesForgetTheFirstBlockSeen", "(first_seen - args.first_cell) / kCells * kCells",
     "((first_seen - args.first_cell) / kCells + 1) * kCells", kTiles},
    {"CausalTilesSeeTheNextCell", "{ return cell < end; }", "{ return cell <= end; }", kTiles},
    {"SpanTilesBeginACellLate", "cell >= cells.x && cell < cells.y",
     "cell > cells.x && cell < cells.y", kTiles},
    {"MapTilesSeeThreeRuns", "any(cell >= firsts && cell < ends)",
     "any((cell >= firsts && cell < ends).xyz)", kTiles},
    {"MapTilesReadTheRunsOfTheFirstToken",
     "device const int* const runs = data + ulong(token) * 8;",
     "device const int* const runs = data;", kTiles},
    {"TilesKeepSumsOfAnOldMaximum", "if (correction == 1) continue;", "continue;", kTiles},
    {"StageRoundsToHalf",
     "store4(out + row * args.cell_width + element, cells.load(cell, element));",
     "store4(out + row * args.cell_width + element, float4(half4(cells.load(cell, element))));",
     kTiles},
    {"StageCountsRowsFromTheFirstCellSeen", "const ulong row = ulong(group.z) * args.n_ctx + cell;",
     "const ulong row = ulong(group.z) * args.n_ctx + group.x;", kTiles},
    {"StageExpandsKeysForValues", "group.z == 0 ? k : v, args.cell_bytes", "k, args.cell_bytes",
     kTiles},
    {"TilesReadAnotherHead", "head / args.group * kDim", "head % args.group * kDim", kTiles},
    {"ScoresOfTheFirst256CellsAlone",
     "for (uint first = 0; first < row.n_keys; first += 32) {\n        float mine",
     "for (uint first = 0; first < min(row.n_keys, 256u); first += 32) {\n        float mine",
     kThreePasses},
    {"ScoresForRowsThatAreNotThere", "if (cell < row.n_keys && row.is_valid(args))",
     "if (cell < row.n_keys)", kThreePasses},
    {"ScoresOfTheNextKvHead", "kv_head = global % args.n_head / args.group;",
     "kv_head = global % args.n_head % args.group;", kThreePasses},
    {"SoftmaxOfTheTokensBefore", "n_keys = uint(positions[global / args.n_head]) + 1;",
     "n_keys = uint(positions[args.first_row / args.n_head]) + 1;", kThreePasses},
    {"SoftmaxWithAMaximumForEachLane", "largest = simd_max(largest);", "", kThreePasses},
    {"OutputOfEverySecondCell", "if (kCells == 2) sum += simd_shuffle_xor(sum, ushort(16));", "",
     kThreePasses},
    {"DecodeReadsWeightsBeforeTheyArrive",
     "        simdgroup_barrier(mem_flags::mem_threadgroup);\n\n        for (uint key = 0; key < "
     "n_keys",
     "        for (uint key = 0; key < n_keys", kDecode},
    {"DecodeRoundsQueriesToHalf", "load4(q + head * args.head_dim + dims[i])",
     "float4(half4(load4(q + head * args.head_dim + dims[i])))", kDecode},
    {"DecodeReadsCellsPastTheLastOne", "min(first + first_key_of_part + key + j, args.n_cells - 1)",
     "(first + first_key_of_part + key + j)", kDecode},
    {"DecodeCountsTheLastCellAgain", "const bool visible = first + lane < args.n_cells;",
     "const bool visible = true;", kDecode},
    {"DecodeChunksTakeOneStepAfterTheOther", "step += args.n_chunks", "step += 1", kDecode},
    {"DecodeKeepsSumsOfAnOldMaximum", "sums[h][i] *= correction;", "sums[h][i] *= 1;", kDecode},
    {"DecodeForgetsHalfOfTheCells", "sums[h][i] += simd_shuffle_xor(sums[h][i], 16);",
     "sums[h][i] += 0;", kDecode},
    {"DecodeStoresForTheHeadThatIsNotThere", "if (first_in_group + h >= args.group) continue;", "",
     kShared},
    {"DecodeRoundsWeightsToHalf",
     "reinterpret_cast<threadgroup float*>(weights[h])[lane] = weight;",
     "reinterpret_cast<threadgroup float*>(weights[h])[lane] = half(weight);", kDecode},
    {"CombineIgnoresTheMaxima", "precise::exp(record[0] - largest)", "1.0f", kDecode},
    {"CombineLeavesOutTheLastChunk", "for (uint chunk = 0; chunk < args.n_chunks; ++chunk)",
     "for (uint chunk = 0; chunk + 1 < args.n_chunks; ++chunk)", kDecode},
    {"SplitLeavesOutTheLastCells", "(args.n_cells + args.n_chunks - 1) / args.n_chunks",
     "max(args.n_cells / args.n_chunks, 1u)", kSplit},
    {"SplitStartsEveryChunkAtTheFirstCell", "min(chunk * chunk_cells, args.n_cells)",
     "min(chunk * 0, args.n_cells)", kSplit},
    {"AttentionRoundsQueriesToHalf", "dots = fma(load4(q_dims + d),",
     "dots = fma(float4(half4(load4(q_dims + d))),", kClassic},
    {"AttentionRoundsWeightsToHalf", "        weights[lane] = weight;\n",
     "        weights[lane] = half(weight);\n", kClassic},
    {"AttentionReadsWeightsBeforeTheyArrive",
     "        weights[lane] = weight;\n        simdgroup_barrier(mem_flags::mem_threadgroup);\n",
     "        weights[lane] = weight;\n", kClassic},
    {"SplitRoundsQueriesToHalf", "dots = fma(load4(q_dims + d),",
     "dots = fma(float4(half4(load4(q_dims + d))),", kSplit},
    {"SplitRoundsWeightsToHalf", "        weights[lane] = weight;\n",
     "        weights[lane] = half(weight);\n", kSplit},
    {"SplitReadsWeightsBeforeTheyArrive",
     "        weights[lane] = weight;\n        simdgroup_barrier(mem_flags::mem_threadgroup);\n",
     "        weights[lane] = weight;\n", kSplit},
    {"SplitOverwritesKeysThatOthersRead",
     "            threadgroup_barrier(mem_flags::mem_threadgroup);\n            // Half a SIMD "
     "group a key.",
     "            // Half a SIMD group a key.", kSplit},
    {"TilesScoreBeforeQueriesArrive",
     "    threadgroup_barrier(mem_flags::mem_threadgroup);\n    for (; first < end_seen",
     "    for (; first < end_seen", kTiles},
};

class SlowMetalAttentionMutation : public testing::TestWithParam<Changed> {};

TEST_P(SlowMetalAttentionMutation, IsSeen) {
    const auto& [name, from, to, options] = GetParam();
    expect_seen({name, from, to, "Attention", "f32", options});
}

INSTANTIATE_TEST_SUITE_P(Kernels, SlowMetalAttentionMutation, testing::ValuesIn(kChanged),
                         mutation_name<Changed>);

TEST(SlowMetalSourceOfAttention, IsRightAsItIsOnEveryRoute) {
    for (const auto* const options :
         {&kClassic, &kTiles, &kThreePasses, &kDecode, &kShared, &kSplit})
        expect_right_as_it_is("Attention", "f32", *options);
}

}  // namespace
}  // namespace minfer::test

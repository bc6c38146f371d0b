// A gate must be able to fail: faults of the kind that real kernels had, put into a copy of the
// kernels' source, and the rows of the op matrix have to see each of them.

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "backend/metal/metal_backend.h"
#include "conformance/columns.h"
#include "conformance/op_trial.h"
#include "support/classic_attention.h"
#include "support/software_metal.h"
#include "support/temp_dir.h"

namespace minfer::test {
namespace {

struct Mutation {
    const char* name;
    std::string_view from, to;  // every occurrence, of which there has to be one
    std::string_view seen_by;   // the family of rows that has to notice
    std::string_view type;      // the weight type whose kernels are kept; compiling all takes long
    MetalOptions options = {};
    uint64_t orders = 0;  // shuffled orders of threadgroups to run in besides the ascending one
};

void PrintTo(const Mutation& mutation, std::ostream* out) { *out << mutation.name; }

// Tiles of attention are compiled for the smallest heads alone.
constexpr size_t kTileHeadDim = 64;

// Kernels of weight types other than `type` are not compiled, nor are tiles for other heads.
std::string only_type(const std::string& source, std::string_view type) {
    static const auto instance = std::regex(
        R"(^MINFER_[A-Z0-9_]+\("?(q4_0|q4_1|q5_0|q5_1|q8_0_split|q8_0|q4_k|q5_k|q6_k|f16|bf16|f32)\b)");
    static const auto tiles = std::regex(R"(^MINFER_PREFILL_WINDOWS\((\d+),)");
    auto in = std::istringstream(source);
    auto out = std::string();
    for (std::string line; std::getline(in, line);) {
        auto match = std::smatch();
        if (std::regex_search(line, match, instance) && match[1].str() != type) line.clear();
        if (std::regex_search(line, match, tiles) && match[1].str() != std::to_string(kTileHeadDim))
            line.clear();
        out += line + "\n";
    }
    return out;
}

std::string read_source() {
    auto file = std::ifstream(MINFER_KERNELS_SOURCE, std::ios::binary);
    auto text = std::ostringstream();
    text << file.rdbuf();
    EXPECT_TRUE(file) << MINFER_KERNELS_SOURCE;
    return text.str();
}

// Whether the kernels that only_type() leaves compute this attention: tiles for one size of head,
// and of tiles and chunks those that read f32 cells.
bool is_left(const AttentionOptions& options, const op::Attention& attention, size_t n_tokens) {
    const auto cells = attention.layout.format;
    if (n_tokens == 1) return attention.explicit_span || !options.flash || cells == KvFormat::F32;
    if (attention.head_dim > kTileHeadDim) return false;
    const bool tiles = attention.explicit_span ? options.window_flash : options.prefill_flash;
    return !tiles || cells != KvFormat::F16;
}

// Without matrix kernels: the rows that would have gone to them.
bool is_about(const MetalOptions& options, const Row& row) {
    const auto* const attention = std::get_if<op::Attention>(&row.op);
    if (attention && !is_left(options.attention, *attention, row.tokens())) return false;
    return options.gemm || row.tokens() >= 9;
}

void run_row(const Row& row, const MetalOptions& options, std::vector<std::string>& found) {
    for (const auto placement : {Placement::Padded, Placement::Exact}) {
        auto with_placement = options;
        with_placement.copy_weights = placement == Placement::Exact;
        auto backend = make_metal_backend(with_placement);
        ASSERT_TRUE(backend) << backend.error().what;
        auto rig = OpRig(*std::move(backend), placement);
        const auto trial = make_trial(row);
        testing::TestPartResultArray failures;
        auto got = Answer();
        {
            const testing::ScopedFakeTestPartResultReporter reporter(
                testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD,
                &failures);
            got = answer(rig, trial);
        }
        for (int i = 0; i < failures.size(); ++i)
            found.push_back(label(row) + ": " + failures.GetTestPartResult(i).message());
        const auto& like = column(options.gemm ? "metal" : "metal_no_gemm");
        for (const auto& fault : faults(trial, got, half_tiles(like, row)))
            found.push_back(label(row) + ": " + fault);
    }
}

// What the rows of a family say about kernels of this source: nothing when all is right. The first
// row that complains is the last one run.
std::vector<std::string> complaints(const std::string& source, std::string_view wanted,
                                    MetalOptions options = {}, uint64_t orders = 0) {
    SoftwareMetal device;
    const TempDir folder;
    options.library = (folder.path() / "kernels.metal").string();
    std::ofstream(options.library, std::ios::binary) << source;
    auto found = std::vector<std::string>();
    size_t ran = 0;
    for (const auto& row : op_rows()) {
        if (row.slow || family(row.op) != wanted || !column("metal").changes(row)) continue;
        if (!is_about(options, row)) continue;
        ++ran;
        for (uint64_t order = 0; order <= orders && found.empty(); ++order) {
            device.set_order_seed(order);
            run_row(row, options, found);
        }
    }
    EXPECT_GT(ran, 0u);
    // That a row takes a kernel which was not compiled says nothing of the kernels that were.
    for (const auto& complaint : found)
        EXPECT_THAT(complaint, testing::Not(testing::HasSubstr("no kernel '")));
    return found;
}

const MetalOptions kClassic = {.attention = kClassicAttention};
const MetalOptions kThreePasses = {.attention = {.prefill_flash = false}};

const MetalOptions kSplit = {.attention = {.flash = false}};
const MetalOptions kShared = {.attention = {.share_kv_from = 1}};

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
    {"AttentionShiftedByOneCell", "bases = cells - (ends - counts);",
     "bases = cells - (ends - counts) + 1;", "Attention", "f32", kClassic},
    {"AttentionCountsTheLastRowAgain", "const bool visible = lane < n_keys;",
     "const bool visible = true;", "Attention", "f32", kClassic},
    {"AttentionKeepsSumsOfAnOldMaximum", "sums[i] *= correction;", "sums[i] *= 1;", "Attention",
     "f32", kClassic},
    {"AttentionScoresBeforeKeysArrive",
     "            threadgroup_barrier(mem_flags::mem_threadgroup);\n            device const "
     "float* q",
     "            device const float* q", "Attention", "f32", kClassic},
    {"AttentionReadsTheRunsOfTheFirstToken", "data + ulong(token) * 8", "data", "Attention", "f32",
     kClassic},
    {"AttentionStoresForTheHeadThatIsNotThere", "if (!valid_head) return;", "", "Attention", "f32",
     kClassic},
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

    {"CausalWindowWithoutTheTokenItself", "counts.x = data[token] + 1;", "counts.x = data[token];",
     "Attention", "f32", kClassic},
    {"AttentionOverwritesKeysThatOthersRead",
     "            threadgroup_barrier(mem_flags::mem_threadgroup);\n"
     "            // Half a SIMD group a key.",
     "            // Half a SIMD group a key.", "Attention", "f32", kClassic},
    {"AttentionReadsCellsPastTheWindow", "rows.cell(min(first + key, end_row - 1))",
     "rows.cell(first + key)", "Attention", "f32", kClassic},

    {"TilesReadTheLastCellsAgain",
     "    if (cell < args.n_cells)\n"
     "        bytes = load_uint4(region + ulong(args.first_cell + cell)",
     "    if (args.first_cell >= kPrefillCells)\n"
     "        bytes = load_uint4(region + ulong(args.first_cell + args.n_cells - kPrefillCells + "
     "cell)",
     "Attention", "f32"},
    {"TilesReadCellsPastTheArena", "    if (cell < args.n_cells)\n        bytes",
     "    if (true)\n        bytes", "Attention", "f32"},
    {"TilesStoreForTokensThatAreNotThere", "if (token >= args.n_tokens) continue;", "", "Attention",
     "f32"},
    {"TilesLoadTokensThatAreNotThere", "if (token < args.n_tokens) four = load4", "four = load4",
     "Attention", "f32"},
    {"TilesWeighScoresThatAreNotThere",
     "        threadgroup_barrier(mem_flags::mem_threadgroup);  // all scores are there\n", "",
     "Attention", "f32"},
    {"TilesAddUpWeightsThatAreNotThere",
     "        threadgroup_barrier(mem_flags::mem_threadgroup);  // all weights are there\n", "",
     "Attention", "f32"},
    {"TilesScoreWhileWeightsAreRead",
     "        threadgroup_barrier(mem_flags::mem_threadgroup);  // all sums are there, the weights "
     "read\n",
     "", "Attention", "f32"},
    {"TilesRoundQueriesToHalf",
     "four = load4(q + (ulong(token) * args.n_head + head) * kDim + dim)",
     "four = float4(half4(load4(q + (ulong(token) * args.n_head + head) * kDim + dim)))",
     "Attention", "f32"},
    {"TilesRoundWeightsToHalf", "weights[32] = weight1;", "weights[32] = half(weight1);",
     "Attention", "f32"},
    {"TilesStopABlockEarly", "for (; first < end_seen; first += kCells) {",
     "for (; first + kCells < end_seen; first += kCells) {", "Attention", "f32"},
    {"TilesSkipABlockOfWhichTheLastCellIsSeen", "run.x < int(first + kCells)",
     "run.x + 1 < int(first + kCells)", "Attention", "f32"},
    {"TilesSkipABlockOfWhichTheFirstCellIsSeen", "run.y > int(first)", "run.y > int(first) + 1",
     "Attention", "f32"},
    {"TilesForgetTheFirstBlockSeen", "(first_seen - args.first_cell) / kCells * kCells",
     "((first_seen - args.first_cell) / kCells + 1) * kCells", "Attention", "f32"},
    {"CausalTilesSeeTheNextCell", "{ return cell < end; }", "{ return cell <= end; }", "Attention",
     "f32"},
    {"SpanTilesBeginACellLate", "cell >= cells.x && cell < cells.y",
     "cell > cells.x && cell < cells.y", "Attention", "f32"},
    {"MapTilesSeeThreeRuns", "any(cell >= firsts && cell < ends)",
     "any((cell >= firsts && cell < ends).xyz)", "Attention", "f32"},
    {"MapTilesReadTheRunsOfTheFirstToken",
     "device const int* const runs = data + ulong(token) * 8;",
     "device const int* const runs = data;", "Attention", "f32"},
    {"TilesKeepSumsOfAnOldMaximum", "if (correction == 1) continue;", "continue;", "Attention",
     "f32"},
    {"StageRoundsToHalf",
     "store4(out + row * args.cell_width + element, cells.load(cell, element));",
     "store4(out + row * args.cell_width + element, float4(half4(cells.load(cell, element))));",
     "Attention", "f32"},
    {"StageCountsRowsFromTheFirstCellSeen",
     "const ulong row = ulong(position.z) * args.n_ctx + cell;",
     "const ulong row = ulong(position.z) * args.n_ctx + position.y;", "Attention", "f32"},
    {"StageExpandsKeysForValues", "position.z == 0 ? k : v, args.cell_bytes", "k, args.cell_bytes",
     "Attention", "f32"},
    {"TilesReadAnotherHead", "head / args.group * kDim", "head % args.group * kDim", "Attention",
     "f32"},

    {"ScoresOfTheFirst256CellsAlone",
     "for (uint first = 0; first < row.n_keys; first += 32) {\n        float mine",
     "for (uint first = 0; first < min(row.n_keys, 256u); first += 32) {\n        float mine",
     "Attention", "f32", kThreePasses},
    {"ScoresForRowsThatAreNotThere", "if (cell < row.n_keys && row.is_valid(args))",
     "if (cell < row.n_keys)", "Attention", "f32", kThreePasses},
    {"ScoresOfTheNextKvHead", "kv_head = global % args.n_head / args.group;",
     "kv_head = global % args.n_head % args.group;", "Attention", "f32", kThreePasses},
    {"SoftmaxOfTheTokensBefore", "n_keys = uint(positions[global / args.n_head]) + 1;",
     "n_keys = uint(positions[args.first_row / args.n_head]) + 1;", "Attention", "f32",
     kThreePasses},
    {"SoftmaxWithAMaximumForEachLane", "largest = simd_max(largest);", "", "Attention", "f32",
     kThreePasses},
    {"OutputOfEverySecondCell", "if (kCells == 2) sum += simd_shuffle_xor(sum, ushort(16));", "",
     "Attention", "f32", kThreePasses},

    {"DecodeReadsWeightsBeforeTheyArrive",
     "        simdgroup_barrier(mem_flags::mem_threadgroup);\n\n        for (uint key = 0; key < "
     "n_keys",
     "        for (uint key = 0; key < n_keys", "Attention", "f32"},
    {"DecodeRoundsQueriesToHalf", "load4(q + head * args.head_dim + dims[i])",
     "float4(half4(load4(q + head * args.head_dim + dims[i])))", "Attention", "f32"},
    {"DecodeReadsCellsPastTheLastOne", "min(first + first_key_of_part + key + j, args.n_cells - 1)",
     "(first + first_key_of_part + key + j)", "Attention", "f32"},
    {"DecodeCountsTheLastCellAgain", "const bool visible = first + lane < args.n_cells;",
     "const bool visible = true;", "Attention", "f32"},
    {"DecodeChunksTakeOneStepAfterTheOther", "step += args.n_chunks", "step += 1", "Attention",
     "f32"},
    {"DecodeKeepsSumsOfAnOldMaximum", "sums[h][i] *= correction;", "sums[h][i] *= 1;", "Attention",
     "f32"},
    {"DecodeForgetsHalfOfTheCells", "sums[h][i] += simd_shuffle_xor(sums[h][i], 16);",
     "sums[h][i] += 0;", "Attention", "f32"},
    {"DecodeStoresForTheHeadThatIsNotThere", "if (first_in_group + h >= args.group) continue;", "",
     "Attention", "f32", kShared},
    {"DecodeRoundsWeightsToHalf",
     "reinterpret_cast<threadgroup float*>(weights[h])[lane] = weight;",
     "reinterpret_cast<threadgroup float*>(weights[h])[lane] = half(weight);", "Attention", "f32"},
    {"CombineIgnoresTheMaxima", "precise::exp(record[0] - largest)", "1.0f", "Attention", "f32"},
    {"CombineLeavesOutTheLastChunk", "for (uint chunk = 0; chunk < args.n_chunks; ++chunk)",
     "for (uint chunk = 0; chunk + 1 < args.n_chunks; ++chunk)", "Attention", "f32"},
    {"SplitLeavesOutTheLastCells", "(args.n_cells + args.n_chunks - 1) / args.n_chunks",
     "max(args.n_cells / args.n_chunks, 1u)", "Attention", "f32", kSplit},
    {"SplitStartsEveryChunkAtTheFirstCell", "min(chunk * chunk_cells, args.n_cells)",
     "min(chunk * 0, args.n_cells)", "Attention", "f32", kSplit},

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

void expect_seen(const Mutation& mutation) {
    auto source = only_type(read_source(), mutation.type);
    size_t replaced = 0;
    for (size_t at = 0; (at = source.find(mutation.from, at)) != std::string::npos;
         at += mutation.to.size(), ++replaced)
        source.replace(at, mutation.from.size(), mutation.to);
    ASSERT_GT(replaced, 0u) << "the kernels no longer say: " << mutation.from;
    EXPECT_THAT(complaints(source, mutation.seen_by, mutation.options, mutation.orders),
                testing::Not(testing::IsEmpty()));
}

std::string mutation_name(const testing::TestParamInfo<Mutation>& info) { return info.param.name; }

class MetalMutation : public testing::TestWithParam<Mutation> {};
TEST_P(MetalMutation, IsSeen) { expect_seen(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Kernels, MetalMutation, testing::ValuesIn(kQuickMutations), mutation_name);

class SlowMetalMutation : public testing::TestWithParam<Mutation> {};
TEST_P(SlowMetalMutation, IsSeen) { expect_seen(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Kernels, SlowMetalMutation, testing::ValuesIn(kMutations), mutation_name);

// The control arm: the same way, nothing changed.
class SlowMetalSource
    : public testing::TestWithParam<std::pair<std::string_view, std::string_view>> {};

TEST_P(SlowMetalSource, IsRightAsItIs) {
    const auto& [wanted, type] = GetParam();
    EXPECT_THAT(complaints(only_type(read_source(), type), wanted), testing::IsEmpty());
}

TEST(SlowMetalSourceOfAttention, IsRightAsItIsOnEveryRoute) {
    const auto source = only_type(read_source(), "f32");
    for (const auto& options : {kClassic, kThreePasses, kSplit, kShared})
        EXPECT_THAT(complaints(source, "Attention", options), testing::IsEmpty());
}

TEST(SlowMetalSourceInOtherOrders, IsRightWithoutMatrixKernels) {
    const auto source = only_type(read_source(), "q8_0");
    EXPECT_THAT(complaints(source, "MatMul_Q8_0", {.gemm = false}, 3), testing::IsEmpty());
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

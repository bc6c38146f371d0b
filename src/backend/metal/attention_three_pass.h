#pragma once
// The three-pass family: several tokens, causal, f32 cells, heads of 64 and 128 elements. Scores
// are written out, a slab of rows at a time so that they stay within a bound; a row is a query head
// of one token.

#include "backend/metal/device/launch.h"
#include "backend/metal/device/pipelines.h"

namespace minfer::metal {

struct AttentionCall;
struct AttentionShape;
struct Context;

constexpr size_t kThreePassScratch = size_t{64} << 20;  // bytes of scores at most
// The longest arena of which a row of scores fits.
constexpr size_t kThreePassCells = kThreePassScratch / sizeof(float);

struct ThreePassAttention {
    enum class Pass : uint8_t { Scores, Softmax, Output };
    struct Variant {
        Pass pass = Pass::Scores;
        size_t head_dim = 0;  // 0: any
        auto operator<=>(const Variant&) const = default;
    };
    Pipelines<Variant> pipelines;

    // The scratch in bytes: of one slab over the whole arena.
    Result<size_t> prepare(Device& device, const AttentionShape& shape);
};

// Rows of scores over `n_cells` that `scratch_bytes` hold, at most `n_rows`.
size_t three_pass_slab(size_t n_rows, size_t n_cells, size_t scratch_bytes);

// A SIMD group for each row, four of them a threadgroup; of every pass.
Result<Launch> plan_three_pass(size_t n_rows);

Result<> run_three_pass(Context& context, const AttentionCall& call);

}  // namespace minfer::metal

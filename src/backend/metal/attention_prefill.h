#pragma once
// Attention of several tokens in tiles of 8 queries by 64 cells: PrefillFlash and WindowFlash, over
// f32 and f16 cells and heads of 64, 80, 96, 112, 128 and 256.

#include <variant>

#include "backend/metal/cells.h"
#include "backend/metal/device/launch.h"
#include "backend/metal/device/pipelines.h"
#include "backend/metal/kernels/attention.h"

namespace minfer::metal {

struct AttentionCall;
struct AttentionShape;
struct Context;

struct PrefillAttention {
    struct Variant {
        CellType cells = CellType::F32;
        size_t head_dim = 0;
        AttentionWindow window = kWindowCausal;
        auto operator<=>(const Variant&) const = default;
    };
    Pipelines<Variant> pipelines;
    Pipelines<std::monostate> tail_pad;  // there is one

    // Returns the scratch in bytes: a block of K and one of V.
    Result<size_t> prepare(Device& device, const AttentionShape& shape);
};

// A threadgroup for each tile of queries and each head.
Result<Launch> plan_prefill(size_t n_tokens, size_t n_head, size_t head_dim);
// 16 bytes a thread, for each cell of a block of K and V. `cell_bytes` is a multiple of 16.
Result<Launch> plan_tail_pad(size_t cell_bytes);

Result<> run_prefill(Context& context, const AttentionCall& call);

}  // namespace minfer::metal

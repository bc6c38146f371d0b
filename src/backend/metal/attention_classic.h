#pragma once
// The classic family: any window over cells of any kind and heads of up to 256 elements.

#include "backend/metal/cells.h"
#include "backend/metal/device/launch.h"
#include "backend/metal/device/pipelines.h"

namespace minfer::metal {

struct AttentionCall;
struct AttentionShape;
struct Context;

struct ClassicAttention {
    struct Variant {
        CellType cells = CellType::F32;
        bool is_wide = false;  // heads of more than 128
        auto operator<=>(const Variant&) const = default;
    };
    Pipelines<Variant> pipelines;

    Result<> prepare(Device& device, const AttentionShape& shape);
};

// A threadgroup for each token, KV head and at most 8 of its query heads, a SIMD group for each of
// those.
Result<Launch> plan_classic(size_t n_tokens, size_t n_head, size_t n_head_kv);

Result<> run_classic(Context& context, const AttentionCall& call);

}  // namespace minfer::metal

#pragma once
// The fused nodes of a decode step: FusedQkv, FusedQkvNorm and FusedFfn.

#include "backend/metal/cells.h"
#include "backend/metal/device/launch.h"
#include "backend/metal/device/pipelines.h"

namespace minfer::metal {

struct FusedKernels {
    struct Variant {
        CellType cells = CellType::F32;
        op::RopeStyle style = op::RopeStyle::NonInterleaved;
        bool has_biases = false;
        auto operator<=>(const Variant&) const = default;
    };
    Pipelines<Variant> rope_stores;
};

// A thread for four pairs of a head of q or k, and for four elements of v.
Result<Launch> plan_rope_store(size_t n_head, size_t n_head_kv, size_t head_dim);

}  // namespace minfer::metal

#pragma once
// The fused nodes of a decode step: FusedQkv, FusedQkvNorm and FusedFfn.

#include "backend/metal/device/device.h"
#include "backend/metal/device/launch.h"
#include "backend/metal/rope.h"

namespace minfer::metal {

struct FusedKernels {
    RotatingKernel bias_rope_store, rope_store;
    static Result<FusedKernels> build(const Device& device);
};

// A thread for four pairs of a head of q or k, and for four elements of v.
Result<Launch> plan_rope_store(size_t n_head, size_t n_head_kv, size_t head_dim);

}  // namespace minfer::metal

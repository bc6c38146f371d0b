#pragma once
// Which blocks of a model can run the fused decode ops, and the weights those ops take: the same
// answers for the graph that names them and for the loader that joins them.

#include "model/model.h"

namespace minfer {

// Wider feed-forward blocks are faster as two products on a GPU.
constexpr size_t kMaxFusedFfn = 16384;

// One of the two fused nodes of a block: the matrices it multiplies in one go, and the name of the
// weight that holds their rows one after the other. Names as in the file.
struct FusedWeights {
    std::vector<std::string> parts;
    std::string joined;
};
FusedWeights qkv_weights(size_t block);
FusedWeights ffn_weights(size_t block);

// Whether the parts can be one weight: one block-quantised type, one row length. F16, BF16 and F32
// run as separate products.
bool can_fuse(const Model& model, const FusedWeights& weights);

// The above and what the node needs besides: all three biases or both norms; a width within
// kMaxFusedFfn.
bool can_fuse_qkv(const Model& model, size_t block);
bool can_fuse_ffn(const Model& model, size_t block);

}  // namespace minfer

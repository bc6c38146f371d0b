#pragma once
// What a graph's structure depends on. Equal params mean an identical graph, so a cached graph is
// reused without comparing nodes. Positions, cells, windows, sequence ids and the number of past
// tokens are inputs and never part of this.

#include "graph/op.h"

namespace minfer {

struct GraphParams {
    size_t n_tokens = 1;
    size_t n_out = 1;  // rows of logits wanted, the last ones; <= n_tokens
    size_t n_ctx = 4096;
    bool gpu = false;             // a device takes part
    size_t gpu_layers = 0;        // offloaded prefix of blocks
    bool fuse_qkv = false;        // decode: one node projects, rotates and stores
    bool fuse_ffn = false;        // decode: one node computes silu(gate) * up
    bool concat_weights = false;  // fused nodes take one weight that holds the rows of all
    bool explicit_span = false;   // windows cannot be derived from positions
    bool kv_map = false;          // the window input is a list of cell runs
    KvFormat kv_format = KvFormat::F32;
    uint64_t weights_version = 1;

    bool decode() const { return n_tokens == 1; }
    bool operator==(const GraphParams&) const = default;
};

}  // namespace minfer

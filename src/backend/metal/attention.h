#pragma once
// Attention over the cells of a layer: checked here, computed by one of several families of kernels
// (attention_route.h), each in files of its own.

#include "backend/metal/attention_classic.h"
#include "backend/metal/attention_decode.h"
#include "backend/metal/attention_prefill.h"
#include "backend/metal/attention_route.h"
#include "backend/metal/attention_stage.h"
#include "backend/metal/attention_three_pass.h"
#include "backend/metal/device/launch.h"
#include "backend/metal/kernels/attention.h"
#include "graph/backend.h"

namespace minfer::metal {

struct Context;

// One attention, checked: what every family takes.
struct AttentionCall {
    size_t n_tokens = 0, n_head = 0, n_head_kv = 0, head_dim = 0, n_ctx = 0;
    float scale = 1;
    CellType cells = CellType::F32;
    size_t cell_bytes = 0;  // from one cell to the next
    Slice q, k, v, out;
    AttentionWindow window_kind = kWindowCausal;
    Slice window;                          // positions if causal, else the window input
    std::span<const int32_t> window_data;  // the host's view of it
    size_t first_cell = 0, end_cell = 0;   // no token sees a cell outside [first, end)
    Slice scratch;                         // as many bytes as prepare() of the family asked for

    size_t group() const { return n_head / n_head_kv; }  // query heads of a KV head
    size_t cell_width() const { return n_head_kv * head_dim; }
};

// `bytes` of the call's scratch from `begin` on; BadInput with both sizes when it has less.
Result<Slice> scratch_part(const AttentionCall& call, size_t begin, size_t bytes);

struct AttentionKernels {
    ClassicAttention classic;
    DecodeAttention decode;
    PrefillAttention prefill;
    CellStage stage;
    ThreePassAttention three_pass;

    // Builds what attention of this shape takes and returns its scratch in bytes. Unsupported, with
    // the numbers, for a shape that a kernel cannot hold.
    Result<size_t> prepare(Device& device, const AttentionShape& shape,
                           const AttentionOptions& options);
};

}  // namespace minfer::metal

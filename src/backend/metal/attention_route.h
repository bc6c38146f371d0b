#pragma once
// Which family of kernels computes an attention: a pure function of shape, cells and switches.

#include "backend/metal/cells.h"

namespace minfer::metal {

enum class AttentionFamily : uint8_t {
    Classic,       // any window, any cells, any head size
    DecodeFlash,   // one token: chunks of cells, combined
    DecodeSplit,   // one token: two passes over chunks
    PrefillFlash,  // several tokens, causal: tiles of queries by cells
    ThreePass,     // several tokens, causal, f32 cells: scores, softmax, output
    WindowFlash,   // several tokens, explicit windows: tiles
};

// What is known of an attention when a graph is mapped.
struct AttentionShape {
    size_t n_tokens = 0, n_head = 0, n_head_kv = 0, head_dim = 0, n_ctx = 0;
    CellType cells = CellType::F32;
    bool explicit_span = false;
};

struct AttentionRoute {
    AttentionFamily family = AttentionFamily::Classic;
    bool staged = false;  // packed cells are expanded to f32 first, row i being cell i
    bool operator==(const AttentionRoute&) const = default;
};

// The order of preference is that of AttentionOptions. Packed cells are read as they are by the
// classic kernel and by DecodeFlash, and staged for every tile; a switch that is off sends them to
// Classic.
AttentionRoute attention_route(const AttentionShape& shape, const AttentionOptions& options);

}  // namespace minfer::metal

#pragma once
// Attention of one token over the first cells of a layer, split into chunks of cells: what the
// kernels that write partial results and the one that combines them take.
//
// A partial result is a record of 2 + head_dim floats: the largest score of the chunk's cells, the
// sum of exp(score - largest), and the values weighted by those. Records lie [query head][chunk].

#ifdef __METAL_VERSION__
#include <metal_stdlib>
#else
#include <cstdint>
#endif

enum AttentionDecode : uint32_t {
    kDecodeStepKeys = 32,    // one for each lane
    kDecodeMaxChunks = 128,  // of a query head
    kDecodeRecordHead = 2,   // floats before the values
};

struct AttentionDecodeArgs {
    uint32_t n_cells;  // the token sees cells [0, n_cells)
    uint32_t n_chunks;
    uint32_t group;  // query heads to a KV head
    uint32_t parts;  // threadgroups that those are spread over
    uint32_t head_dim;
    uint32_t cell_bytes;  // from one cell to the next
    uint32_t cell_width;  // elements of a cell
    float scale;
};
static_assert(sizeof(AttentionDecodeArgs) == 32, "as the host lays it out");

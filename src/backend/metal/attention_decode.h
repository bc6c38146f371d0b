#pragma once
// Attention of one token, causal, in chunks of cells: flash decoding, and the older split family.
// Both write partial results (kernels/attention_decode.h) that one kernel combines.

#include <variant>

#include "backend/metal/cells.h"
#include "backend/metal/device/launch.h"
#include "backend/metal/device/pipelines.h"
#include "backend/metal/kernels/attention_decode.h"

namespace minfer::metal {

struct AttentionCall;
struct AttentionShape;
struct Context;

struct DecodeAttention {
    struct Variant {
        CellType cells = CellType::F32;
        size_t head_dim = 0;  // 64, 128 or 256: the largest that the kernel holds
        uint32_t heads = 0;   // 1, 2 or 4: query heads for which a SIMD group loads K and V
        auto operator<=>(const Variant&) const = default;
    };
    Pipelines<Variant> flash;
    Pipelines<CellType> split;
    Pipelines<std::monostate> combine;

    // Return the scratch that the largest number of chunks takes, in bytes. Unsupported, with the
    // numbers, for a shape that a kernel cannot hold.
    Result<size_t> prepare_flash(Device& device, const AttentionShape& shape,
                                 const AttentionOptions& options);
    Result<size_t> prepare_split(Device& device, const AttentionShape& shape,
                                 const AttentionOptions& options);
};

// The two launches of one token that sees cells [0, n_cells).
struct DecodePlan {
    uint32_t heads = 1;     // query heads of a SIMD group; see Variant
    uint32_t parts = 1;     // threadgroups that the query heads of a KV head are spread over
    uint32_t n_chunks = 1;  // of the cells
    Launch chunks, combine;

    // [n_head][n_chunks] records, in floats.
    size_t record_floats(size_t n_head, size_t head_dim) const {
        return n_head * n_chunks * (kDecodeRecordHead + head_dim);
    }
};

// Chunks of `n_cells` where every query head has a threadgroup for each: those of the options, else
// one for every 32 cells, at least 1 and at most 16.
uint32_t decode_chunks(size_t n_cells, const AttentionOptions& options);

// A SIMD group for each chunk and query head; from share_kv_from cells on for 2 query heads of a
// pair and up to 4 of a larger group, in so many more chunks that there are no fewer of them.
Result<DecodePlan> plan_decode_flash(const AttentionShape& shape, size_t n_cells,
                                     const AttentionOptions& options);
// For each chunk and KV head one threadgroup with a SIMD group for each query head, 8 at most.
Result<DecodePlan> plan_decode_split(const AttentionShape& shape, size_t n_cells,
                                     const AttentionOptions& options);

Result<> run_decode_flash(Context& context, const AttentionCall& call);
Result<> run_decode_split(Context& context, const AttentionCall& call);

}  // namespace minfer::metal

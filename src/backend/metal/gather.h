#pragma once
// Rows by number: Embed out of a weight of any type, GatherRows out of f32 rows.

#include <map>

#include "backend/metal/device/device.h"
#include "backend/metal/device/launch.h"
#include "tensor/dtype.h"

namespace minfer::metal {

struct GatherKernels {
    Pipeline rows;
    std::map<DType, Pipeline> embed;  // of the types that weights have

    static Result<GatherKernels> build(const Device& device);
    // Unsupported when no kernel reads the type.
    Result<> build_for(const Device& device, DType dtype);
};

// Threads that share a row of a table of `dtype`: 16 weights each.
constexpr size_t embed_pieces(size_t width) { return (width + 15) / 16; }
// The same for f32 rows that are copied: 4 elements each.
constexpr size_t gather_pieces(size_t width) { return (width + 3) / 4; }

// `pieces` threads for each of `n_out` rows. Unsupported naming both when there would
// be more than kCountLimit.
Result<Launch> plan_gather(size_t n_out, size_t pieces);

}  // namespace minfer::metal

#pragma once
// A weight as a backend is given it, and what every backend asks of one before it takes it.

#include <span>
#include <string>

#include "base/result.h"
#include "graph/types.h"

namespace minfer {

// Weight bytes as they lie in the mapped file, which outlives every backend that registered them.
struct Weight {
    std::string name;
    DType dtype = DType::F32;
    Shape shape{1, 1, 1, 1};  // [in_dim, out_dim] or [width]
    std::span<const std::byte> data;
};

enum class WeightId : uint32_t {};

// One or two dimensions, rows of whole blocks, and as many bytes as they take; else BadInput naming
// the weight.
Result<> check_weight(const Weight& weight);

// For a name that is taken: BadInput naming it unless both are the same weight. Bytes are borrowed,
// so they are the same only at the same address.
Result<> check_known(const Weight& known, const Weight& weight);

}  // namespace minfer

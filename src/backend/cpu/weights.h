#pragma once
// Weights by name, as they lie in the file: borrowed, never copied.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/backend.h"

namespace minfer::cpu {

// True for the types a matrix may have: those with kernels and those that are dequantised by row.
bool runs_as_matrix(DType dtype);

class WeightTable {
  public:
    // A known name at the same address with the same type and shape is a no-op, otherwise it is
    // BadInput. Unsupported for a type without a kernel, BadInput for a shape or a byte count that
    // does not fit; all name the weight.
    Result<> add(const Weight& weight);
    std::optional<WeightId> find(std::string_view name) const;
    const Weight& operator[](WeightId id) const { return weights_[std::to_underlying(id)]; }
    size_t size() const { return weights_.size(); }
    size_t bytes() const { return bytes_; }

  private:
    std::vector<Weight> weights_;
    std::unordered_map<std::string, WeightId> by_name_;
    size_t bytes_ = 0;
};

}  // namespace minfer::cpu

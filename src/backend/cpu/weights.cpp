#include "backend/cpu/weights.h"

#include <algorithm>
#include <cstdint>

namespace minfer::cpu {
namespace {

constexpr DType kMatrixTypes[] = {
    DType::F32,  DType::F16,  DType::BF16, DType::Q4_0,   DType::Q4_1,
    DType::Q5_0, DType::Q5_1, DType::Q8_0, DType::Q2_K,   DType::Q3_K,
    DType::Q4_K, DType::Q5_K, DType::Q6_K, DType::IQ4_NL, DType::IQ4_XS,
};

std::string list_matrix_types() {
    std::string list;
    for (const auto dtype : kMatrixTypes)
        list += (list.empty() ? "" : " ") + std::string(name(dtype));
    return list;
}

}  // namespace

bool runs_as_matrix(DType dtype) {
    return std::ranges::find(kMatrixTypes, dtype) != std::end(kMatrixTypes);
}

Result<> WeightTable::add(const Weight& weight) {
    if (const auto id = find(weight.name)) return check_known((*this)[*id], weight);
    const bool matrix = weight.shape[1] > 1;
    if (matrix && !runs_as_matrix(weight.dtype))
        return fail(Fault::Unsupported, "weight '{}': type {} does not run, these do: {}",
                    weight.name, name(weight.dtype), list_matrix_types());
    if (!matrix && weight.dtype != DType::F32 && !runs_as_matrix(weight.dtype))
        return fail(Fault::Unsupported, "weight '{}': one-dimensional weights are F32, found {}",
                    weight.name, name(weight.dtype));
    MINFER_TRY(check_weight(weight));
    if (reinterpret_cast<uintptr_t>(weight.data.data()) % alignof(float) != 0)
        return fail(Fault::BadInput, "weight '{}': its data is not aligned to {} bytes",
                    weight.name, alignof(float));
    const auto id = WeightId{static_cast<uint32_t>(weights_.size())};
    weights_.push_back(weight);
    by_name_.emplace(weight.name, id);
    bytes_ += weight.data.size();
    return {};
}

std::optional<WeightId> WeightTable::find(std::string_view name) const {
    const auto found = by_name_.find(std::string(name));
    if (found == by_name_.end()) return std::nullopt;
    return found->second;
}

}  // namespace minfer::cpu

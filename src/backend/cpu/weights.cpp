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
    const auto& shape = weight.shape;
    if (const auto id = find(weight.name)) {
        // Borrowed bytes are the same weight only at the same address.
        const auto& known = (*this)[*id];
        if (known.data.data() == weight.data.data() && known.data.size() == weight.data.size() &&
            known.dtype == weight.dtype && known.shape == shape)
            return {};
        return fail(Fault::BadInput,
                    "weight '{}' is registered already, as {} [{}, {}], and this {} [{}, {}] has "
                    "other data",
                    weight.name, name(known.dtype), known.shape[0], known.shape[1],
                    name(weight.dtype), shape[0], shape[1]);
    }
    const bool matrix = shape[1] > 1;
    if (matrix && !runs_as_matrix(weight.dtype))
        return fail(Fault::Unsupported, "weight '{}': type {} does not run, these do: {}",
                    weight.name, name(weight.dtype), list_matrix_types());
    if (!matrix && weight.dtype != DType::F32 && !runs_as_matrix(weight.dtype))
        return fail(Fault::Unsupported, "weight '{}': one-dimensional weights are F32, found {}",
                    weight.name, name(weight.dtype));
    if (shape[0] == 0 || shape[1] == 0 || shape[2] != 1 || shape[3] != 1)
        return fail(Fault::BadInput,
                    "weight '{}': shape [{}, {}, {}, {}], one or two dimensions run", weight.name,
                    shape[0], shape[1], shape[2], shape[3]);
    if (shape[0] % info(weight.dtype).block_values != 0)
        return fail(Fault::BadInput, "weight '{}': rows of {} elements, {} needs multiples of {}",
                    weight.name, shape[0], name(weight.dtype), info(weight.dtype).block_values);
    const auto bytes = row_bytes(weight.dtype, shape[0]) * shape[1];
    if (weight.data.size() != bytes)
        return fail(Fault::BadInput, "weight '{}': {} [{}, {}] takes {} bytes, found {}",
                    weight.name, name(weight.dtype), shape[0], shape[1], bytes, weight.data.size());
    if (reinterpret_cast<uintptr_t>(weight.data.data()) % alignof(float) != 0)
        return fail(Fault::BadInput, "weight '{}': its data is not aligned to {} bytes",
                    weight.name, alignof(float));
    const auto id = WeightId{static_cast<uint32_t>(weights_.size())};
    weights_.push_back(weight);
    by_name_.emplace(weight.name, id);
    bytes_ += bytes;
    return {};
}

std::optional<WeightId> WeightTable::find(std::string_view name) const {
    const auto found = by_name_.find(std::string(name));
    if (found == by_name_.end()) return std::nullopt;
    return found->second;
}

}  // namespace minfer::cpu

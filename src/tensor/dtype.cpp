#include "tensor/dtype.h"

#include <algorithm>
#include <cctype>

#include "base/result.h"

namespace minfer {
namespace {

// Block sizes: the layouts are described in tensor/blocks.h for the types we compute with.
constexpr DTypeInfo kDTypes[] = {
    {DType::F32, "F32", 1, 4},
    {DType::F16, "F16", 1, 2},
    {DType::Q4_0, "Q4_0", 32, 18},
    {DType::Q4_1, "Q4_1", 32, 20},
    {DType::Q5_0, "Q5_0", 32, 22},
    {DType::Q5_1, "Q5_1", 32, 24},
    {DType::Q8_0, "Q8_0", 32, 34},
    {DType::Q8_1, "Q8_1", 32, 36},
    {DType::Q2_K, "Q2_K", 256, 84},
    {DType::Q3_K, "Q3_K", 256, 110},
    {DType::Q4_K, "Q4_K", 256, 144},
    {DType::Q5_K, "Q5_K", 256, 176},
    {DType::Q6_K, "Q6_K", 256, 210},
    {DType::Q8_K, "Q8_K", 256, 292},
    {DType::IQ2_XXS, "IQ2_XXS", 256, 66},
    {DType::IQ2_XS, "IQ2_XS", 256, 74},
    {DType::IQ3_XXS, "IQ3_XXS", 256, 98},
    {DType::IQ1_S, "IQ1_S", 256, 50},
    {DType::IQ4_NL, "IQ4_NL", 32, 18},
    {DType::IQ3_S, "IQ3_S", 256, 110},
    {DType::IQ2_S, "IQ2_S", 256, 82},
    {DType::IQ4_XS, "IQ4_XS", 256, 136},
    {DType::I8, "I8", 1, 1},
    {DType::I16, "I16", 1, 2},
    {DType::I32, "I32", 1, 4},
    {DType::I64, "I64", 1, 8},
    {DType::F64, "F64", 1, 8},
    {DType::IQ1_M, "IQ1_M", 256, 56},
    {DType::BF16, "BF16", 1, 2},
    {DType::TQ1_0, "TQ1_0", 256, 54},
    {DType::TQ2_0, "TQ2_0", 256, 66},
    {DType::MXFP4, "MXFP4", 32, 17},
    {DType::NVFP4, "NVFP4", 64, 36},
    {DType::Q1_0, "Q1_0", 128, 18},
};

bool same_letters(std::string_view a, std::string_view b) {
    return std::ranges::equal(
        a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

const DTypeInfo& info(DType type) {
    const auto* const row = std::ranges::find(kDTypes, type, &DTypeInfo::type);
    MINFER_ASSERT(row != std::end(kDTypes));
    return *row;
}

std::optional<DType> dtype_from_file(uint32_t number) {
    const auto* const row =
        std::ranges::find(kDTypes, static_cast<DType>(number), &DTypeInfo::type);
    if (row == std::end(kDTypes)) return std::nullopt;
    return row->type;
}

std::string_view removed_dtype_name(uint32_t number) {
    switch (number) {
        case 4:
            return "Q4_2";
        case 5:
            return "Q4_3";
        case 31:
            return "Q4_0_4_4";
        case 32:
            return "Q4_0_4_8";
        case 33:
            return "Q4_0_8_8";
        case 36:
            return "IQ4_NL_4_4";
        case 37:
            return "IQ4_NL_4_8";
        case 38:
            return "IQ4_NL_8_8";
        default:
            return {};
    }
}

std::span<const DTypeInfo> all_dtypes() { return kDTypes; }

std::optional<DType> dtype_from_name(std::string_view name) {
    for (const auto& row : kDTypes)
        if (same_letters(row.name, name)) return row.type;
    return std::nullopt;
}

}  // namespace minfer

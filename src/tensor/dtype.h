#pragma once
// The element types of GGUF files, numbered as in the files. One table; a new type is a new row.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace minfer {

enum class DType : uint32_t {
    F32 = 0,
    F16 = 1,
    Q4_0 = 2,
    Q4_1 = 3,
    Q5_0 = 6,
    Q5_1 = 7,
    Q8_0 = 8,
    Q8_1 = 9,
    Q2_K = 10,
    Q3_K = 11,
    Q4_K = 12,
    Q5_K = 13,
    Q6_K = 14,
    Q8_K = 15,
    IQ2_XXS = 16,
    IQ2_XS = 17,
    IQ3_XXS = 18,
    IQ1_S = 19,
    IQ4_NL = 20,
    IQ3_S = 21,
    IQ2_S = 22,
    IQ4_XS = 23,
    I8 = 24,
    I16 = 25,
    I32 = 26,
    I64 = 27,
    F64 = 28,
    IQ1_M = 29,
    BF16 = 30,
    TQ1_0 = 34,
    TQ2_0 = 35,
    MXFP4 = 39,
    NVFP4 = 40,
    Q1_0 = 41,
};

struct DTypeInfo {
    DType type;
    std::string_view name;  // as GGUF tools print it
    uint32_t block_values;  // elements that share one block
    uint32_t block_bytes;
};

// The row for `type`, which must be an enumerator.
const DTypeInfo& info(DType type);

// The type with this number in a file, or nothing for numbers never assigned or since removed.
std::optional<DType> dtype_from_file(uint32_t number);

// What a number that the format gave up (4, 5, 31-33, 36-38) stood for; empty for any other.
std::string_view removed_dtype_name(uint32_t number);

// Every row of the table, in the order of the numbers.
std::span<const DTypeInfo> all_dtypes();

// The type of this name in any letter case ("q4_K", "Q4_K"), or nothing.
std::optional<DType> dtype_from_name(std::string_view name);

inline std::string_view name(DType type) { return info(type).name; }

// Bytes of `values` elements; `values` must be a multiple of the block.
inline size_t row_bytes(DType type, size_t values) {
    return values / info(type).block_values * info(type).block_bytes;
}

}  // namespace minfer

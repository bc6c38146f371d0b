#include "softmetal/api/data_type.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace softmetal::api {
namespace {

// A scalar and its vectors have four numbers in a row.
struct Scalar {
    std::string_view name;
    MTL::DataType first;
    uint32_t bytes;
};
constexpr Scalar kScalars[] = {
    {"float", MTL::DataTypeFloat, 4},   {"half", MTL::DataTypeHalf, 2},
    {"bfloat", MTL::DataTypeBFloat, 2}, {"int", MTL::DataTypeInt, 4},
    {"uint", MTL::DataTypeUInt, 4},     {"short", MTL::DataTypeShort, 2},
    {"ushort", MTL::DataTypeUShort, 2}, {"char", MTL::DataTypeChar, 1},
    {"uchar", MTL::DataTypeUChar, 1},   {"bool", MTL::DataTypeBool, 1},
    {"long", MTL::DataTypeLong, 8},     {"ulong", MTL::DataTypeULong, 8},
};

struct Alias {
    std::string_view name, stands_for;
};
constexpr Alias kAliases[] = {
    {"int8_t", "char"},        {"uint8_t", "uchar"},     {"int16_t", "short"},
    {"uint16_t", "ushort"},    {"int32_t", "int"},       {"uint32_t", "uint"},
    {"int64_t", "long"},       {"uint64_t", "ulong"},    {"size_t", "ulong"},
    {"ptrdiff_t", "long"},     {"bfloat16_t", "bfloat"}, {"float16_t", "half"},
    {"float32_t", "float"},    {"atomic_int", "int"},    {"atomic_uint", "uint"},
    {"atomic_float", "float"}, {"atomic_bool", "bool"},  {"atomic_ulong", "ulong"},
};

}  // namespace

uint32_t constant_bytes(MTL::DataType type) {
    for (const auto& scalar : kScalars) {
        if (type < scalar.first || type > scalar.first + 3) continue;
        const auto width = static_cast<uint32_t>(type - scalar.first) + 1;
        return scalar.bytes * (width == 3 ? 4 : width);  // three take the room of four
    }
    return 0;
}

MTL::DataType data_type(std::string_view name) {
    for (const auto& alias : kAliases) {
        if (name == alias.name) name = alias.stands_for;
    }
    for (const auto& scalar : kScalars) {
        if (!name.starts_with(scalar.name)) continue;
        const auto rest = name.substr(scalar.name.size());
        if (rest.empty()) return scalar.first;
        if (rest.size() == 1 && rest[0] >= '2' && rest[0] <= '4') {
            return static_cast<MTL::DataType>(scalar.first +
                                              static_cast<NS::UInteger>(rest[0] - '1'));
        }
        // Columns x rows: float2x2 is the first of nine.
        const bool is_matrix = rest.size() == 3 && rest[1] == 'x' && rest[0] >= '2' &&
                               rest[0] <= '4' && rest[2] >= '2' && rest[2] <= '4';
        if (!is_matrix || (scalar.name != "float" && scalar.name != "half")) continue;
        const auto first = scalar.name == "float" ? MTL::DataTypeFloat2x2 : MTL::DataTypeHalf2x2;
        return static_cast<MTL::DataType>(
            first + static_cast<NS::UInteger>((rest[0] - '2') * 3 + (rest[2] - '2')));
    }
    return MTL::DataTypeStruct;
}

std::string element_name(std::string_view type) {
    constexpr std::string_view kDropped[] = {"device", "constant", "threadgroup", "thread",
                                             "const",  "volatile", "restrict",    "__restrict",
                                             "metal",  "coherent", "struct",      "unsigned"};
    std::string result, word;
    bool is_unsigned = false;
    int depth = 0;  // of template brackets, whose text stays as it is
    const auto flush = [&] {
        is_unsigned |= word == "unsigned";
        if (std::ranges::find(kDropped, word) == std::end(kDropped)) result += word;
        word.clear();
    };
    for (const char c : type) {
        if (depth > 0 || c == '<') {
            if (depth == 0) flush();
            depth += c == '<' ? 1 : c == '>' ? -1 : 0;
            if (c != ' ') result += c;
        } else if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
            word += c;
        } else {
            flush();
        }
    }
    flush();
    if (is_unsigned) result = "u" + (result.empty() ? "int" : result);
    // vec<float,4> is float4 by another name; so is packed_float4 to whoever asks for the type.
    if (result.starts_with("vec<") && result.ends_with('>')) {
        const auto comma = result.find(',');
        if (comma != std::string::npos) {
            return result.substr(4, comma - 4) +
                   result.substr(comma + 1, result.size() - comma - 2);
        }
    }
    if (result.starts_with("atomic<") && result.ends_with('>')) {
        return result.substr(7, result.size() - 8);
    }
    if (result.starts_with("packed_")) return result.substr(7);
    return result;
}

}  // namespace softmetal::api

// MTLDataType and the names that types have in the shading language.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <Metal/MTLArgument.hpp>
#include <Metal/MTLDataType.hpp>

namespace softmetal::api {

// Bytes of a value that a function constant can have; 0 for any other type.
uint32_t constant_bytes(MTL::DataType type);

// "float4" -> MTLDataTypeFloat4. A name that is none of the language's own types is a struct's.
MTL::DataType data_type(std::string_view name);

// "device const float4 *" -> "float4": the type without qualifiers, address spaces, pointers and
// references.
std::string element_name(std::string_view type);

}  // namespace softmetal::api

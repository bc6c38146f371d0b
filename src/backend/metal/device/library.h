#pragma once
// Where the kernels come from: built into the program, or a file.

#include <Metal/Metal.hpp>
#include <string>

#include "base/result.h"

namespace minfer::metal {

// `path` empty: the built-in kernels. Else a .metal source, compiled here, or a compiled library.
// Errors name the path and what the compiler said.
Result<NS::SharedPtr<MTL::Library>> load_library(MTL::Device* device, const std::string& path);

}  // namespace minfer::metal

#pragma once
// The kernels that are part of the program: source on a Mac, machine code elsewhere. The build
// picks the file that implements this.

#include <Metal/Metal.hpp>
#include <string>

#include "base/result.h"

namespace minfer::metal {

Result<NS::SharedPtr<MTL::Library>> built_in_library(MTL::Device* device);

// Of source text without includes of ours.
Result<NS::SharedPtr<MTL::Library>> compile_library(MTL::Device* device, const std::string& source);

}  // namespace minfer::metal

// The NSErrors of Metal: their domains, and how softmetal makes one.
#pragma once

#include <cstdint>
#include <string_view>

#include "softmetal/objc/foundation/error.h"
#include "softmetal/objc/foundation/string.h"

extern "C" {
extern const softmetal::objc::ConstantString* const MTLCommandBufferErrorDomain;
extern const softmetal::objc::ConstantString* const MTLLibraryErrorDomain;
extern const softmetal::objc::ConstantString* const MTLCommandBufferEncoderInfoErrorKey;
}

namespace softmetal::api {

// `reports`: MTLCommandBufferEncoderInfo objects for the user info, or null.
objc::Ref<objc::Error> make_error(const objc::ConstantString* domain, int64_t code,
                                  std::string_view description, objc::Array* reports = nullptr);

}  // namespace softmetal::api

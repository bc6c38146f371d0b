// The NSErrors of Metal: their domains, and how softmetal makes one; and what goes wrong without
// one.
#pragma once

#include <cstdint>
#include <string>
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

// Of a device or command queue that could not be made: nil carries no NSError (control.h's
// why_nil).
void keep_reason_of_nil(std::string why);
std::string reason_of_nil();

}  // namespace softmetal::api

// How many bytes a value has whose type an @encode string describes: "i", "^v", "[4f]",
// "{Size=QQQ}".
#pragma once

#include <cstddef>

namespace softmetal::objc {

// Stops the process at a string it cannot read.
size_t encoded_size(const char* encoding);

}  // namespace softmetal::objc

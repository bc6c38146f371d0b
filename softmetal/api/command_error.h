// MTLCommandBufferError numbers, for code that does not see Apple's headers, and how softmetal uses
// them.
#pragma once

#include <cstdint>

namespace softmetal::api {

constexpr int64_t kErrorInternal = 1;
constexpr int64_t kErrorTimeout = 2;    // a hang on request
constexpr int64_t kErrorPageFault = 3;  // what the executor found while a kernel ran
constexpr int64_t kErrorInvalidResource =
    9;  // misuse while encoding, released buffers, host access

}  // namespace softmetal::api

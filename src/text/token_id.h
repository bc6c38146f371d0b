#pragma once
// A row of the vocabulary. A type of its own, so that it cannot be mixed up with a position.

#include <cstdint>

namespace minfer {

enum class TokenId : int32_t {};

}  // namespace minfer

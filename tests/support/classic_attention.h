#pragma once

#include "backend/metal/metal_backend.h"

namespace minfer::test {

// No family but the classic one.
constexpr AttentionOptions kClassicAttention = {.flash = false,
                                                .split = false,
                                                .prefill_flash = false,
                                                .three_pass = false,
                                                .window_flash = false};

}  // namespace minfer::test

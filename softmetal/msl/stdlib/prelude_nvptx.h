// The prelude of a translation unit for NVIDIA GPUs. Every function is one of the device, and part
// of its caller: only then does the compiler see which memory a pointer means.
#pragma once

#pragma clang force_cuda_host_device begin
#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)

#include "softmetal/msl/stdlib/prelude.h"

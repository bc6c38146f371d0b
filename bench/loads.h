#pragma once
// What kernels load, where the device counts it: softmetal does (loads_soft.cpp), Apple's has no
// such counters (loads_apple.cpp).

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace minfer::bench {

// Runs `step`, which waits for what it starts, and returns the bytes that each kernel's SIMD groups
// read, what one of them loads twice counted once; nothing where nobody counts. A backend must
// live.
Result<std::vector<std::pair<std::string, double>>> count_loads(
    const std::function<Result<>()>& step);

}  // namespace minfer::bench

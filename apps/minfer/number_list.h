#pragma once
// "1,2,8", "128-512+128", "1-64*2", and mixtures: the values of one dimension of a benchmark.

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minfer {

// Every value in [low, high]; a range names its ends, both included when a step lands on them.
Result<std::vector<int64_t>> parse_number_list(std::string_view text, int64_t low, int64_t high);

}  // namespace minfer

#pragma once
// The kernels of the built-in library, for tests that see no metal-cpp.

#include <string>
#include <vector>

namespace minfer::test {

// By name, in no order.
std::vector<std::string> metal_kernel_names();

}  // namespace minfer::test

#pragma once
// A model file again with its matrices stored in another type: every type's kernels can then meet
// weights that mean something.

#include <filesystem>

#include "base/result.h"
#include "tensor/dtype.h"

namespace minfer::test {

// Vectors stay as they are. `type` is one that can_quantize(), with blocks that divide every row.
Result<> rewrite_model(const std::filesystem::path& from, DType type,
                       const std::filesystem::path& to);

}  // namespace minfer::test

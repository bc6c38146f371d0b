#pragma once
// The types that have to run as weight matrices on every device.

#include "tensor/dtype.h"

namespace minfer::test {

inline constexpr DType kWeightTypes[] = {
    DType::Q4_0, DType::Q4_1, DType::Q5_0, DType::Q5_1, DType::Q8_0, DType::Q4_K,
    DType::Q5_K, DType::Q6_K, DType::F16,  DType::BF16, DType::F32,
};

}  // namespace minfer::test

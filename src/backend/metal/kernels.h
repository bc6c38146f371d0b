#pragma once
// The pipelines of a backend. Those that any model needs are built when the backend is made, those
// of a weight type when the first matrix of that type is registered or a graph with one is mapped,
// those that touch cells when a graph with them is mapped; none while a model runs.

#include <map>

#include "backend/metal/attention.h"
#include "backend/metal/elementwise.h"
#include "backend/metal/fused.h"
#include "backend/metal/gather.h"
#include "backend/metal/gemm.h"
#include "backend/metal/kv.h"
#include "backend/metal/matmul.h"
#include "backend/metal/norm.h"
#include "backend/metal/rope.h"
#include "backend/metal/warm_up.h"
#include "tensor/dtype.h"

namespace minfer::metal {

// "get_rows" and Q4_K: "get_rows_q4_k". Unsupported for a type that does not run.
Result<std::string> weight_kernel_name(std::string_view family, DType dtype);

struct Kernels {
    AttentionKernels attention;
    ElementwiseKernels elementwise;
    FusedKernels fused;
    KvKernels kv;
    NormKernels norm;
    GatherKernels gather;
    RopeKernels rope;
    WarmUpKernels warm_up;
    Pipeline add_bias;
    std::map<DType, MatmulKernels> matmul;
    std::map<DType, GemmKernels> gemm;

    // Errors name the kernel, as Device::pipeline has them.
    static Result<Kernels> build(const Device& device);
    // For weight matrices of this type, as the options have them multiplied; does nothing the
    // second time. Unsupported when no kernel runs the type.
    Result<> build_for(const Device& device, DType dtype, const MetalOptions& options);
};

}  // namespace minfer::metal

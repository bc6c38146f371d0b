// MTLComputePipelineReflection: what a kernel says of its arguments, in Metal's two vocabularies
// (MTLArgument and MTLBinding).
#pragma once

#include <memory>
#include <vector>

#include <Metal/MTLArgument.hpp>

#include "softmetal/api/kernel_code.h"
#include "softmetal/objc/object.h"

namespace softmetal::api {

// One argument, as MTLArgument, MTLBufferBinding or MTLThreadgroupBinding.
struct ReflectedArgument : objc::Object {
    ReflectedArgument(std::shared_ptr<const KernelCode> from, const sm_argument* which)
        : code(std::move(from)), argument(which) {}

    const std::shared_ptr<const KernelCode> code;  // holds the argument
    const sm_argument* const argument;
};
struct Argument : ReflectedArgument {
    using ReflectedArgument::ReflectedArgument;
};
struct BufferBinding : ReflectedArgument {
    using ReflectedArgument::ReflectedArgument;
};
struct ThreadgroupBinding : ReflectedArgument {
    using ReflectedArgument::ReflectedArgument;
};

struct ComputePipelineReflection : objc::Object {
    explicit ComputePipelineReflection(std::shared_ptr<const KernelCode> from)
        : code(std::move(from)) {}
    const std::shared_ptr<const KernelCode> code;
};

objc::Ref<ComputePipelineReflection> make_reflection(std::shared_ptr<const KernelCode> code);

void register_reflection();

}  // namespace softmetal::api

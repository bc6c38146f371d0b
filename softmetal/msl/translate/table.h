// The module's reflection table as C++ text, appended to the translated source.
#pragma once

#include <string>
#include <vector>

#include "softmetal/msl/translate/kernels.h"

namespace softmetal::msl {

struct Module {
    std::vector<Kernel> kernels;
    std::vector<Instance> instances;
    std::vector<FunctionConstant> constants;
};

std::string write_table(const Module& module, const std::vector<std::string>& files);

// For NVIDIA GPUs: entries sm_kernel_0, sm_kernel_1, ..., in the order of the instances.
std::string write_nvptx_entries(const Module& module);

// The name of an instance as far as its tokens tell.
std::string name_of(const Instance& instance, const Kernel& kernel);

}  // namespace softmetal::msl

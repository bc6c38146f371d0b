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

}  // namespace softmetal::msl

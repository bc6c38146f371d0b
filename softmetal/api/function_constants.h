// MTLFunctionConstantValues: values for function constants, by index or by name.
#pragma once

#include <vector>

#include <Metal/MTLFunctionConstantValues.hpp>

#include "softmetal/exec/module.h"
#include "softmetal/objc/object.h"

namespace softmetal::api {

struct FunctionConstantValues : objc::Object {
    std::vector<exec::ConstantValue> values;  // the last one set for an index or name
};

void register_function_constants();

}  // namespace softmetal::api

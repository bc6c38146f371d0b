// MTLFunction: a kernel of a library, specialised or not, and what MTLLibrary makes it with.
#pragma once

#include <memory>
#include <string>

#include <Metal/MTLFunctionDescriptor.hpp>
#include <Metal/MTLLibrary.hpp>

#include "softmetal/api/device.h"
#include "softmetal/api/function_constants.h"
#include "softmetal/api/kernel_code.h"
#include "softmetal/objc/foundation/error.h"
#include "softmetal/objc/object.h"

namespace softmetal::api {

struct Library;

struct FunctionDescriptor : objc::Object {
    objc::Ref<Object> name, specialized_name;
    objc::Ref<FunctionConstantValues> constants;
    MTL::FunctionOptions options = MTL::FunctionOptionNone;
};

struct Function : objc::Object {
    const objc::Ref<Device> device;
    const std::string name;
    const std::shared_ptr<const Unit> unit;
    const uint64_t max_threads;  // of the library's compile options; 0: none
    // Not there when a constant that the function depends on has no value: then no pipeline can be
    // made of it.
    const Result<std::shared_ptr<KernelCode>> code;
    objc::Ref<Object> label;

    Function(const Library& library, std::string name, std::shared_ptr<const Unit> unit,
             Result<std::shared_ptr<KernelCode>> code);
};

using FunctionHandler = void (^)(Function*, objc::Error*);

// Methods of MTLLibrary.
Function* new_function(Library* library, objc::Object* name);
Function* new_function_with_constants(Library* library, objc::Object* name,
                                      FunctionConstantValues* constants, objc::Object** error);
void new_function_with_constants_async(Library* library, objc::Object* name,
                                       FunctionConstantValues* constants, FunctionHandler handler);
Function* new_function_with_descriptor(Library* library, FunctionDescriptor* descriptor,
                                       objc::Object** error);
void new_function_with_descriptor_async(Library* library, FunctionDescriptor* descriptor,
                                        FunctionHandler handler);

void register_function();

}  // namespace softmetal::api

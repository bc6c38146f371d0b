// MTLLibrary: compiled units and the functions in them, made from source, from an .smlib file, or
// from its bytes.
#pragma once

#include <dispatch/dispatch.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <Metal/MTLLibrary.hpp>

#include "softmetal/api/compile_options.h"
#include "softmetal/api/device.h"
#include "softmetal/api/function.h"
#include "softmetal/api/kernel_code.h"
#include "softmetal/objc/block.h"
#include "softmetal/objc/foundation/error.h"
#include "softmetal/objc/object.h"

namespace softmetal::api {

struct Library : objc::Object {
    // Fails when a unit is not a module of this ABI.
    static Result<objc::Ref<Library>> make(objc::Ref<Device> device, msl::CompiledLibrary compiled,
                                           uint64_t max_threads);
    explicit Library(objc::Ref<Device> on) : device(std::move(on)) {}

    const objc::Ref<Device> device;
    objc::Ref<Object> label;
    uint64_t max_threads = 0;        // MTLCompileOptions.maxTotalThreadsPerThreadgroup
    std::vector<std::string> names;  // in the order of the source
    std::unordered_map<std::string, std::shared_ptr<const Unit>> unit_of;
};

using LibraryHandler = void (^)(Library*, objc::Error*);

// Methods of MTLDevice.
Library* new_library_with_source(Device* device, objc::Object* source, CompileOptions* options,
                                 objc::Object** error);
void new_library_with_source_async(Device* device, objc::Object* source, CompileOptions* options,
                                   LibraryHandler handler);
Library* new_library_with_url(Device* device, objc::Object* url, objc::Object** error);
Library* new_library_with_file(Device* device, objc::Object* path, objc::Object** error);
Library* new_library_with_data(Device* device, dispatch_data_t data, objc::Object** error);
// default.smlib beside the executable.
Library* new_default_library(Device* device);
Library* new_default_library_with_bundle(Device* device, objc::Object* bundle,
                                         objc::Object** error);

void register_library();

}  // namespace softmetal::api

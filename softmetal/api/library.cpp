#include "softmetal/api/library.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "softmetal/api/errors.h"
#include "softmetal/msl/process.h"
#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/bundle.h"
#include "softmetal/objc/foundation/collections.h"
#include "softmetal/objc/foundation/dispatch_data.h"
#include "softmetal/objc/foundation/string.h"
#include "softmetal/objc/foundation/url.h"

namespace softmetal::api {

Result<objc::Ref<Library>> Library::make(objc::Ref<Device> device, msl::CompiledLibrary compiled,
                                         uint64_t max_threads) {
    auto library = objc::make<Library>(std::move(device));
    library->max_threads = max_threads;
    for (auto& compiled_unit : compiled.units) {
        const auto unit = std::make_shared<const Unit>(std::move(compiled_unit));
        const auto module = SOFTMETAL_TRY(unit->module(false));
        const auto& table = module->table();
        for (const auto& kernel : std::span(table.kernels, table.n_kernels)) {
            if (!library->unit_of.emplace(kernel.name, unit).second) {
                return fail(fmt::format("two functions are called '{}'", kernel.name));
            }
            library->names.emplace_back(kernel.name);
        }
    }
    return library;
}

namespace {

struct Failed {
    MTL::LibraryError code;
    std::string why;
};
using Made = std::expected<objc::Ref<Library>, Failed>;

std::unexpected<Failed> failed(MTL::LibraryError code, std::string why) {
    return std::unexpected(Failed{code, std::move(why)});
}

objc::Ref<objc::Error> error_of(const Failed& what) {
    return make_error(MTLLibraryErrorDomain, static_cast<int64_t>(what.code), what.why);
}

Library* handed_out(Made made, objc::Object** error) {
    if (made) return made->leak();
    objc::set_error(error, error_of(made.error()));
    return nullptr;
}

// No source: the string was nil.
Made from_source(Device* device, std::optional<std::string_view> source,
                 const CompileOptions* options) {
    if (!source) return failed(MTL::LibraryErrorCompileFailure, "newLibrary: the source is nil");
    const auto told = compile_options(options);
    if (!told) return failed(MTL::LibraryErrorUnsupported, told.error());
    auto unit = msl::compile(*source, "program_source", {}, *told);
    if (!unit) return failed(MTL::LibraryErrorCompileFailure, unit.error());
    auto compiled = msl::CompiledLibrary();
    compiled.units.push_back(*std::move(unit));
    auto library = Library::make(objc::Ref<Device>::retaining(device), std::move(compiled),
                                 options ? options->max_threads : 0);
    if (!library) return failed(MTL::LibraryErrorInternal, library.error());
    return *std::move(library);
}

Made from_bytes(Device* device, std::string_view bytes, const std::string& name) {
    if (bytes.starts_with("MTLB")) {
        return failed(
            MTL::LibraryErrorUnsupported,
            fmt::format("{} is a metallib of Apple's compiler, code for another processor; "
                        "softmetal reads .smlib files, which mslc makes from the same source",
                        name));
    }
    auto compiled = msl::deserialize(bytes);
    if (!compiled) {
        return failed(MTL::LibraryErrorInternal, fmt::format("{}: {}", name, compiled.error()));
    }
    auto library = Library::make(objc::Ref<Device>::retaining(device), *std::move(compiled), 0);
    if (!library) {
        return failed(MTL::LibraryErrorInternal, fmt::format("{}: {}", name, library.error()));
    }
    return *std::move(library);
}

Made from_file(Device* device, const std::string& path) {
    const auto bytes = msl::read_file(path);
    if (!bytes) {
        return failed(MTL::LibraryErrorFileNotFound, fmt::format("no library: {}", bytes.error()));
    }
    return from_bytes(device, *bytes, fmt::format("library '{}'", path));
}

Made from_default(Device* device) {
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    return from_file(device, program.parent_path() / "default.smlib");
}

std::optional<std::string> source_of(objc::Object* text) {
    if (text == nullptr) return std::nullopt;
    return std::string(objc::text_of(text));
}

objc::Object* function_names(Library* library) {
    std::vector<objc::Ref<objc::String>> names;
    for (const auto& name : library->names) names.push_back(objc::make_string(name));
    return objc::autoreleased(objc::make_array(names));
}

}  // namespace

Library* new_library_with_source(Device* device, objc::Object* source, CompileOptions* options,
                                 objc::Object** error) {
    return handed_out(from_source(device, source_of(source), options), error);
}

void new_library_with_source_async(Device* device, objc::Object* source, CompileOptions* options,
                                   LibraryHandler handler) {
    // Options may change after this call.
    auto kept = objc::copy_of(options);
    device->background().add([held = objc::Ref<Device>::retaining(device), text = source_of(source),
                              kept = std::move(kept),
                              block = objc::Block<void(Library*, objc::Error*)>(handler)] {
        const auto made = from_source(held.get(), text, objc::as<CompileOptions>(kept.get()));
        if (made) {
            block(made->get(), nullptr);
        } else {
            block(nullptr, error_of(made.error()).get());
        }
    });
}

Library* new_library_with_url(Device* device, objc::Object* url, objc::Object** error) {
    const auto* place = objc::as<objc::Url>(url);
    return handed_out(from_file(device, place ? place->path : ""), error);
}

Library* new_library_with_file(Device* device, objc::Object* path, objc::Object** error) {
    return handed_out(from_file(device, std::string(objc::text_of(path))), error);
}

Library* new_library_with_data(Device* device, dispatch_data_t data, objc::Object** error) {
    if (data == nullptr) {
        return handed_out(failed(MTL::LibraryErrorInternal, "the library's data is nil"), error);
    }
    return handed_out(from_bytes(device, objc::bytes_of(data), "the library's data"), error);
}

Library* new_default_library(Device* device) { return handed_out(from_default(device), nullptr); }

Library* new_default_library_with_bundle(Device* device, objc::Object*, objc::Object** error) {
    // A program on its own is its main bundle, and there are no others.
    return handed_out(from_default(device), error);
}

void register_library() {
    using objc::method;
    objc::define_class<Library>(
        "MTLLibrary",
        {
            method<+[](Library* l) { return l->device.get(); }>("device"),
            objc::copied_property<&Library::label>("label", "setLabel:"),
            method<&function_names>("functionNames"),
            method<+[](Library*) { return MTL::LibraryTypeExecutable; }>("type"),
            method<+[](Library*) -> objc::Object* { return nullptr; }>("installName"),
            method<&new_function>("newFunctionWithName:"),
            method<&new_function_with_constants>("newFunctionWithName:constantValues:error:"),
            method<&new_function_with_constants_async>(
                "newFunctionWithName:constantValues:completionHandler:"),
            method<&new_function_with_descriptor>("newFunctionWithDescriptor:error:"),
            method<&new_function_with_descriptor_async>(
                "newFunctionWithDescriptor:completionHandler:"),
        });
}

}  // namespace softmetal::api

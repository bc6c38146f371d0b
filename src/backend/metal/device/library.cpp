#include "backend/metal/device/library.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "backend/metal/device/built_in.h"
#include "backend/metal/device/device.h"

namespace minfer::metal {
namespace {

using Library = NS::SharedPtr<MTL::Library>;

NS::String* text(const std::string& utf8) {
    return NS::String::string(utf8.c_str(), NS::UTF8StringEncoding);
}

}  // namespace

Result<Library> compile_library(MTL::Device* device, const std::string& source) {
    const AutoreleaseScope scope;
    const auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
    // Kernels choose fast functions by name; what holds for one build must hold for the other.
    // setMathMode says the same and is new in macOS 15.
    options->setFastMathEnabled(false);
    NS::Error* error = nullptr;
    auto library = NS::TransferPtr(device->newLibrary(text(source), options.get(), &error));
    if (!library) return fail(Fault::Device, "kernels do not compile: {}", describe(error));
    return library;
}

Result<Library> load_library(MTL::Device* device, const std::string& path) {
    const AutoreleaseScope scope;
    if (path.empty()) return built_in_library(device);
    auto status = std::error_code();
    if (!std::filesystem::is_regular_file(path, status))
        return fail(Fault::NotFound, "kernel library '{}': no such file", path);
    if (path.ends_with(".metal")) {
        auto file = std::ifstream(path, std::ios::binary);
        auto source = std::ostringstream();
        source << file.rdbuf();
        if (!file) return fail(Fault::Io, "kernel library '{}': cannot be read", path);
        auto library = compile_library(device, source.str());
        if (!library) return at(fmt::format("kernel library '{}'", path), library.error());
        return library;
    }
    NS::Error* error = nullptr;
    auto library =
        NS::TransferPtr(device->newLibrary(NS::URL::fileURLWithPath(text(path)), &error));
    if (!library) return fail(Fault::BadInput, "kernel library '{}': {}", path, describe(error));
    return library;
}

}  // namespace minfer::metal

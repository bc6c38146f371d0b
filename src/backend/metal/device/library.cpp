#include "backend/metal/device/library.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "backend/metal/device/built_in.h"
#include "backend/metal/device/device.h"
#include "base/printable.h"
#include "base/utf8.h"

namespace minfer::metal {
namespace {

using Library = NS::SharedPtr<MTL::Library>;

NS::String* text(const std::string& utf8) {
    return NS::String::string(utf8.c_str(), NS::UTF8StringEncoding);
}

// The line with the first error; a compiler goes on with the source and with what follows from it.
std::string_view first_error(std::string_view report) {
    const auto error = report.find("error:");
    const auto newline = report.rfind('\n', error);
    if (error != std::string_view::npos && newline != std::string_view::npos)
        report.remove_prefix(newline + 1);
    return report.substr(0, report.find('\n'));
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
    if (!library)
        return fail(Fault::Device, "kernels do not compile: {}", first_error(describe(error)));
    return library;
}

Result<Library> load_library(MTL::Device* device, const std::string& path) {
    const AutoreleaseScope scope;
    if (path.empty()) return built_in_library(device);
    // Metal takes paths as UTF-8.
    if (const auto bad = find_invalid_utf8(path))
        return fail(Fault::BadInput, "kernel library {}: byte {} of the path is not UTF-8",
                    printable(path), *bad);
    auto error_code = std::error_code();
    const auto status = std::filesystem::status(path, error_code);
    if (status.type() == std::filesystem::file_type::not_found)
        return fail(Fault::NotFound, "kernel library '{}': no such file", path);
    if (!std::filesystem::exists(status))
        return fail(Fault::Io, "kernel library '{}': {}", path, error_code.message());
    if (!std::filesystem::is_regular_file(status))
        return fail(Fault::BadInput, "kernel library '{}': not a regular file", path);
    if (path.ends_with(".metal")) {
        auto file = std::ifstream(path, std::ios::binary);
        auto source = std::ostringstream();
        source << file.rdbuf();
        if (!file) return fail(Fault::Io, "kernel library '{}': cannot be read", path);
        if (const auto bad = find_invalid_utf8(source.view()))
            return fail(Fault::BadInput, "kernel library '{}': byte {} is not UTF-8", path, *bad);
        if (const auto zero = source.view().find('\0'); zero != std::string_view::npos)
            return fail(Fault::BadInput, "kernel library '{}': byte {} is zero, not text", path,
                        zero);
        auto library = compile_library(device, source.str());
        if (!library) return at(fmt::format("kernel library '{}'", path), library.error());
        return library;
    }
    NS::Error* error = nullptr;
    auto library =
        NS::TransferPtr(device->newLibrary(NS::URL::fileURLWithPath(text(path)), &error));
    if (library) return library;
    const auto why = describe(error);
    // Some devices name the file themselves.
    if (why.contains(path)) return fail(Fault::BadInput, "kernels cannot be loaded: {}", why);
    return fail(Fault::BadInput, "kernel library '{}': {}", path, why);
}

}  // namespace minfer::metal

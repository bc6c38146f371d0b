#include "softmetal/api/compile_options.h"

#include <fmt/format.h>

#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/number.h"
#include "softmetal/objc/foundation/string.h"

namespace softmetal::api {
namespace {

// Strings stand as they are, numbers as they print: -stringValue, which both have.
std::string macro_value(objc::Object* value) {
    if (objc::is_string(value)) return std::string(objc::text_of(value));
    static const SEL selector = objc::intern("stringValue");
    return std::string(objc::text_of(objc::send<objc::Object*>(value, selector)));
}

CompileOptions* copy(CompileOptions* from) {
    auto made = objc::make<CompileOptions>();
    made->macros = from->macros;
    made->math_mode = from->math_mode;
    made->math_functions = from->math_functions;
    made->language = from->language;
    made->library_type = from->library_type;
    made->optimization = from->optimization;
    made->visibility = from->visibility;
    made->install_name = from->install_name;
    made->libraries = from->libraries;
    made->preserve_invariance = from->preserve_invariance;
    made->enable_logging = from->enable_logging;
    made->allow_undefined_symbols = from->allow_undefined_symbols;
    made->max_threads = from->max_threads;
    return made.leak();
}

}  // namespace

Result<msl::CompileOptions> compile_options(const CompileOptions* options) {
    auto result = msl::CompileOptions{.fast_math = true};
    if (options == nullptr) return result;
    if (options->language > MTL::LanguageVersion3_1) {
        return fail(fmt::format("language version {}.{} is not supported, 3.1 is the highest",
                                options->language >> 16, options->language & 0xffff));
    }
    if (options->library_type != MTL::LibraryTypeExecutable) {
        return fail("dynamic libraries are not supported");
    }
    if (options->libraries && !options->libraries->items.empty()) {
        return fail("linking with dynamic libraries is not supported");
    }
    result.fast_math = options->math_mode == MTL::MathModeFast;
    if (options->macros) {
        for (const auto& [name, value] : options->macros->entries) {
            result.macros.emplace_back(objc::text_of(name.get()), macro_value(value.get()));
        }
    }
    return result;
}

void register_compile_options() {
    using objc::method;
    using objc::property;
    using Options = CompileOptions;
    objc::define_class<Options>(
        "MTLCompileOptions",
        {
            objc::allocatable<Options>(),
            method<&copy>("copy"),
            objc::copied_property<&Options::macros>("preprocessorMacros", "setPreprocessorMacros:"),
            method<+[](Options* o) { return o->math_mode == MTL::MathModeFast; }>(
                "fastMathEnabled"),
            method<+[](Options* o, bool on) {
                o->math_mode = on ? MTL::MathModeFast : MTL::MathModeSafe;
            }>("setFastMathEnabled:"),
            property<&Options::math_mode>("mathMode", "setMathMode:"),
            property<&Options::math_functions>("mathFloatingPointFunctions",
                                               "setMathFloatingPointFunctions:"),
            property<&Options::language>("languageVersion", "setLanguageVersion:"),
            property<&Options::library_type>("libraryType", "setLibraryType:"),
            property<&Options::optimization>("optimizationLevel", "setOptimizationLevel:"),
            property<&Options::visibility>("compileSymbolVisibility",
                                           "setCompileSymbolVisibility:"),
            objc::copied_property<&Options::install_name>("installName", "setInstallName:"),
            property<&Options::libraries>("libraries", "setLibraries:"),
            property<&Options::preserve_invariance>("preserveInvariance", "setPreserveInvariance:"),
            property<&Options::enable_logging>("enableLogging", "setEnableLogging:"),
            property<&Options::allow_undefined_symbols>("allowReferencingUndefinedSymbols",
                                                        "setAllowReferencingUndefinedSymbols:"),
            property<&Options::max_threads>("maxTotalThreadsPerThreadgroup",
                                            "setMaxTotalThreadsPerThreadgroup:"),
        });
}

}  // namespace softmetal::api

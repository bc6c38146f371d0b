// MTLCompileOptions.
#pragma once

#include <Metal/MTLLibrary.hpp>

#include "softmetal/base/result.h"
#include "softmetal/msl/compiler.h"
#include "softmetal/objc/foundation/collections.h"
#include "softmetal/objc/object.h"

namespace softmetal::api {

struct CompileOptions : objc::Object {
    objc::Ref<objc::Dictionary> macros;
    MTL::MathMode math_mode = MTL::MathModeFast;
    MTL::MathFloatingPointFunctions math_functions = MTL::MathFloatingPointFunctionsFast;
    MTL::LanguageVersion language = MTL::LanguageVersion3_1;
    MTL::LibraryType library_type = MTL::LibraryTypeExecutable;
    MTL::LibraryOptimizationLevel optimization = MTL::LibraryOptimizationLevelDefault;
    MTL::CompileSymbolVisibility visibility = MTL::CompileSymbolVisibilityDefault;
    objc::Ref<Object> install_name;
    objc::Ref<objc::Array> libraries;
    bool preserve_invariance = false;
    bool enable_logging = false;
    bool allow_undefined_symbols = false;
    NS::UInteger max_threads = 0;  // 0: as the kernels say
};

// What the compiler is told. Null options are Apple's defaults. Fails, with the reason, on what
// softmetal does not have: language versions above 3.1, dynamic libraries.
Result<msl::CompileOptions> compile_options(const CompileOptions* options);

void register_compile_options();

}  // namespace softmetal::api

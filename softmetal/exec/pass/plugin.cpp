// What clang loads (-fpass-plugin) to compile kernels: registers our passes at the end of its
// optimiser.
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "softmetal/exec/pass/check_pass.h"
#include "softmetal/exec/pass/merge_products.h"
#include "softmetal/exec/pass/stack_pass.h"

extern "C" __attribute__((visibility("default"), weak)) llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {
    return {LLVM_PLUGIN_API_VERSION, "softmetal", "1", [](llvm::PassBuilder& builder) {
                builder.registerOptimizerLastEPCallback(
                    [](llvm::ModulePassManager& manager, llvm::OptimizationLevel) {
                        manager.addPass(softmetal::exec::pass::MergeProductsPass());
                        manager.addPass(softmetal::exec::pass::CheckPass());
                        // Last: the checks know variables by their place in the entry block.
                        manager.addPass(softmetal::exec::pass::StackPass());
                    });
            }};
}

// Keeps the stack frames of kernels small enough that the guard below a fiber's stack catches
// every overflow: variables that would make a frame large are taken from the stack only where they
// come into use, after the executor was asked whether they fit.
#pragma once

#include "llvm/IR/PassManager.h"

namespace softmetal::exec::pass {

struct StackPass : llvm::PassInfoMixin<StackPass> {
    llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&);
};

}  // namespace softmetal::exec::pass

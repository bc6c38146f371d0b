// Makes checked modules: before every access to memory that is not known to be right, calls the
// executor (sm_access), or, where the bounds are known here, compares. Runs at the end of the
// optimiser, so that it sees the accesses that are really made; the vectorisers are off by flags.
// Does nothing to a module whose table does not say that it is checked.
#pragma once

#include "llvm/IR/PassManager.h"

namespace softmetal::exec::pass {

struct CheckPass : llvm::PassInfoMixin<CheckPass> {
    llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&);
    static bool isRequired() { return true; }
};

}  // namespace softmetal::exec::pass

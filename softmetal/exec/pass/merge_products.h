// Turns runs of sm_matrix_product into sm_matrix_products: the lanes of a SIMD group then meet once
// for many products instead of once for each, and hand over a matrix that occurs in several
// products only once.
#pragma once

#include "llvm/IR/PassManager.h"

namespace softmetal::exec::pass {

struct MergeProductsPass : llvm::PassInfoMixin<MergeProductsPass> {
    llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&);
};

}  // namespace softmetal::exec::pass

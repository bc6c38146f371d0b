// What the optimiser concluded about functions before our passes made them call the executor.
#pragma once

#include "llvm/IR/AttributeMask.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"

namespace softmetal::exec::pass {

// Takes the conclusions back that no longer hold.
inline void forget_purity(llvm::Function& function) {
    using llvm::Attribute;
    llvm::AttributeMask lost;
    for (const auto kind :
         {Attribute::Memory, Attribute::NoSync, Attribute::WillReturn, Attribute::NoFree,
          Attribute::Speculatable, Attribute::NoCallback, Attribute::MustProgress}) {
        lost.addAttribute(kind);
    }
    function.removeFnAttrs(lost);
    for (auto* user : function.users()) {
        if (auto* call = llvm::dyn_cast<llvm::CallBase>(user)) call->removeFnAttrs(lost);
    }
}

}  // namespace softmetal::exec::pass

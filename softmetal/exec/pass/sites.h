// Source positions of instructions, as the sm_site that the executor turns back into FILE:LINE.
#pragma once

#include "llvm/IR/Instruction.h"
#include "softmetal/exec/abi.h"

namespace softmetal::exec::pass {

// The innermost position in the user's own source: code inlined from the standard library counts
// where it was called. 0 when there is none.
//
// The file name is hashed as it stands in the line markers. Clang splits a name into folder and
// file unless it is told -fdebug-compilation-dir=. , so modules are compiled with that.
sm_site site_of(const llvm::Instruction& instruction);

}  // namespace softmetal::exec::pass

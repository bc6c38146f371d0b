// Finds what a function reads and writes, and what each pointer derives from.
#pragma once

#include <vector>

#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "softmetal/exec/abi.h"

namespace softmetal::exec::pass {

struct Access {
    llvm::Instruction* instruction = nullptr;
    llvm::Value* pointer = nullptr;
    llvm::Value* bytes = nullptr;  // i64
    sm_u32 kind = 0;               // sm_access_kind with the alignment
    sm_site site = 0;

    // Where the pointer comes from, when that is one value that can be named at the access: a
    // buffer's address, for example. Else null.
    llvm::Value* base = nullptr;
    // The variable or table that the pointer must stay in, when it can be no other. Else null, and
    // object_bytes is 0.
    llvm::Value* object = nullptr;
    uint64_t object_bytes = 0;
};

// All accesses but those that are known to stay in a variable of the thread or, for reads, in a
// table.
std::vector<Access> accesses_to_check(llvm::Function& function);

}  // namespace softmetal::exec::pass

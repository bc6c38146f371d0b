// Finds which function constants each kernel depends on, and leaves that in the module as
// softmetal_constant_uses (abi.h). Metal wants to know when a function is specialised: a constant
// that the kernel reads must have a value, unless the kernel also asks whether it has one.
#pragma once

namespace llvm {
class Module;
}

namespace softmetal::exec::pass {

void add_constant_uses(llvm::Module& module);

}  // namespace softmetal::exec::pass

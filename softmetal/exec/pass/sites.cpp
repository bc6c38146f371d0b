#include "softmetal/exec/pass/sites.h"

#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"

namespace softmetal::exec::pass {
namespace {

std::string name_of(const llvm::DIScope& scope) {
    const auto file = scope.getFilename(), folder = scope.getDirectory();
    if (folder.empty() || folder == "." || file.starts_with("/")) return file.str();
    return (folder + "/" + file).str();
}

bool is_library(llvm::StringRef file) {
    return file.starts_with("<") || file.contains("/msl/stdlib/") ||
           file.ends_with("softmetal/exec/abi.h");
}

sm_site make_site(const llvm::DILocation& location) {
    return sm_make_site(sm_hash_file(name_of(*location.getScope()).c_str()), location.getLine(),
                        location.getColumn());
}

sm_site user_site(const llvm::DILocation& innermost) {
    for (const auto* location = &innermost; location != nullptr;
         location = location->getInlinedAt()) {
        if (location->getLine() != 0 && !is_library(name_of(*location->getScope()))) {
            return make_site(*location);
        }
    }
    return 0;
}

}  // namespace

// An instruction that the optimiser made or moved may have no position: then its neighbours in the
// block are close enough, and the function at worst.
sm_site site_of(const llvm::Instruction& instruction) {
    for (const auto* at = &instruction; at != nullptr; at = at->getPrevNode()) {
        const auto* location = at->getDebugLoc().get();
        if (const sm_site site = location != nullptr ? user_site(*location) : 0) return site;
    }
    for (const auto* at = instruction.getNextNode(); at != nullptr; at = at->getNextNode()) {
        const auto* location = at->getDebugLoc().get();
        if (const sm_site site = location != nullptr ? user_site(*location) : 0) return site;
    }
    const auto* function = instruction.getFunction()->getSubprogram();
    if (function == nullptr) return 0;
    return sm_make_site(sm_hash_file(name_of(*function).c_str()), function->getLine(), 1);
}

}  // namespace softmetal::exec::pass

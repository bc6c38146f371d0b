#include "softmetal/exec/pass/stack_pass.h"

#include <algorithm>
#include <vector>

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "softmetal/exec/pass/purity.h"

namespace softmetal::exec::pass {

using namespace llvm;

namespace {

// What variables may take of a frame. With what else stands in one it stays below the guard's
// 60 KiB, and each call touches the end of its caller's frame.
constexpr uint64_t kFrameBytes = uint64_t{24} << 10;

struct Variable {
    AllocaInst* alloca;
    uint64_t bytes;
};

// The variables that do not fit in a frame, the largest first.
std::vector<Variable> large_variables(Function& function, const DataLayout& layout) {
    constexpr uint64_t kEndless = uint64_t{1} << 40;  // the sum must not wrap around
    std::vector<Variable> variables;
    uint64_t total = 0;
    for (auto& instruction : function.getEntryBlock()) {
        auto* const alloca = dyn_cast<AllocaInst>(&instruction);
        if (alloca == nullptr || !alloca->isStaticAlloca()) continue;
        const auto size = alloca->getAllocationSize(layout);
        if (!size || size->isScalable()) continue;
        variables.push_back({alloca, std::min<uint64_t>(size->getFixedValue(), kEndless)});
        total += variables.back().bytes;
    }
    sort(variables, [](const Variable& a, const Variable& b) { return a.bytes > b.bytes; });
    size_t n_large = 0;
    while (total > kFrameBytes) total -= variables[n_large++].bytes;
    variables.resize(n_large);
    return variables;
}

// Marks of where a variable is alive are for those of a frame.
void forget_lifetime(AllocaInst& alloca) {
    for (auto* user : make_early_inc_range(alloca.users())) {
        auto* const intrinsic = dyn_cast<IntrinsicInst>(user);
        if (intrinsic != nullptr && intrinsic->isLifetimeStartOrEnd()) intrinsic->eraseFromParent();
    }
}

// The last block that all uses come after and that runs once.
BasicBlock* block_before_uses(const AllocaInst& alloca, const DominatorTree& dominators,
                              const LoopInfo& loops) {
    BasicBlock* block = nullptr;
    for (const auto& use : alloca.uses()) {
        auto* const user = cast<Instruction>(use.getUser());
        auto* const phi = dyn_cast<PHINode>(user);
        auto* const at = phi != nullptr ? phi->getIncomingBlock(use) : user->getParent();
        if (!dominators.isReachableFromEntry(at)) continue;
        block = block == nullptr ? at : dominators.findNearestCommonDominator(block, at);
    }
    while (block != nullptr && loops.getLoopFor(block) != nullptr) {
        block = dominators.getNode(block)->getIDom()->getBlock();
    }
    return block;
}

class Mover {
  public:
    explicit Mover(Module& module) : layout_(module.getDataLayout()) {
        auto& context = module.getContext();
        reserve_ = module.getOrInsertFunction("sm_reserve_stack", Type::getVoidTy(context),
                                              Type::getInt64Ty(context));
    }

    bool run(Function& function) {
        const auto variables = large_variables(function, layout_);
        if (variables.empty()) return false;
        // In the entry block itself a variable would be one of the frame's again.
        auto& entry = function.getEntryBlock();
        const auto first = find_if(
            entry, [](const Instruction& instruction) { return !isa<AllocaInst>(instruction); });
        BasicBlock* const second = SplitBlock(&entry, first);
        const auto dominators = DominatorTree(function);
        const auto loops = LoopInfo(dominators);
        for (const auto& variable : variables) {
            forget_lifetime(*variable.alloca);
            auto* block = block_before_uses(*variable.alloca, dominators, loops);
            if (block == &entry) block = second;
            if (block != nullptr) move(variable, *block);
        }
        forget_purity(function);
        return true;
    }

  private:
    void move(const Variable& variable, BasicBlock& block) {
        IRBuilder<> builder(&block, block.getFirstInsertionPt());
        builder.SetCurrentDebugLocation(DebugLoc());
        builder.CreateCall(reserve_, builder.getInt64(variable.bytes));
        variable.alloca->moveBefore(block, builder.GetInsertPoint());
    }

    const DataLayout& layout_;
    FunctionCallee reserve_;
};

}  // namespace

PreservedAnalyses StackPass::run(Module& module, ModuleAnalysisManager&) {
    auto mover = Mover(module);
    bool changed = false;
    for (auto& function : module) {
        if (!function.isDeclaration()) changed |= mover.run(function);
    }
    return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

}  // namespace softmetal::exec::pass

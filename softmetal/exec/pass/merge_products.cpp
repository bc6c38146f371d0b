#include "softmetal/exec/pass/merge_products.h"

#include <vector>

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "softmetal/exec/abi.h"
#include "softmetal/exec/pass/purity.h"

namespace softmetal::exec::pass {

using namespace llvm;

namespace {

// The products of one basic block that are to be computed together, at the place of the last.
// Instructions that use their results and stand before that place move behind it.
struct Batch {
    std::vector<CallInst*> products;
    std::vector<Instruction*> users;     // in their order
    SmallPtrSet<const Value*, 32> late;  // products and users
    SmallMapVector<Value*, sm_u8, 16> operands;

    bool uses_late(const Instruction& instruction) const {
        return any_of(instruction.operands(),
                      [this](const Use& use) { return late.contains(use.get()); });
    }
    bool has_room_for(const CallInst& product) const {
        size_t fresh = !operands.contains(product.getArgOperand(1));
        if (product.getArgOperand(2) != product.getArgOperand(1)) {
            fresh += !operands.contains(product.getArgOperand(2));
        }
        return products.size() < SM_MATRIX_PRODUCTS &&
               operands.size() + fresh <= SM_MATRIX_OPERANDS;
    }
    void add(CallInst& product) {
        products.push_back(&product);
        late.insert(&product);
        for (const unsigned i : {1u, 2u}) {
            operands.insert({product.getArgOperand(i), static_cast<sm_u8>(operands.size())});
        }
    }
};

class Merger {
  public:
    Merger(Module& module, Function& product) : product_(product) {
        auto& context = module.getContext();
        pointer_ = PointerType::getUnqual(context);
        auto* const int_type = Type::getInt32Ty(context);
        operands_ = module.getOrInsertFunction("sm_matrix_operands", pointer_);
        products_ =
            module.getOrInsertFunction("sm_matrix_products", pointer_, Type::getInt64Ty(context),
                                       pointer_, int_type, int_type, pointer_);
    }

    void run(BasicBlock& block) {
        Batch batch;
        const auto close = [&] {
            if (batch.products.size() > 1) merge(batch);
            batch = {};
        };
        // Merging moves only instructions that were visited.
        for (auto& instruction : make_early_inc_range(block)) {
            auto* const call = dyn_cast<CallInst>(&instruction);
            const bool is_product = call != nullptr && call->getCalledOperand() == &product_;
            if (is_product) {
                if (batch.uses_late(instruction) || !batch.has_room_for(*call) ||
                    !has_same_multiply(batch, *call)) {
                    close();
                }
                batch.add(*call);
            } else if (batch.uses_late(instruction)) {
                if (!can_wait(instruction)) {
                    close();
                } else {
                    batch.users.push_back(&instruction);
                    batch.late.insert(&instruction);
                }
            } else if (call != nullptr && call->isConvergent()) {
                close();  // lanes meet here in another way
            } else if (call != nullptr && call->mayHaveSideEffects() && !isa<IntrinsicInst>(call)) {
                close();
            }
        }
        close();
    }

  private:
    static bool has_same_multiply(const Batch& batch, const CallInst& product) {
        return batch.products.empty() ||
               batch.products.front()->getArgOperand(3) == product.getArgOperand(3);
    }

    // Only computes, and nothing is left to do with it before the end of the block.
    static bool can_wait(const Instruction& instruction) {
        return !instruction.isTerminator() && !isa<PHINode>(instruction) &&
               !instruction.mayReadOrWriteMemory() && !instruction.mayHaveSideEffects();
    }

    void merge(const Batch& batch) {
        auto& block = *batch.products.back()->getParent();
        auto* const last = batch.products.back();
        std::vector<Instruction*> early;  // users that stand before the place of the results
        for (auto* user : batch.users) {
            if (user->comesBefore(last)) early.push_back(user);
        }

        IRBuilder<> builder(last->getNextNode());
        builder.SetCurrentDebugLocation(batch.products.front()->getDebugLoc());
        auto* const pair = builder.getDoubleTy();
        auto* const slots = builder.CreateCall(operands_);
        for (const auto& [value, index] : batch.operands) {
            builder.CreateStore(value, pair_of(builder, slots, index));
        }
        auto* const results = builder.CreateCall(
            products_, {batch.products.front()->getArgOperand(0), table_of(batch),
                        builder.getInt32(static_cast<uint32_t>(batch.products.size())),
                        builder.getInt32(static_cast<uint32_t>(batch.operands.size())),
                        batch.products.front()->getArgOperand(3)});
        for (size_t i = 0; i < batch.products.size(); ++i) {
            batch.products[i]->replaceAllUsesWith(
                builder.CreateLoad(pair, pair_of(builder, results, i)));
        }
        for (auto* user : early) user->moveBefore(block, builder.GetInsertPoint());
        for (auto* product : batch.products) product->eraseFromParent();
        forget_purity(*block.getParent());
    }

    static Value* pair_of(IRBuilder<>& builder, Value* first, size_t matrix) {
        return builder.CreateConstGEP1_32(builder.getDoubleTy(), first,
                                          static_cast<unsigned>(matrix * SM_SIMD_WIDTH));
    }

    static Constant* table_of(const Batch& batch) {
        auto& module = *batch.products.front()->getModule();
        std::vector<uint8_t> list;
        for (const auto* product : batch.products) {
            list.push_back(batch.operands.lookup(product->getArgOperand(1)));
            list.push_back(batch.operands.lookup(product->getArgOperand(2)));
        }
        auto* const bytes = ConstantDataArray::get(module.getContext(), list);
        return new GlobalVariable(module, bytes->getType(), /*isConstant=*/true,
                                  GlobalValue::PrivateLinkage, bytes, "sm_products");
    }

    Function& product_;
    PointerType* pointer_ = nullptr;
    FunctionCallee operands_, products_;
};

}  // namespace

PreservedAnalyses MergeProductsPass::run(Module& module, ModuleAnalysisManager&) {
    auto* const product = module.getFunction("sm_matrix_product");
    if (product == nullptr) return PreservedAnalyses::all();
    SmallSetVector<BasicBlock*, 16> blocks;
    for (auto* user : product->users()) {
        if (auto* call = dyn_cast<CallInst>(user)) blocks.insert(call->getParent());
    }
    auto merger = Merger(module, *product);
    for (auto* block : blocks) merger.run(*block);
    return PreservedAnalyses::none();
}

}  // namespace softmetal::exec::pass

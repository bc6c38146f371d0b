#include "softmetal/exec/pass/check_pass.h"

#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "softmetal/exec/pass/accesses.h"
#include "softmetal/exec/pass/constant_uses.h"
#include "softmetal/exec/pass/purity.h"

namespace softmetal::exec::pass {

using namespace llvm;

namespace {

class Checker {
  public:
    explicit Checker(Module& module)
        : module_(module),
          long_(Type::getInt64Ty(module.getContext())),
          int_(Type::getInt32Ty(module.getContext())) {
        auto* const none = Type::getVoidTy(module.getContext());
        auto* const pointer = PointerType::getUnqual(module.getContext());
        access_ =
            module.getOrInsertFunction("sm_access", none, pointer, pointer, long_, int_, long_);
        overrun_ = module.getOrInsertFunction("sm_object_overrun", none, long_, long_, long_,
                                              pointer, int_, long_);
        cast<Function>(overrun_.getCallee())->setDoesNotReturn();
    }

    void check(Function& function) {
        for (const auto& access : accesses_to_check(function)) {
            IRBuilder<> builder(access.instruction);
            if (access.object != nullptr) {
                stay_inside(builder, access);
            } else {
                auto* const base = access.base != nullptr && access.base != access.pointer
                                       ? access.base
                                       : Constant::getNullValue(access.pointer->getType());
                builder.CreateCall(access_,
                                   {access.pointer, base, as_long(builder, access.bytes),
                                    builder.getInt32(access.kind), builder.getInt64(access.site)});
            }
        }
        forget_purity(function);
    }

  private:
    // if (offset > object_bytes - bytes) sm_object_overrun(...)
    void stay_inside(IRBuilder<>& builder, const Access& access) {
        auto* const size = builder.getInt64(access.object_bytes);
        auto* const bytes = as_long(builder, access.bytes);
        auto* const offset = builder.CreateSub(builder.CreatePtrToInt(access.pointer, long_),
                                               builder.CreatePtrToInt(access.object, long_));
        auto* is_outside = builder.CreateICmpUGT(offset, builder.CreateSub(size, bytes));
        is_outside = builder.CreateOr(is_outside, builder.CreateICmpUGT(bytes, size));
        auto* const failed = SplitBlockAndInsertIfThen(
            is_outside, access.instruction, /*Unreachable=*/true,
            MDBuilder(module_.getContext()).createUnlikelyBranchWeights());
        IRBuilder<> cold(failed);
        cold.CreateCall(overrun_, {offset, bytes, size, name_of(cold, *access.object),
                                   cold.getInt32(access.kind), cold.getInt64(access.site)});
    }

    static Value* name_of(IRBuilder<>& builder, const Value& object) {
        if (!isa<GlobalVariable>(object)) return Constant::getNullValue(builder.getPtrTy());
        return builder.CreateGlobalString(demangle(object.getName()));
    }

    Value* as_long(IRBuilder<>& builder, Value* bytes) {
        return builder.CreateZExtOrTrunc(bytes, long_);
    }

    Module& module_;
    Type *long_, *int_;
    FunctionCallee access_, overrun_;
};

// The functions marked SM_TRUSTED. Clang lists annotations as {function, text, ...} in one array.
SmallPtrSet<const Function*, 16> trusted_functions(const Module& module) {
    SmallPtrSet<const Function*, 16> trusted;
    const auto* list = module.getNamedGlobal("llvm.global.annotations");
    if (list == nullptr || !list->hasInitializer()) return trusted;
    for (const auto& entry : list->getInitializer()->operands()) {
        const auto* record = cast<Constant>(entry);
        const auto* function = dyn_cast<Function>(record->getOperand(0)->stripPointerCasts());
        const auto* text = dyn_cast<GlobalVariable>(record->getOperand(1)->stripPointerCasts());
        if (function == nullptr || text == nullptr || !text->hasInitializer()) continue;
        const auto* letters = dyn_cast<ConstantDataArray>(text->getInitializer());
        if (letters != nullptr && letters->isCString() &&
            letters->getAsCString() == "softmetal.trusted") {
            trusted.insert(function);
        }
    }
    return trusted;
}

bool is_checked(const Module& module) {
    const auto* table = module.getNamedGlobal("softmetal_module");
    if (table == nullptr || !table->hasInitializer()) return false;
    const auto* flag =
        dyn_cast_or_null<ConstantInt>(table->getInitializer()->getAggregateElement(1));
    return flag != nullptr && !flag->isZero();
}

}  // namespace

PreservedAnalyses CheckPass::run(Module& module, ModuleAnalysisManager&) {
    if (!is_checked(module)) return PreservedAnalyses::all();
    add_constant_uses(module);
    const auto trusted = trusted_functions(module);
    std::vector<Function*> functions;
    for (auto& function : module) {
        if (!function.isDeclaration() && !trusted.contains(&function)) {
            functions.push_back(&function);
        }
    }
    auto checker = Checker(module);
    for (auto* function : functions) checker.check(*function);
    return PreservedAnalyses::none();
}

}  // namespace softmetal::exec::pass

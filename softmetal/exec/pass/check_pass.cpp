// Builds checked modules: before every access to memory that is not known to be right, calls the
// executor (sm_access), or, where the bounds are known here, compares. Runs at the end of the
// optimiser, so that it sees the accesses that are really made; the vectorisers are off by flags.
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/AttributeMask.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "softmetal/exec/pass/accesses.h"
#include "softmetal/exec/pass/constant_uses.h"

namespace softmetal::exec::pass {
namespace {

using namespace llvm;

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

    // What the optimiser found out about a function no longer holds once it calls the executor.
    static void forget_purity(Function& function) {
        AttributeMask lost;
        for (const auto kind :
             {Attribute::Memory, Attribute::NoSync, Attribute::WillReturn, Attribute::NoFree,
              Attribute::Speculatable, Attribute::NoCallback, Attribute::MustProgress}) {
            lost.addAttribute(kind);
        }
        function.removeFnAttrs(lost);
        for (auto* user : function.users()) {
            if (auto* call = dyn_cast<CallBase>(user)) call->removeFnAttrs(lost);
        }
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

struct CheckPass : PassInfoMixin<CheckPass> {
    PreservedAnalyses run(Module& module, ModuleAnalysisManager&) {
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
    static bool isRequired() { return true; }
};

}  // namespace
}  // namespace softmetal::exec::pass

extern "C" __attribute__((visibility("default"), weak)) llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {
    return {LLVM_PLUGIN_API_VERSION, "softmetal-check", "1", [](llvm::PassBuilder& builder) {
                builder.registerOptimizerLastEPCallback(
                    [](llvm::ModulePassManager& manager, llvm::OptimizationLevel) {
                        manager.addPass(softmetal::exec::pass::CheckPass());
                    });
            }};
}

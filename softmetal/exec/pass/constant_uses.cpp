#include "softmetal/exec/pass/constant_uses.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

namespace softmetal::exec::pass {
namespace {

using namespace llvm;

// A function constant's name, and whether it is only asked for being defined.
using Use = std::pair<std::string, bool>;

// Function constants are variables that the module's initialisers fill from
// sm_load_function_constant. So a kernel depends on what the stores to the variables it reads
// were computed from.
class Search {
  public:
    using Stores = DenseMap<const GlobalVariable*, std::vector<const Instruction*>>;
    explicit Search(const Stores& stores) : stores_(stores) {}

    std::set<Use> of(const Function& kernel) {
        reach(&kernel);
        return std::move(found_);
    }

  private:
    // Whatever code with access to this constant could read.
    void reach(const Constant* constant) {
        if (!reached_.insert(constant).second) return;
        if (const auto* function = dyn_cast<Function>(constant)) {
            for (const auto& instruction : instructions(function)) {
                for (const auto& operand : instruction.operands()) {
                    if (const auto* used = dyn_cast<Constant>(operand)) reach(used);
                }
            }
            return;
        }
        if (const auto* variable = dyn_cast<GlobalVariable>(constant)) {
            if (variable->hasInitializer()) reach(variable->getInitializer());
            const auto stores = stores_.find(variable);
            if (stores == stores_.end()) return;
            for (const auto* store : stores->second) slice(store);
            return;
        }
        for (const auto& operand : constant->operands()) {
            if (const auto* used = dyn_cast<Constant>(operand)) reach(used);
        }
    }

    // What the value was computed from, in an initialiser.
    void slice(const Value* value) {
        if (const auto* constant = dyn_cast<Constant>(value)) return reach(constant);
        if (!sliced_.insert(value).second) return;
        if (const auto* call = dyn_cast<CallBase>(value); call && asks_for_constant(*call)) {
            return record(*call, /*is_tested=*/true);
        }
        if (const auto* local = dyn_cast<AllocaInst>(value)) return slice_users(local);
        if (const auto* choice = dyn_cast<PHINode>(value)) slice_conditions(*choice);
        const auto* instruction = dyn_cast<Instruction>(value);
        if (instruction == nullptr) return;
        for (const auto& operand : instruction->operands()) {
            if (!isa<BasicBlock>(operand)) slice(operand);
        }
    }

    // A local variable: whatever is written to it.
    void slice_users(const Value* pointer) {
        for (const auto* user : pointer->users()) {
            const auto* instruction = cast<Instruction>(user);
            if (const auto* call = dyn_cast<CallBase>(instruction)) {
                if (asks_for_constant(*call)) {
                    record(*call, /*is_tested=*/false);
                } else {
                    slice(call);
                }
            } else if (isa<StoreInst>(instruction)) {
                slice(instruction);
            } else if (isa<GetElementPtrInst>(instruction) && sliced_.insert(instruction).second) {
                slice_users(instruction);
            }
        }
    }

    // `a ? b : c` depends on a, which only the branches before the choice know.
    void slice_conditions(const PHINode& choice) {
        for (const auto* block : choice.blocks()) {
            for (; block != nullptr; block = block->getSinglePredecessor()) {
                const auto* end = block->getTerminator();
                if (const auto* branch = dyn_cast<BranchInst>(end);
                    branch && branch->isConditional()) {
                    slice(branch->getCondition());
                } else if (const auto* table = dyn_cast<SwitchInst>(end)) {
                    slice(table->getCondition());
                }
            }
        }
    }

    static bool asks_for_constant(const CallBase& call) {
        const auto* callee = call.getCalledFunction();
        return callee != nullptr && callee->getName() == "sm_load_function_constant";
    }

    void record(const CallBase& call, bool is_tested) {
        StringRef name;
        if (getConstantStringInfo(call.getArgOperand(1), name))
            found_.emplace(name.str(), is_tested);
    }

    const Stores& stores_;
    SmallPtrSet<const Constant*, 32> reached_;
    SmallPtrSet<const Value*, 32> sliced_;
    std::set<Use> found_;
};

// Every write to a variable outside of kernels is an initialiser's: the language has no others.
Search::Stores stores_of(const Module& module) {
    Search::Stores stores;
    const auto add = [&](const Value* pointer, const Instruction& by) {
        const auto* variable = dyn_cast<GlobalVariable>(getUnderlyingObject(pointer));
        if (variable != nullptr) stores[variable].push_back(&by);
    };
    for (const auto& function : module) {
        for (const auto& instruction : instructions(function)) {
            if (const auto* store = dyn_cast<StoreInst>(&instruction)) {
                add(store->getPointerOperand(), instruction);
            } else if (const auto* copy = dyn_cast<AnyMemTransferInst>(&instruction)) {
                add(copy->getRawDest(), instruction);
            }
        }
    }
    return stores;
}

// The entries in the module's table of kernels: {name, entry, ...} each.
std::vector<Function*> kernels_of(Module& module) {
    std::vector<Function*> kernels;
    auto* table = module.getNamedGlobal("softmetal_module");
    if (table == nullptr || !table->hasInitializer()) return kernels;
    auto* list = dyn_cast<GlobalVariable>(
        table->getInitializer()->getAggregateElement(2u)->stripPointerCasts());
    if (list == nullptr || !list->hasInitializer()) return kernels;
    for (auto& row : list->getInitializer()->operands()) {
        auto* entry = cast<Constant>(row)->getAggregateElement(1u);
        if (entry == nullptr) continue;
        if (auto* function = dyn_cast<Function>(entry->stripPointerCasts())) {
            kernels.push_back(function);
        }
    }
    return kernels;
}

}  // namespace

void add_constant_uses(Module& module) {
    if (module.getNamedGlobal("softmetal_module") == nullptr) return;
    auto& context = module.getContext();
    auto* const pointer = PointerType::getUnqual(context);
    auto* const number = Type::getInt32Ty(context);
    auto* const row = StructType::get(context, {pointer, pointer, number});
    const auto stores = stores_of(module);

    std::vector<Constant*> rows;
    for (auto* kernel : kernels_of(module)) {
        for (const auto& [name, is_tested] : Search(stores).of(*kernel)) {
            auto* const text = ConstantDataArray::getString(context, name);
            auto* const variable =
                new GlobalVariable(module, text->getType(), /*isConstant=*/true,
                                   GlobalValue::PrivateLinkage, text, "sm_constant_name");
            Constant* const fields[] = {kernel, variable,
                                        ConstantInt::get(number, is_tested ? 1 : 0)};
            rows.push_back(ConstantStruct::get(row, fields));
        }
    }
    rows.push_back(Constant::getNullValue(row));
    auto* const list = ConstantArray::get(ArrayType::get(row, rows.size()), rows);
    new GlobalVariable(module, list->getType(), /*isConstant=*/true, GlobalValue::ExternalLinkage,
                       list, "softmetal_constant_uses");
}

}  // namespace softmetal::exec::pass

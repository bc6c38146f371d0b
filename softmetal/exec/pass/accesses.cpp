#include "softmetal/exec/pass/accesses.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "softmetal/exec/pass/sites.h"

namespace softmetal::exec::pass {
namespace {

using namespace llvm;

class Finder {
  public:
    explicit Finder(Function& function)
        : layout_(function.getDataLayout()), dominators_(function), loops_(dominators_) {}

    void visit(Instruction& at) {
        if (auto* load = dyn_cast<LoadInst>(&at)) {
            add(at, load->getPointerOperand(), size_of(load->getType()),
                SM_READ | (load->isAtomic() ? SM_ATOMIC : 0), load->getAlign());
        } else if (auto* store = dyn_cast<StoreInst>(&at)) {
            add(at, store->getPointerOperand(), size_of(store->getValueOperand()->getType()),
                SM_WRITE | (store->isAtomic() ? SM_ATOMIC : 0), store->getAlign());
        } else if (auto* change = dyn_cast<AtomicRMWInst>(&at)) {
            add(at, change->getPointerOperand(), size_of(change->getValOperand()->getType()),
                SM_READ | SM_WRITE | SM_ATOMIC, change->getAlign());
        } else if (auto* exchange = dyn_cast<AtomicCmpXchgInst>(&at)) {
            add(at, exchange->getPointerOperand(),
                size_of(exchange->getCompareOperand()->getType()), SM_READ | SM_WRITE | SM_ATOMIC,
                exchange->getAlign());
        } else if (auto* call = dyn_cast<CallBase>(&at)) {
            visit_call(*call);
        }
    }

    std::vector<Access> found;

  private:
    void visit_call(CallBase& call) {
        if (auto* set = dyn_cast<AnyMemSetInst>(&call)) {
            add(call, set->getRawDest(), set->getLength(), SM_WRITE, set->getDestAlign());
        } else if (auto* transfer = dyn_cast<AnyMemTransferInst>(&call)) {
            add(call, transfer->getRawSource(), transfer->getLength(), SM_READ,
                transfer->getSourceAlign());
            add(call, transfer->getRawDest(), transfer->getLength(), SM_WRITE,
                transfer->getDestAlign());
        } else if (auto* intrinsic = dyn_cast<IntrinsicInst>(&call)) {
            visit_masked(*intrinsic);
        } else if (const auto* callee = call.getCalledFunction()) {
            visit_library_call(call, callee->getName());
        }
        // An argument passed by value in memory is copied by the caller.
        for (unsigned i = 0; i < call.arg_size(); ++i) {
            if (!call.isByValArgument(i)) continue;
            add(call, call.getArgOperand(i), size_of(call.getParamByValType(i)), SM_READ,
                call.getParamAlign(i));
        }
    }

    // With the vectorisers off these come only from explicit code. Treated as if every element were
    // touched would be wrong, so each counts as an access of the first element alone unless its
    // mask is known to be full.
    void visit_masked(IntrinsicInst& call) {
        const bool is_load = call.getIntrinsicID() == Intrinsic::masked_load;
        if (!is_load && call.getIntrinsicID() != Intrinsic::masked_store) return;
        auto* const mask = dyn_cast<Constant>(call.getArgOperand(is_load ? 2 : 3));
        auto* const type =
            cast<VectorType>(is_load ? call.getType() : call.getArgOperand(0)->getType());
        const bool is_full = mask != nullptr && mask->isAllOnesValue();
        add(call, call.getArgOperand(is_load ? 0 : 1),
            size_of(is_full ? type : type->getElementType()), is_load ? SM_READ : SM_WRITE,
            MaybeAlign());
    }

    // Left as calls when their length was not known in time.
    void visit_library_call(CallBase& call, StringRef name) {
        if (name == "memcpy" || name == "memmove") {
            add(call, call.getArgOperand(1), call.getArgOperand(2), SM_READ, MaybeAlign());
            add(call, call.getArgOperand(0), call.getArgOperand(2), SM_WRITE, MaybeAlign());
        } else if (name == "memset") {
            add(call, call.getArgOperand(0), call.getArgOperand(2), SM_WRITE, MaybeAlign());
        } else if (name == "memcmp" || name == "bcmp") {
            add(call, call.getArgOperand(0), call.getArgOperand(2), SM_READ, MaybeAlign());
            add(call, call.getArgOperand(1), call.getArgOperand(2), SM_READ, MaybeAlign());
        }
    }

    void add(Instruction& at, Value* pointer, Value* bytes, sm_u32 kind, MaybeAlign alignment) {
        if (pointer->getType()->getPointerAddressSpace() != 0) return;
        auto access = Access{.instruction = &at, .pointer = pointer, .bytes = bytes};
        access.kind = kind | Log2(alignment.valueOrOne()) << SM_ALIGNMENT_SHIFT;
        SmallVector<const Value*, 4> objects;
        getUnderlyingObjects(pointer, objects, &loops_, /*MaxLookup=*/0);
        if (objects.size() == 1) {
            auto* const object = const_cast<Value*>(objects.front());
            if (is_of_the_executor(*object)) return;
            const uint64_t object_bytes = bytes_of(*object);
            const bool is_written_table = isa<GlobalVariable>(object) && (kind & SM_WRITE) != 0;
            if (object_bytes != 0 && !is_written_table) {
                if (is_inside(*pointer, *bytes, *object, object_bytes)) return;
                access.object = object;
                access.object_bytes = object_bytes;
            }
            const auto* made = dyn_cast<Instruction>(object);
            if (made == nullptr || dominators_.dominates(made, &at)) access.base = object;
            if (access.base == nullptr) access.object = nullptr;
        }
        access.site = site_of(at);
        found.push_back(access);
    }

    // What sm_simd_exchange and its like return.
    static bool is_of_the_executor(const Value& object) {
        const auto* call = dyn_cast<CallBase>(&object);
        const auto* callee = call == nullptr ? nullptr : call->getCalledFunction();
        return callee != nullptr && callee->getName().starts_with("sm_") &&
               callee->getName() != "sm_threadgroup_storage";
    }

    uint64_t bytes_of(const Value& object) const {
        if (const auto* variable = dyn_cast<AllocaInst>(&object)) {
            const auto size = variable->getAllocationSize(layout_);
            return size && !size->isScalable() ? size->getFixedValue() : 0;
        }
        if (const auto* table = dyn_cast<GlobalVariable>(&object)) {
            return table->hasInitializer() ? layout_.getTypeAllocSize(table->getValueType()) : 0;
        }
        return 0;
    }

    bool is_inside(Value& pointer, Value& bytes, Value& object, uint64_t object_bytes) const {
        const auto* length = dyn_cast<ConstantInt>(&bytes);
        if (length == nullptr || length->getValue().ugt(object_bytes)) return false;
        APInt offset(layout_.getIndexTypeSizeInBits(pointer.getType()), 0);
        const auto* start = pointer.stripAndAccumulateConstantOffsets(layout_, offset,
                                                                      /*AllowNonInbounds=*/true);
        return start == &object && !offset.isNegative() &&
               offset.ule(object_bytes - length->getZExtValue());
    }

    Value* size_of(Type* type) const {
        return ConstantInt::get(Type::getInt64Ty(type->getContext()),
                                layout_.getTypeStoreSize(type).getKnownMinValue());
    }

    const DataLayout& layout_;
    DominatorTree dominators_;
    LoopInfo loops_;
};

}  // namespace

std::vector<Access> accesses_to_check(Function& function) {
    auto finder = Finder(function);
    for (auto& instruction : instructions(function)) finder.visit(instruction);
    return std::move(finder.found);
}

}  // namespace softmetal::exec::pass

// The functions and symbols that clang's -fblocks calls: blocks and __block variables start on the
// stack and move to the heap when they are copied. The layouts are those of clang's block ABI. A
// library for this exists, but it is built without sanitizers, which then see races in every block
// that one thread makes and another calls.
#include <Block.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "softmetal/objc/object.h"

namespace softmetal::objc {
namespace {

// Bits of both kinds of flags. The lowest 16 count the owners of a heap object.
enum : int32_t {
    kOwners = 0xffff,
    kOnHeap = 1 << 24,
    kHasHelpers = 1 << 25,  // copy and dispose
    kIsGlobal = 1 << 28,    // of a block: captures nothing, never moves
};

// What the compiler's helpers say they capture.
enum : int {
    kField = 0x1f,
    kFieldBlock = 7,
    kFieldByref = 8,
    kFieldWeak = 16,
    kInByref = 128,  // asked by a __block variable's helper: it does not own what it holds
};

struct BlockDescriptor {
    unsigned long reserved, bytes;
    // Only with kHasHelpers:
    void (*copy)(void* to, const void* from);
    void (*dispose)(const void* block);
};

struct BlockLayout {
    const void* isa;
    std::atomic<int32_t> flags;
    int32_t reserved;
    void (*invoke)(void*, ...);
    BlockDescriptor* descriptor;
};

// A __block variable. Everyone uses it through `forwarding`, which leads to the copy on the heap
// once there is one.
struct Byref {
    void* isa;
    Byref* forwarding;
    std::atomic<int32_t> flags;
    int32_t bytes;
    // Only with kHasHelpers:
    void (*keep)(Byref* to, Byref* from);
    void (*destroy)(Byref* variable);
};

void add_owner(std::atomic<int32_t>& flags) {
    if ((flags.fetch_add(1, std::memory_order_relaxed) & kOwners) == kOwners) {
        stop("a block has more than 65535 owners");
    }
}

// True when that was the last one.
bool drop_owner(std::atomic<int32_t>& flags) {
    const int32_t owners = flags.fetch_sub(1, std::memory_order_acq_rel) & kOwners;
    if (owners == 0) stop("a block was released too often");
    return owners == 1;
}

void* allocate(size_t bytes) {
    void* memory = std::malloc(bytes);
    if (!memory) stop("out of memory for a block of %zu bytes", bytes);
    return memory;
}

Byref* copy_byref(Byref* variable) {
    Byref* const current = variable->forwarding;
    if (current->flags.load(std::memory_order_relaxed) & kOnHeap) {
        add_owner(current->flags);
        return current;
    }
    const auto bytes = static_cast<size_t>(variable->bytes);
    const int32_t flags = variable->flags.load(std::memory_order_relaxed);
    auto* const copy = static_cast<Byref*>(allocate(bytes));
    std::memcpy(static_cast<void*>(copy), variable, bytes);
    // One owner is who asked, the other the stack frame, which disposes of the variable at its end.
    new (&copy->flags) std::atomic<int32_t>((flags & ~kOwners) | kOnHeap | 2);
    copy->forwarding = copy;
    variable->forwarding = copy;
    if (flags & kHasHelpers) copy->keep(copy, variable);
    return copy;
}

void release_byref(Byref* variable) {
    Byref* const current = variable->forwarding;
    const int32_t flags = current->flags.load(std::memory_order_relaxed);
    if (!(flags & kOnHeap)) {
        // It never left the stack; the frame itself ends a C++ object in it.
        return;
    }
    if (!drop_owner(current->flags)) return;
    if (flags & kHasHelpers) current->destroy(current);
    std::free(current);
}

}  // namespace
}  // namespace softmetal::objc

using namespace softmetal::objc;

extern "C" {

// Only their addresses count: they are the `isa` of blocks.
void* _NSConcreteStackBlock[32] = {};
void* _NSConcreteGlobalBlock[32] = {};
void* _NSConcreteMallocBlock[32] = {};

void* _Block_copy(const void* pointer) {
    if (!pointer) return nullptr;
    auto* const block = static_cast<BlockLayout*>(const_cast<void*>(pointer));
    const int32_t flags = block->flags.load(std::memory_order_relaxed);
    if (flags & kIsGlobal) return block;
    if (flags & kOnHeap) {
        add_owner(block->flags);
        return block;
    }
    const size_t bytes = block->descriptor->bytes;
    auto* const copy = static_cast<BlockLayout*>(allocate(bytes));
    std::memcpy(static_cast<void*>(copy), block, bytes);
    copy->isa = _NSConcreteMallocBlock;
    new (&copy->flags) std::atomic<int32_t>((flags & ~kOwners) | kOnHeap | 1);
    if (flags & kHasHelpers) block->descriptor->copy(copy, block);
    return copy;
}

void _Block_release(const void* pointer) {
    if (!pointer) return;
    auto* const block = static_cast<BlockLayout*>(const_cast<void*>(pointer));
    const int32_t flags = block->flags.load(std::memory_order_relaxed);
    if (!(flags & kOnHeap)) return;
    if (!drop_owner(block->flags)) return;
    if (flags & kHasHelpers) block->descriptor->dispose(block);
    std::free(block);
}

// What the compiler's helpers call for each captured variable that needs more than copying its
// bytes: blocks and __block variables. Objective-C objects do not occur in C++.
void _Block_object_assign(void* to, const void* object, const int field) {
    const int kind = field & kInByref ? 0 : field & kField;
    const void* kept = object;
    if (kind == kFieldBlock) kept = _Block_copy(object);
    if ((kind & ~kFieldWeak) == kFieldByref) {
        kept = copy_byref(static_cast<Byref*>(const_cast<void*>(object)));
    }
    std::memcpy(to, &kept, sizeof(kept));
}

void _Block_object_dispose(const void* object, const int field) {
    const int kind = field & kInByref ? 0 : field & kField;
    if (kind == kFieldBlock) _Block_release(object);
    if ((kind & ~kFieldWeak) == kFieldByref) {
        release_byref(static_cast<Byref*>(const_cast<void*>(object)));
    }
}

}  // extern "C"

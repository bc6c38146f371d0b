// Stacks that one OS thread switches between: every GPU thread that has to wait is one of these.
// A fiber never leaves the OS thread that first ran it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "softmetal/exec/sanitizer.h"

// In assembly: saves the stack pointer and goes on with another stack.
extern "C" void softmetal_switch(void** save, void* load);

namespace softmetal::exec {

class FiberPool;

// Where a fiber stands while another runs, and what sanitizers want to know of its stack.
struct Fiber {
    void* stack_pointer = nullptr;
    char* stack_begin = nullptr;  // lowest usable byte
    char* stack_end = nullptr;
    char* stack_top = nullptr;  // where its first frame stands, a little below the end
    Fiber* next_free = nullptr;
    void* asan_fake_stack = nullptr;
    void* tsan_fiber = nullptr;
};

using FiberFunction = void (*)(void* argument);

// Leaves `from`, which is running, and goes on with `to`.
inline void switch_fiber(Fiber& from, Fiber& to) {
#ifdef SOFTMETAL_ASAN
    __sanitizer_start_switch_fiber(&from.asan_fake_stack, to.stack_begin,
                                   static_cast<size_t>(to.stack_end - to.stack_begin));
#endif
#ifdef SOFTMETAL_TSAN
    __tsan_switch_to_fiber(to.tsan_fiber, 0);
#endif
    softmetal_switch(&from.stack_pointer, to.stack_pointer);
#ifdef SOFTMETAL_ASAN
    __sanitizer_finish_switch_fiber(from.asan_fake_stack, nullptr, nullptr);
#endif
}

// Leaves `from` for good: its frames are dropped, and only FiberPool::renew makes it usable again.
[[noreturn]] void leave_fiber(Fiber& from, Fiber& to);

// Describes the stack of the calling OS thread, so that fibers can switch back to it.
Fiber fiber_of_this_thread();

// The fibers of one OS thread. They all run `function(argument)` when first switched to, which must
// not return.
class FiberPool {
  public:
    // Reserved, not used: pages come when a kernel touches them.
    static constexpr size_t kStackBytes = size_t{256} << 10;
    // Wide, so that a large frame does not step over it.
    static constexpr size_t kGuardBytes = size_t{60} << 10;

    FiberPool(FiberFunction function, void* argument) : function_(function), argument_(argument) {}
    ~FiberPool();
    FiberPool(const FiberPool&) = delete;
    FiberPool& operator=(const FiberPool&) = delete;

    // One that runs nothing; null when the system gives no more memory.
    Fiber* take() {
        if (free_ == nullptr && !grow()) return nullptr;
        Fiber* fiber = free_;
        free_ = fiber->next_free;
        return fiber;
    }
    void give_back(Fiber* fiber) {
        fiber->next_free = free_;
        free_ = fiber;
    }
    // All fibers were left where they stood, or are free: starts every one of them afresh.
    void renew();

    // How many pools of `fibers` each the system has room for: it limits the number of mappings,
    // and older kernels need two for every stack.
    static size_t most_pools(size_t fibers);

    // Whether `address` lies in the guard below one of our stacks.
    bool is_guard(const void* address) const;

  private:
    bool grow();
    void prepare(Fiber& fiber) const;

    FiberFunction function_;
    void* argument_;
    Fiber* free_ = nullptr;
    std::vector<std::unique_ptr<Fiber>> fibers_;
    std::vector<char*> chunks_;
};

}  // namespace softmetal::exec

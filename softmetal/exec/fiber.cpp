#include "softmetal/exec/fiber.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

extern "C" void softmetal_fiber_entry();

namespace softmetal::exec {
namespace {

constexpr size_t kFibersInChunk = 32;
constexpr size_t kStride = FiberPool::kGuardBytes + FiberPool::kStackBytes;

#ifndef MADV_GUARD_INSTALL
constexpr int kGuardInstall = 102;  // Linux 6.13: a guard that costs no mapping of its own
#else
constexpr int kGuardInstall = MADV_GUARD_INSTALL;
#endif

bool make_cheap_guard(char* begin) {
    return madvise(begin, FiberPool::kGuardBytes, kGuardInstall) == 0;
}

bool make_guard(char* begin) {
    return make_cheap_guard(begin) || mprotect(begin, FiberPool::kGuardBytes, PROT_NONE) == 0;
}

bool has_cheap_guards() {
    void* memory = mmap(nullptr, FiberPool::kGuardBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    const bool is_cheap = make_cheap_guard(static_cast<char*>(memory));
    munmap(memory, FiberPool::kGuardBytes);
    return is_cheap;
}

// Stacks that all stand at the same distance from a page share the same few cache sets. Spread
// their tops over a page, an odd number of cache lines apart.
size_t colour(size_t index) { return index * 7 * 64 % 4096; }

// What a fiber runs first: its pool's function, once the sanitizers know where we are.
struct Start {
    FiberFunction function;
    void* argument;
    Fiber* fiber;
};

[[noreturn]] void start(void* record) {
    const auto begin = *static_cast<const Start*>(record);
#ifdef SOFTMETAL_ASAN
    __sanitizer_finish_switch_fiber(begin.fiber->asan_fake_stack, nullptr, nullptr);
#endif
    begin.function(begin.argument);
    __builtin_trap();
}

}  // namespace

void leave_fiber(Fiber& from, Fiber& to) {
#ifdef SOFTMETAL_ASAN
    __sanitizer_start_switch_fiber(nullptr, to.stack_begin,
                                   static_cast<size_t>(to.stack_end - to.stack_begin));
#endif
#ifdef SOFTMETAL_TSAN
    __tsan_switch_to_fiber(to.tsan_fiber, 0);
#endif
    softmetal_switch(&from.stack_pointer, to.stack_pointer);
    __builtin_trap();
}

Fiber fiber_of_this_thread() {
    Fiber fiber;
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        void* begin = nullptr;
        size_t bytes = 0;
        pthread_attr_getstack(&attributes, &begin, &bytes);
        pthread_attr_destroy(&attributes);
        fiber.stack_begin = static_cast<char*>(begin);
        fiber.stack_end = fiber.stack_begin + bytes;
    }
#ifdef SOFTMETAL_TSAN
    fiber.tsan_fiber = __tsan_get_current_fiber();
#endif
    return fiber;
}

FiberPool::~FiberPool() {
#ifdef SOFTMETAL_TSAN
    for (const auto& fiber : fibers_) __tsan_destroy_fiber(fiber->tsan_fiber);
#endif
    for (char* chunk : chunks_) {
#ifdef SOFTMETAL_ASAN
        __asan_unpoison_memory_region(chunk, kStride * kFibersInChunk);
#endif
        munmap(chunk, kStride * kFibersInChunk);
    }
}

bool FiberPool::grow() {
    void* memory = mmap(nullptr, kStride * kFibersInChunk, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return false;
    auto* chunk = static_cast<char*>(memory);
    // A page may be larger than ours, but never larger than the guard.
    for (size_t i = 0; i < kFibersInChunk; ++i) {
        if (make_guard(chunk + i * kStride)) continue;
        munmap(chunk, kStride * kFibersInChunk);
        return false;
    }
    chunks_.push_back(chunk);
    for (size_t i = kFibersInChunk; i-- > 0;) {
        auto fiber = std::make_unique<Fiber>();
        fiber->stack_begin = chunk + i * kStride + kGuardBytes;
        fiber->stack_end = chunk + (i + 1) * kStride;
        fiber->stack_top = fiber->stack_end - colour(fibers_.size());
        prepare(*fiber);
        give_back(fiber.get());
        fibers_.push_back(std::move(fiber));
    }
    return true;
}

// Lays out the stack as softmetal_switch leaves it, so that switching to it "returns" into
// softmetal_fiber_entry.
void FiberPool::prepare(Fiber& fiber) const {
#ifdef SOFTMETAL_ASAN
    __asan_unpoison_memory_region(fiber.stack_begin, kStackBytes);
    fiber.asan_fake_stack = nullptr;
#endif
#ifdef SOFTMETAL_TSAN
    if (fiber.tsan_fiber != nullptr) __tsan_destroy_fiber(fiber.tsan_fiber);
    fiber.tsan_fiber = __tsan_create_fiber(0);
#endif
    auto* record = reinterpret_cast<Start*>(fiber.stack_top) - 1;
    record = reinterpret_cast<Start*>(reinterpret_cast<uintptr_t>(record) & ~uintptr_t{63});
    *record = Start{.function = function_, .argument = argument_, .fiber = &fiber};
    auto** words = reinterpret_cast<void**>(record);
    const auto run = reinterpret_cast<void*>(&start);
    const auto entry = reinterpret_cast<void*>(&softmetal_fiber_entry);
#if defined(__x86_64__)
    words -= 7;  // r15 r14 r13 r12 rbx rbp, the address to go on at
    std::fill(words, words + 7, nullptr);
    words[3] = record;
    words[4] = run;
    words[6] = entry;
#elif defined(__aarch64__)
    words -= 20;  // x19 ... x30, d8 ... d15
    std::fill(words, words + 20, nullptr);
    words[0] = run;
    words[1] = record;
    words[11] = entry;
#else
#error "no fibers for this architecture"
#endif
    fiber.stack_pointer = words;
}

void FiberPool::renew() {
    free_ = nullptr;
    for (size_t i = fibers_.size(); i-- > 0;) {
        prepare(*fibers_[i]);
        give_back(fibers_[i].get());
    }
}

size_t FiberPool::most_pools(size_t fibers) {
    if (has_cheap_guards()) return SIZE_MAX;
    size_t most_mappings = 65530;  // Linux's default
    std::ifstream("/proc/sys/vm/max_map_count") >> most_mappings;
    // A quarter is for the rest of the program.
    return std::max<size_t>(most_mappings / 4 * 3 / (2 * fibers), 1);
}

bool FiberPool::is_guard(const void* address) const {
    const auto at = reinterpret_cast<uintptr_t>(address);
    return std::ranges::any_of(fibers_, [at](const auto& fiber) {
        const auto end = reinterpret_cast<uintptr_t>(fiber->stack_begin);
        return at < end && at >= end - kGuardBytes;
    });
}

}  // namespace softmetal::exec

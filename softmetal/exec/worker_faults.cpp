// A fault of the processor in a kernel ends the run with an error, not the process. The handler
// only notes the fault and sends the thread to a function of ours, at the top of the stack that the
// kernel no longer needs; everything else happens there, outside signal context.
#include <fmt/format.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "softmetal/exec/sanitizer.h"
#include "softmetal/exec/worker.h"

namespace softmetal::exec {
namespace {

constexpr size_t kAlternateStackBytes = size_t{64} << 10;

void go_on_at(void* context, void (*function)(), const char* stack_top) {
    auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
    const auto top = reinterpret_cast<uintptr_t>(stack_top) & ~uintptr_t{63};
#if defined(__x86_64__)
    machine.gregs[REG_RIP] = reinterpret_cast<greg_t>(function);
    machine.gregs[REG_RSP] = static_cast<greg_t>(top - 8);  // as after a call
    machine.gregs[REG_EFL] &= ~0x400;                       // the direction flag
#elif defined(__aarch64__)
    machine.pc = reinterpret_cast<uintptr_t>(function);
    machine.sp = top;
#else
#error "how does this architecture go on elsewhere after a signal?"
#endif
}

}  // namespace

AlternateStack::AlternateStack() {
    stack_t present = {};
    if (sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0) return;
    void* memory = mmap(nullptr, kAlternateStackBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    memory_ = memory;
    const auto stack = stack_t{.ss_sp = memory, .ss_flags = 0, .ss_size = kAlternateStackBytes};
    sigaltstack(&stack, nullptr);
}

AlternateStack::~AlternateStack() {
    if (memory_ == nullptr) return;
    const auto none = stack_t{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    sigaltstack(&none, nullptr);
    munmap(memory_, kAlternateStackBytes);
}

bool Worker::claim_fault(const Fault& fault) {
    Worker* const worker = running_;
    if (worker == nullptr || !worker->is_in_kernel_) return false;
    worker->is_in_kernel_ = false;  // a second one would be our own
    worker->fault_ = fault;
    go_on_at(fault.context, &Worker::after_fault, worker->fiber_->stack_top);
    return true;
}

void Worker::after_fault() {
    Worker& worker = *running_;
#ifdef SOFTMETAL_ASAN
    __asan_unpoison_memory_region(worker.fiber_->stack_begin, FiberPool::kStackBytes);
#endif
    worker.report_fault();
    leave_fiber(*worker.fiber_, worker.main_);
}

void Worker::report_fault() {
    if (fault_.signal == SIGFPE) {
        return set_error("divides an integer by zero, or the lowest integer by -1", 0);
    }
    if (fault_.signal == SIGILL) {
        return set_error("reaches __builtin_trap or code that the compiler took for unreachable",
                         0);
    }
    if (pool_.is_guard(fault_.address)) return report_stack(0);
    // Nothing was checked, so nothing is known but the address.
    const auto map = MemoryMap(plan_->launch);
    auto checker = MemoryChecker();
    checker.begin(map, plan_->launch);
    const auto access = Access{.address = reinterpret_cast<uintptr_t>(fault_.address),
                               .bytes = 1,
                               .kind = fault_.is_write ? uint32_t{SM_WRITE} : uint32_t{SM_READ}};
    set_error(checker.complaint(access, fault_.is_write ? "writes" : "reads"), 0);
}

}  // namespace softmetal::exec

#include "softmetal/base/fault.h"

#include <ucontext.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace softmetal {
namespace {

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

// Read in signal context, so: fixed size, atomics only.
std::array<std::atomic<FaultClaim>, 8> claims = {};
std::array<struct sigaction, kSignals.size()> earlier;

bool is_write(const void* context) {
    const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    return (machine.gregs[REG_ERR] & 2) != 0;
#elif defined(__aarch64__)
    // The kernel appends records {magic, size}; the one with the exception syndrome has bit 6 set
    // for a write.
    const auto* record = reinterpret_cast<const unsigned char*>(machine.__reserved);
    for (;;) {
        const auto* head = reinterpret_cast<const uint32_t*>(record);
        if (head[0] == 0 || head[1] == 0) return false;
        if (head[0] == 0x45535201) {
            return (*reinterpret_cast<const uint64_t*>(record + 8) >> 6 & 1) != 0;
        }
        record += head[1];
    }
#else
#error "where does this architecture say whether a fault was a write?"
#endif
}

void pass_on(int signal, siginfo_t* info, void* context) {
    size_t slot = 0;
    while (kSignals[slot] != signal) ++slot;
    const auto& action = earlier[slot];
    if (action.sa_flags & SA_SIGINFO) return action.sa_sigaction(signal, info, context);
    if (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN) {
        return action.sa_handler(signal);
    }
    // The default: put it back and let the instruction fault again.
    struct sigaction plain = {};
    plain.sa_handler = SIG_DFL;
    sigaction(signal, &plain, nullptr);
}

void on_fault(int signal, siginfo_t* info, void* context) {
    const auto fault = Fault{.signal = signal,
                             .address = info->si_addr,
                             .is_write = is_write(context),
                             .info = info,
                             .context = context};
    for (const auto& slot : claims) {
        const auto claim = slot.load(std::memory_order_acquire);
        if (claim == nullptr) break;
        if (claim(fault)) return;
    }
    pass_on(signal, info, context);
}

void install() {
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &earlier[i]);
}

}  // namespace

void add_fault_claim(FaultClaim claim) {
    static std::mutex mutex;
    const auto lock = std::lock_guard(mutex);
    for (auto& slot : claims) {
        if (slot.load(std::memory_order_relaxed) == claim) return;
        if (slot.load(std::memory_order_relaxed) != nullptr) continue;
        slot.store(claim, std::memory_order_release);
        if (&slot == &claims.front()) install();
        return;
    }
    std::fputs("softmetal: no room for another fault claim\n", stderr);
    std::abort();
}

}  // namespace softmetal

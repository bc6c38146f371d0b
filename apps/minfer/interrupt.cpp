#include "interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "console.h"

namespace minfer {
namespace {

std::atomic<bool> g_interrupted{false};  // a signal handler can reach nothing but a global
static_assert(std::atomic<bool>::is_always_lock_free);

void on_interrupt(int) {
    if (g_interrupted.exchange(true)) ::_exit(kExitInterrupted);
}

}  // namespace

void watch_interrupts() {
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGINT, &action, nullptr);
}

bool interrupted() { return g_interrupted.load(std::memory_order_relaxed); }

}  // namespace minfer

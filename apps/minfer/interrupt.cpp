#include "interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "console.h"

namespace minfer {
namespace {

// A signal handler can reach nothing but globals.
std::atomic<bool> g_interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_interrupt(int) {
    if (g_interrupted.exchange(true)) ::_exit(kExitInterrupted);
}

void on_interrupt_exit(int) { ::_exit(kExitInterrupted); }

void handle(void (*handler)(int)) {
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGINT, &action, nullptr);
}

}  // namespace

void exit_at_interrupt() { handle(on_interrupt_exit); }
void watch_interrupts() { handle(on_interrupt); }

bool interrupted() { return g_interrupted.load(std::memory_order_relaxed); }

}  // namespace minfer

// One handler for the faults of the processor (SIGSEGV, SIGBUS, SIGFPE, SIGILL), shared by all
// parts of softmetal that can make sense of one (a kernel that left its buffers, a host access to
// memory that work in flight uses). A fault that nobody claims goes to the handler that was
// installed before, a sanitizer's or the program's.
#pragma once

#include <csignal>

namespace softmetal {

struct Fault {
    int signal = 0;
    void* address = nullptr;  // of the data, or of the code for SIGFPE and SIGILL
    bool is_write = false;    // SIGSEGV and SIGBUS
    siginfo_t* info = nullptr;
    void* context = nullptr;  // ucontext_t
};

// Runs on the faulting thread, in signal context. True: the cause is gone, or the context was
// changed to leave the faulting code; the thread goes on from the context. A fault is synchronous,
// so a claimant may take a lock as long as no code under that lock can fault.
using FaultClaim = bool (*)(const Fault&);

// Claims are asked in the order they came and stay for the life of the process. Adding one again
// changes nothing. A thread that can overflow its stack needs a sigaltstack of its own.
void add_fault_claim(FaultClaim claim);

}  // namespace softmetal

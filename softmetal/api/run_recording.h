// Runs what a command buffer recorded, command by command, on the calling thread and the
// executor's.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "softmetal/api/command.h"
#include "softmetal/base/mutex.h"
#include "softmetal/control.h"

namespace softmetal::api {

// Counters of one kernel name.
class KernelTally {
  public:
    explicit KernelTally(std::string kernel) { counters_.kernel = std::move(kernel); }
    void add(const exec::Counters& run);
    KernelCounters get() const;
    void reset();

  private:
    mutable Mutex mutex_;
    KernelCounters counters_ SOFTMETAL_GUARDED_BY(mutex_);
};

struct RunSettings {
    exec::Executor* executor = nullptr;
    uint64_t order_seed = 0;
    bool serve_lowest_site_first = false;
    bool count_memory = false;
    std::function<void(const exec::LogMessage&)> log;  // what kernels say; empty: to standard error
};

struct Failure {
    int64_t code = 0;  // MTLCommandBufferError
    std::string message;
    int encoder = -1;  // index into Recording::encoders; -1: none was begun
};

// Stops at the first failure; events are signalled all the same, so that nobody waits for ever.
std::optional<Failure> run(Recording& recording, const RunSettings& settings);

// What is left to do for a recording that will not run.
void signal_events(const Recording& recording);

// For the report on a host access. "byte 12 of buffer 'x'": the first buffer held that has the
// byte, and "kernel 'add', which reads it as buffer(1) 'in',": a command that touches it; one that
// writes it unless `or_reads`.
std::string name_of_byte(const Recording& recording, const Allocation& root, uint64_t offset);
std::string user_of_byte(const Recording& recording, const Allocation& root, uint64_t offset,
                         bool or_reads);

}  // namespace softmetal::api

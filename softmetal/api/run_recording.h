// Runs what a command buffer recorded, command by command, on the calling thread and the
// executor's.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "softmetal/api/command.h"
#include "softmetal/base/mutex.h"
#include "softmetal/control.h"

namespace softmetal::api {

// Counters of one kernel name.
struct KernelTally {
    Mutex mutex;
    KernelCounters counters SOFTMETAL_GUARDED_BY(mutex);

    void add(const exec::Counters& run);
};

struct RunSettings {
    exec::Executor* executor = nullptr;
    uint64_t order_seed = 0;
    bool serve_lowest_site_first = false;
    bool count_memory = false;
    uint32_t max_grid_threads = 0;
};

struct Failure {
    int64_t code = 0;  // MTLCommandBufferError
    std::string message;
    int encoder = -1;  // index into Recording::encoders; -1: none was begun
};

// Stops at the first failure; events are signalled all the same, so that nobody waits for ever.
std::optional<Failure> run(Recording& recording, const RunSettings& settings);

}  // namespace softmetal::api

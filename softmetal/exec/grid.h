// Runs one dispatch: a kernel over a grid of threadgroups, on a pool of worker threads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "softmetal/base/result.h"
#include "softmetal/exec/abi.h"
#include "softmetal/exec/module.h"

namespace softmetal::exec {

struct Size3 {
    uint32_t x = 1, y = 1, z = 1;
};

enum class Checks : uint8_t { Off, Bounds, All };

// A stretch of memory that a kernel may touch, as the kernel sees it.
struct MemoryRange {
    const void* begin = nullptr;
    uint64_t bytes = 0;
    const char* label = "";  // for reports
    bool read_only = false;
};

// What a kernel says through os_log.
struct LogMessage {
    uint32_t type = 0;  // OS_LOG_TYPE: 0 default, 1 info, 2 debug, 16 error, 17 fault
    std::string_view subsystem, category, text;
};
// "[subsystem:category] error: text"
std::string described(const LogMessage& message);

struct Launch {
    std::shared_ptr<const Module> module;
    const sm_kernel* kernel = nullptr;
    Size3 threads;  // of the grid; ragged edges make smaller threadgroups
    Size3 threads_per_threadgroup;
    std::array<void*, SM_MAX_BUFFERS> buffers = {};
    std::array<uint32_t, SM_MAX_THREADGROUP> threadgroup_bytes = {};
    // Checked modules: what may be touched. Must outlive the run.
    std::span<const MemoryRange> memory;
    Checks checks = Checks::Off;
    // Names the program's memory that holds an address, for reports: "byte 8 of buffer 'x'"; "" for
    // none. Asked about addresses outside `memory`, on the small stacks of fibers.
    std::function<std::string(uintptr_t)> describe_address;
    uint64_t order_seed = 0;  // 0: threadgroups in ascending order
    // Lanes that wait at different places go on in turns, the lowest source position first, as on
    // hardware, instead of being reported.
    bool serve_lowest_site_first = false;
    bool count_memory = false;  // also the byte counters, checked modules only
    // Asked before each threadgroup: true makes the run end with an error.
    const std::atomic<bool>* abandon = nullptr;
    // Receives what kernels log, on the small stacks of fibers; empty: standard error.
    std::function<void(const LogMessage&)> log;
};

// What a dispatch did. A barrier counts once for each threadgroup that passes it. Bytes only with
// count_memory.
struct Counters {
    uint64_t dispatches = 0, threads = 0, barriers = 0;
    uint64_t read_bytes = 0, read_distinct_bytes = 0, read_distinct_in_simdgroup_bytes = 0;
    uint64_t written_bytes = 0, written_distinct_bytes = 0, written_distinct_in_simdgroup_bytes = 0;
};

// Worker threads and their fibers. Results do not depend on the number of workers.
class Executor {
  public:
    explicit Executor(int workers);  // 0: one per core, if the system has room for the stacks
    ~Executor();
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    // Runs to the end. The error is one report: what was violated, kernel, threadgroup, thread, and
    // the source line where it is known. After an error the grid's other threads are abandoned.
    Result<Counters> run(const Launch& launch);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace softmetal::exec

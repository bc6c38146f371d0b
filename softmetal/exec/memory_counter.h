// Counts the bytes of buffers that a dispatch reads and writes: all, distinct ones, and those that
// are distinct within a SIMD group, summed over SIMD groups (what would cross a memory bus if each
// SIMD group kept everything it had once touched).
#pragma once

#include <atomic>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "softmetal/exec/memory_map.h"

namespace softmetal::exec {

// Which bytes of the buffers were touched, by all workers of a run.
class TouchedBytes {
  public:
    // One interval for every stretch of memory that buffers cover, so that overlapping buffers do
    // not count a byte twice.
    explicit TouchedBytes(const MemoryMap& map);
    ~TouchedBytes();
    TouchedBytes(const TouchedBytes&) = delete;
    TouchedBytes& operator=(const TouchedBytes&) = delete;

    // How many of the bytes are touched for the first time. They must lie in a buffer.
    uint64_t touch(uintptr_t address, uint64_t bytes, bool is_write);
    bool is_complete() const { return is_complete_; }  // false: out of memory

  private:
    struct Interval {
        uintptr_t begin = 0, end = 0;
        std::atomic<uint64_t>* bits = nullptr;  // a bit per byte: those read, then those written
        uint64_t words = 0;                     // of each half
    };
    std::vector<Interval> intervals_;
    bool is_complete_ = true;
};

struct ByteCounts {
    uint64_t total = 0, distinct = 0, distinct_in_simdgroup = 0;
};

// The counts of one worker.
class MemoryCounter {
  public:
    explicit MemoryCounter(TouchedBytes& touched) : touched_(touched), lines_(32) {}

    void count(uintptr_t address, uint64_t bytes, uint32_t kind, uint32_t simdgroup);
    void end_threadgroup() {
        for (auto& group : lines_) group.clear();
    }
    const ByteCounts& read() const { return read_; }
    const ByteCounts& written() const { return written_; }

  private:
    struct Line {  // of 64 bytes; a bit per byte
        uint64_t read = 0, written = 0;
    };

    TouchedBytes& touched_;
    std::vector<std::unordered_map<uintptr_t, Line>> lines_;  // by SIMD group
    ByteCounts read_, written_;
};

}  // namespace softmetal::exec

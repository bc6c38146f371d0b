#include "softmetal/exec/threadgroup_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "softmetal/exec/grid.h"

namespace softmetal::exec {
namespace {

constexpr uint64_t kGap = 256;
constexpr uint64_t kAlignment = 64;
// NaN as any float type and -1 as an integer: more telling than zeros, and than what the last
// threadgroup left.
constexpr int kUnspecified = 0xff;

uint64_t round_up(uint64_t value, uint64_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
}

}  // namespace

ThreadgroupMemory::~ThreadgroupMemory() {
    if (memory_ != nullptr) munmap(memory_, bytes_);
}

uint64_t ThreadgroupMemory::bytes_for(const Launch& launch) {
    const auto& table = launch.module->table();
    const auto variables =
        static_cast<uint64_t>(table.threadgroup_variables_end - table.threadgroup_variables_begin);
    return std::accumulate(launch.threadgroup_bytes.begin(), launch.threadgroup_bytes.end(),
                           launch.module->limits(*launch.kernel).static_threadgroup_bytes) +
           (kGap + kAlignment) * (SM_MAX_THREADGROUP + variables + 1);
}

bool ThreadgroupMemory::begin(uint64_t bytes) {
    used_ = 0;
    variables_.clear();
    if (bytes <= bytes_) return true;
    if (memory_ != nullptr) munmap(memory_, bytes_);
    bytes_ = round_up(bytes, 1 << 16);
    void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    memory_ = memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
    if (memory_ == nullptr) bytes_ = 0;
    return memory_ != nullptr;
}

char* ThreadgroupMemory::place(uint64_t bytes, uint64_t alignment) {
    const uint64_t begin = round_up(used_ + kGap, std::max(alignment, kAlignment));
    if (bytes > bytes_ || begin > bytes_ - bytes) return nullptr;
    used_ = begin + bytes;
    return memory_ + begin;
}

char* ThreadgroupMemory::place(const sm_threadgroup_variable& variable) {
    char* const address = place(variable.bytes, variable.alignment);
    if (address != nullptr) variables_.push_back({.variable = &variable, .address = address});
    return address;
}

void ThreadgroupMemory::make_unspecified() { make_unspecified(memory_, used_); }

void ThreadgroupMemory::make_unspecified(char* begin, uint64_t bytes) {
    std::memset(begin, kUnspecified, bytes);
}

}  // namespace softmetal::exec

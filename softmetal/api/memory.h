// The memory behind MTLBuffer. It lives in one memory file that is mapped twice: the host view is
// what contents() gives, the device view is what kernels use. So the host's access can be taken
// away while work is in flight (in_flight.h) without the work noticing. Unmapped gaps keep buffers
// apart in both views, and fresh memory is zero, as it is on the real thing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "softmetal/base/mutex.h"
#include "softmetal/base/result.h"

namespace softmetal::api {

class Allocation;
class InFlight;

// What work in flight does to a stretch of an allocation; in_flight.cpp keeps these.
struct HostWatch {
    uint64_t begin = 0, end = 0;  // bytes of the root allocation
    bool writes = false;
    InFlight* owner = nullptr;
};

constexpr uint64_t kPageBytes = 16384;  // Apple's, larger than the machine's own

constexpr uint64_t whole_pages(uint64_t bytes) {
    return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

enum class HostView : uint8_t { Mapped, None };

// The address ranges and the file that buffers are cut from. Kept alive by its allocations.
class MemorySpace : public std::enable_shared_from_this<MemorySpace> {
  public:
    // Reserves addresses, not memory; fewer than asked for where they are rationed (ulimit -v) or
    // cannot be had.
    static Result<std::shared_ptr<MemorySpace>> create(uint64_t address_bytes);
    ~MemorySpace();
    MemorySpace(const MemorySpace&) = delete;
    MemorySpace& operator=(const MemorySpace&) = delete;

    // Zero-filled. Fails when no address range or no mapping is left.
    Result<std::shared_ptr<Allocation>> allocate(uint64_t length, HostView view);

    // The live root allocation whose host view holds `address`, or null. Takes no memory: it is
    // asked in signal context. The pointer is good while `watch_mutex` is held.
    Allocation* find_host(const void* address) SOFTMETAL_REQUIRES(watch_mutex);

    // Guards everything that decides about the protection of host views.
    Mutex watch_mutex;

  private:
    friend class Allocation;
    MemorySpace(int file, std::byte* host, std::byte* device, uint64_t bytes);
    static Result<std::shared_ptr<MemorySpace>> create_exactly(uint64_t bytes);
    uint64_t take(uint64_t bytes);  // offset, or kNone
    void give(uint64_t offset, uint64_t bytes);
    void release(const Allocation& allocation);

    static constexpr uint64_t kNone = ~uint64_t{0};
    const int file_;
    std::byte* const host_;
    std::byte* const device_;
    const uint64_t bytes_;
    Mutex mutex_;
    std::map<uint64_t, uint64_t> free_ SOFTMETAL_GUARDED_BY(mutex_);  // offset -> bytes
    std::map<uint64_t, Allocation*> by_offset_ SOFTMETAL_GUARDED_BY(watch_mutex);
};

// One stretch of device memory. Commands keep it alive by shared_ptr, so that memory never goes
// away under running work; `released` says that the program's buffer object is gone.
class Allocation : public std::enable_shared_from_this<Allocation> {
  public:
    ~Allocation();
    Allocation(const Allocation&) = delete;
    Allocation& operator=(const Allocation&) = delete;

    // Memory that belongs to the program (newBufferWithBytesNoCopy): both views are that memory.
    static std::shared_ptr<Allocation> wrap(void* memory, uint64_t length);
    // A part of another allocation (a buffer in a heap).
    static std::shared_ptr<Allocation> slice(std::shared_ptr<Allocation> whole, uint64_t offset,
                                             uint64_t length);

    std::byte* host() const { return host_; }  // null without a host view
    std::byte* device() const { return device_; }
    uint64_t length() const { return length_; }  // as asked for
    uint64_t size() const { return size_; }      // in whole pages
    bool is_wrapped() const { return space_ == nullptr; }
    // The allocation that owns the pages, and where this one starts in it.
    Allocation& root() { return whole_ ? whole_->root() : *this; }
    std::shared_ptr<Allocation> shared_root() {
        return whole_ ? whole_->shared_root() : shared_from_this();
    }
    uint64_t root_offset() const { return whole_ ? whole_->root_offset() + offset_ : 0; }
    MemorySpace* space() const { return space_.get(); }

    void set_label(std::string label);
    std::string label() const;
    // "buffer 'weights'", or its size where it has no label: how reports name it.
    std::string described() const;

    std::atomic<bool> released = false;
    // The last recording that holds this, by number: it need not hold it twice.
    std::atomic<uint64_t> held_by = 0;
    // Of a root: who uses it right now. Guarded by the space's watch_mutex.
    std::vector<HostWatch> watches;

  private:
    friend class MemorySpace;
    Allocation();

    std::shared_ptr<MemorySpace> space_;
    std::shared_ptr<Allocation> whole_;  // of a slice
    uint64_t offset_ = 0;                // in the space, or in the whole
    std::byte* host_ = nullptr;
    std::byte* device_ = nullptr;
    uint64_t length_ = 0, size_ = 0;
    mutable Mutex label_mutex_;
    std::string label_ SOFTMETAL_GUARDED_BY(label_mutex_);
};

}  // namespace softmetal::api

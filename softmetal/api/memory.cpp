#include "softmetal/api/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "softmetal/api/in_flight.h"

namespace softmetal::api {
namespace {

// Wide enough that a small overrun lands in it, whichever page size the machine has.
constexpr uint64_t kGapBytes = 65536;

std::byte* reserve(uint64_t bytes) {
    void* p = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? nullptr : static_cast<std::byte*>(p);
}

std::string system_error(const char* what) {
    return std::string(what) + ": " + std::strerror(errno);
}

}  // namespace

Result<std::shared_ptr<MemorySpace>> MemorySpace::create(uint64_t address_bytes) {
    // A smaller space will do. Both views of it leave half of a ration to the rest of the program:
    // the stacks of its threads, its heap, the files it maps.
    constexpr uint64_t kEnough = uint64_t{64} << 20;
    rlimit ration = {};
    if (getrlimit(RLIMIT_AS, &ration) == 0 && ration.rlim_cur != RLIM_INFINITY)
        address_bytes = std::min<uint64_t>(address_bytes, ration.rlim_cur / 4);
    for (;; address_bytes /= 2) {
        auto space = create_exactly(whole_pages(address_bytes));
        if (space || address_bytes / 2 < kEnough) return space;
    }
}

Result<std::shared_ptr<MemorySpace>> MemorySpace::create_exactly(uint64_t bytes) {
    const int file = memfd_create("softmetal", MFD_CLOEXEC);
    if (file < 0) return fail(system_error("memfd_create"));
    if (ftruncate(file, static_cast<off_t>(bytes)) != 0) {
        auto why = system_error("sizing the memory file");
        close(file);
        return fail(std::move(why));
    }
    // A page more than needed, to start on Apple's page size.
    const auto align = [](std::byte* p) {
        return reinterpret_cast<std::byte*>(whole_pages(reinterpret_cast<uint64_t>(p)));
    };
    auto* host = reserve(bytes + kPageBytes);
    auto* device = host ? reserve(bytes + kPageBytes) : nullptr;
    if (device == nullptr) {
        auto why = system_error("reserving addresses for buffers");
        if (host) munmap(host, bytes + kPageBytes);
        close(file);
        return fail(std::move(why));
    }
    const auto trim = [&](std::byte* begin) {
        auto* from = align(begin);
        if (from != begin) munmap(begin, static_cast<size_t>(from - begin));
        const auto rest = static_cast<size_t>(begin + kPageBytes - from);
        if (rest != 0) munmap(from + bytes, rest);
        return from;
    };
    auto space =
        std::shared_ptr<MemorySpace>(new MemorySpace(file, trim(host), trim(device), bytes));
    watch_host_view(space->host_, bytes, space.get());
    return space;
}

MemorySpace::MemorySpace(int file, std::byte* host, std::byte* device, uint64_t bytes)
    : file_(file), host_(host), device_(device), bytes_(bytes) {
    // The first gap stands before the first buffer.
    free_.emplace(kGapBytes, bytes - kGapBytes);
}

MemorySpace::~MemorySpace() {
    forget_host_view(this);
    munmap(host_, bytes_);
    munmap(device_, bytes_);
    close(file_);
}

uint64_t MemorySpace::take(uint64_t bytes) {
    const auto lock = MutexLock(mutex_);
    for (auto it = free_.begin(); it != free_.end(); ++it) {
        const auto [offset, available] = *it;
        if (available < bytes) continue;
        free_.erase(it);
        if (available > bytes) free_.emplace(offset + bytes, available - bytes);
        return offset;
    }
    return kNone;
}

void MemorySpace::give(uint64_t offset, uint64_t bytes) {
    const auto lock = MutexLock(mutex_);
    auto next = free_.lower_bound(offset);
    if (next != free_.end() && offset + bytes == next->first) {
        bytes += next->second;
        next = free_.erase(next);
    }
    if (next != free_.begin()) {
        auto& [before, before_bytes] = *std::prev(next);
        if (before + before_bytes == offset) {
            before_bytes += bytes;
            return;
        }
    }
    free_.emplace(offset, bytes);
}

Result<std::shared_ptr<Allocation>> MemorySpace::allocate(uint64_t length, HostView view) {
    if (length == 0 || length > bytes_) return fail("no such length");
    const uint64_t size = whole_pages(length);
    const uint64_t offset = take(size + kGapBytes);
    if (offset == kNone)
        return fail("no address range is left for " + std::to_string(length) + " bytes");

    const auto map = [&](std::byte* base) {
        return mmap(base + offset, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_,
                    static_cast<off_t>(offset)) != MAP_FAILED;
    };
    auto made = std::shared_ptr<Allocation>(new Allocation);
    if (!map(device_) || (view == HostView::Mapped && !map(host_))) {
        auto why = system_error("mapping a buffer");
        mmap(device_ + offset, size, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        give(offset, size + kGapBytes);
        return fail(std::move(why));
    }
    made->space_ = shared_from_this();
    made->offset_ = offset;
    made->device_ = device_ + offset;
    made->host_ = view == HostView::Mapped ? host_ + offset : nullptr;
    made->length_ = length;
    made->size_ = size;
    const auto lock = MutexLock(watch_mutex);
    by_offset_.emplace(offset, made.get());
    return made;
}

void MemorySpace::release(const Allocation& allocation) {
    {
        const auto lock = MutexLock(watch_mutex);
        by_offset_.erase(allocation.offset_);
    }
    // Gives the memory back, and makes the next buffer here start with zeros.
    if (fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  static_cast<off_t>(allocation.offset_),
                  static_cast<off_t>(allocation.size_)) != 0) {
        std::memset(allocation.device_, 0, allocation.size_);
    }
    for (auto* view : {allocation.host_, allocation.device_}) {
        if (view == nullptr) continue;
        mmap(view, allocation.size_, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    }
    give(allocation.offset_, allocation.size_ + kGapBytes);
}

Allocation* MemorySpace::find_host(const void* address) {
    const auto* at = static_cast<const std::byte*>(address);
    if (at < host_ || at >= host_ + bytes_) return nullptr;
    const auto offset = static_cast<uint64_t>(at - host_);
    auto it = by_offset_.upper_bound(offset);
    if (it == by_offset_.begin()) return nullptr;
    auto* allocation = std::prev(it)->second;
    if (allocation->host_ == nullptr || offset - allocation->offset_ >= allocation->size_)
        return nullptr;
    return allocation;
}

Allocation::Allocation() = default;

Allocation::~Allocation() {
    if (space_ && !whole_) space_->release(*this);
}

std::shared_ptr<Allocation> Allocation::wrap(void* memory, uint64_t length) {
    auto made = std::shared_ptr<Allocation>(new Allocation);
    made->host_ = made->device_ = static_cast<std::byte*>(memory);
    made->length_ = length;
    made->size_ = whole_pages(length);
    return made;
}

std::shared_ptr<Allocation> Allocation::slice(std::shared_ptr<Allocation> whole, uint64_t offset,
                                              uint64_t length) {
    auto made = std::shared_ptr<Allocation>(new Allocation);
    made->space_ = whole->space_;
    made->host_ = whole->host_ ? whole->host_ + offset : nullptr;
    made->device_ = whole->device_ + offset;
    made->length_ = length;
    made->size_ = whole_pages(length);
    made->offset_ = offset;
    made->whole_ = std::move(whole);
    return made;
}

void Allocation::set_label(std::string label) {
    const auto lock = MutexLock(label_mutex_);
    label_ = std::move(label);
}

std::string Allocation::label() const {
    const auto lock = MutexLock(label_mutex_);
    return label_;
}

std::string Allocation::described() const {
    const auto text = label();
    if (text.empty()) return "the buffer of " + std::to_string(length_) + " bytes";
    return "buffer '" + text + "'";
}

}  // namespace softmetal::api

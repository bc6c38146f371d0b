#include "softmetal/api/in_flight.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "softmetal/base/fault.h"

namespace softmetal::api {

struct HostFault {
    MemorySpace* space = nullptr;
    const void* address = nullptr;
    bool wrote = false;
};

namespace {

const uint64_t machine_page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));

// Spaces that exist, for the fault handler. A slot is free while its `space` is null.
struct View {
    std::atomic<const std::byte*> begin = nullptr;
    std::atomic<uint64_t> bytes = 0;
    std::atomic<MemorySpace*> space = nullptr;
};
std::array<View, 64> views;

bool overlap(const HostWatch& entry, uint64_t begin, uint64_t end) {
    return entry.begin < end && begin < entry.end;
}

int protection(const std::vector<HostWatch>& entries, uint64_t begin, uint64_t end) {
    int result = PROT_READ | PROT_WRITE;
    for (const auto& entry : entries) {
        if (!overlap(entry, begin, end)) continue;
        if (entry.writes) return PROT_NONE;
        result = PROT_READ;
    }
    return result;
}

// Gives each page of [begin, end) the protection that the entries ask for, in as few calls as there
// are stretches that differ. No page is open in between that should not be.
void protect(Allocation& root, uint64_t begin, uint64_t end) {
    if (root.host() == nullptr) return;
    const auto& entries = root.watches;
    const auto down = [](uint64_t at) { return at / machine_page * machine_page; };
    begin = down(begin);
    end = std::min(down(end + machine_page - 1), root.size());
    while (begin < end) {
        // Protection can only change at a page where some entry begins or behind one where it ends.
        uint64_t next = end;
        for (const auto& entry : entries) {
            for (const uint64_t edge : {down(entry.begin), down(entry.begin) + machine_page,
                                        down(entry.end - 1), down(entry.end - 1) + machine_page}) {
                if (edge > begin) next = std::min(next, edge);
            }
        }
        mprotect(root.host() + begin, next - begin, protection(entries, begin, next));
        begin = next;
    }
}

}  // namespace

bool claim_host_fault(const HostFault& fault) {
    const auto lock = MutexLock(fault.space->watch_mutex);
    auto* root = fault.space->find_host(fault.address);
    if (root == nullptr) return false;
    const auto offset =
        static_cast<uint64_t>(static_cast<const std::byte*>(fault.address) - root->host());
    for (const auto& entry : root->watches) {
        if (!overlap(entry, offset, offset + 1) || !(fault.wrote || entry.writes)) continue;
        const auto owner_lock = MutexLock(entry.owner->mutex_);
        auto& access = entry.owner->access_;
        if (!access) access = {.memory = root, .offset = offset, .wrote = fault.wrote};
    }
    // Nothing in flight covers the byte, only its page: opened all the same, or the access would
    // never end.
    const uint64_t page = offset / machine_page * machine_page;
    return mprotect(root->host() + page, machine_page, PROT_READ | PROT_WRITE) == 0;
}

namespace {

bool claim_fault(const Fault& fault) {
    const auto* at = static_cast<const std::byte*>(fault.address);
    for (auto& view : views) {
        auto* space = view.space.load(std::memory_order_acquire);
        if (space == nullptr) continue;
        const auto* begin = view.begin.load(std::memory_order_relaxed);
        if (at < begin || at >= begin + view.bytes.load(std::memory_order_relaxed)) continue;
        return claim_host_fault({.space = space, .address = at, .wrote = fault.is_write});
    }
    return false;
}

}  // namespace

void watch_host_view(const void* begin, uint64_t bytes, MemorySpace* space) {
    static Mutex mutex;
    const auto lock = MutexLock(mutex);
    add_fault_claim(claim_fault);
    for (auto& view : views) {
        if (view.space.load(std::memory_order_relaxed) != nullptr) continue;
        view.begin.store(static_cast<const std::byte*>(begin), std::memory_order_relaxed);
        view.bytes.store(bytes, std::memory_order_relaxed);
        view.space.store(space, std::memory_order_release);
        return;
    }
    std::fputs("softmetal: more than 64 devices at a time\n", stderr);
    std::abort();
}

void forget_host_view(MemorySpace* space) {
    for (auto& view : views) {
        if (view.space.load(std::memory_order_relaxed) == space) {
            view.space.store(nullptr, std::memory_order_release);
        }
    }
}

InFlight::InFlight(std::vector<MemoryUse> uses) : uses_(std::move(uses)) {
    for (const auto& use : uses_) {
        if (use.memory->is_wrapped()) continue;
        const auto lock = MutexLock(use.memory->space()->watch_mutex);
        use.memory->watches.push_back(
            {.begin = use.begin, .end = use.end, .writes = use.writes, .owner = this});
        protect(*use.memory, use.begin, use.end);
    }
}

InFlight::~InFlight() {
    for (const auto& use : uses_) {
        if (use.memory->is_wrapped()) continue;
        const auto lock = MutexLock(use.memory->space()->watch_mutex);
        std::erase_if(use.memory->watches, [&](const auto& entry) { return entry.owner == this; });
        protect(*use.memory, use.begin, use.end);
    }
}

std::optional<HostAccess> InFlight::violation() const {
    const auto lock = MutexLock(mutex_);
    return access_;
}

void note_host_access(Allocation& memory, uint64_t begin, uint64_t end, bool wrote) {
    auto& root = memory.root();
    if (root.space() == nullptr) return;
    const uint64_t at = memory.root_offset();
    const auto lock = MutexLock(root.space()->watch_mutex);
    for (const auto& entry : root.watches) {
        if (!overlap(entry, at + begin, at + end) || !(wrote || entry.writes)) continue;
        const auto owner_lock = MutexLock(entry.owner->mutex_);
        auto& access = entry.owner->access_;
        if (access) continue;
        access = {.memory = &root, .offset = std::max(at + begin, entry.begin), .wrote = wrote};
    }
}

std::vector<MemoryUse> merged(std::vector<MemoryUse> uses) {
    std::erase_if(uses, [](const auto& use) { return use.begin >= use.end; });
    std::ranges::sort(uses, {}, [](const auto& use) {
        return std::tuple(use.memory.get(), use.writes, use.begin);
    });
    std::vector<MemoryUse> result;
    for (auto& use : uses) {
        if (!result.empty()) {
            auto& last = result.back();
            if (last.memory == use.memory && last.writes == use.writes && use.begin <= last.end) {
                last.end = std::max(last.end, use.end);
                continue;
            }
        }
        result.push_back(std::move(use));
    }
    return result;
}

}  // namespace softmetal::api

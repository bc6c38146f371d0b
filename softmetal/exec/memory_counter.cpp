#include "softmetal/exec/memory_counter.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

namespace softmetal::exec {
namespace {

// Calls visit(index, mask) for the words of 64 bits that hold [first, first + count).
template <class Visit>
void for_words(uint64_t first, uint64_t count, Visit visit) {
    while (count > 0) {
        const uint64_t shift = first % 64, here = std::min<uint64_t>(count, 64 - shift);
        const uint64_t ones = here == 64 ? ~uint64_t{0} : (uint64_t{1} << here) - 1;
        visit(first / 64, ones << shift);
        first += here;
        count -= here;
    }
}

}  // namespace

TouchedBytes::TouchedBytes(const MemoryMap& map) {
    for (const auto& region : map.regions()) {
        if (region.kind != Region::Kind::Buffer) continue;
        if (!intervals_.empty() && region.begin <= intervals_.back().end) {
            intervals_.back().end = std::max(intervals_.back().end, region.end());
        } else {
            intervals_.push_back({.begin = region.begin, .end = region.end()});
        }
    }
    for (auto& interval : intervals_) {
        interval.words = (interval.end - interval.begin + 63) / 64;
        if (interval.words == 0) continue;
        // Zero, and costs nothing where no kernel goes.
        void* memory = mmap(nullptr, 2 * interval.words * 8, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) {
            is_complete_ = false;
        } else {
            interval.bits = static_cast<std::atomic<uint64_t>*>(memory);
        }
    }
}

TouchedBytes::~TouchedBytes() {
    for (const auto& interval : intervals_) {
        if (interval.bits != nullptr) munmap(interval.bits, 2 * interval.words * 8);
    }
}

uint64_t TouchedBytes::touch(uintptr_t address, uint64_t bytes, bool is_write) {
    auto found = std::ranges::upper_bound(intervals_, address, {}, &Interval::begin);
    if (found == intervals_.begin()) return 0;
    const auto& interval = *--found;
    if (interval.bits == nullptr || address >= interval.end) return 0;
    uint64_t fresh = 0;
    for_words(address - interval.begin, bytes, [&](uint64_t index, uint64_t mask) {
        auto& word = interval.bits[index + (is_write ? interval.words : 0)];
        if ((word.load(std::memory_order_relaxed) & mask) == mask) return;
        const uint64_t before = word.fetch_or(mask, std::memory_order_relaxed);
        fresh += static_cast<uint64_t>(std::popcount(mask & ~before));
    });
    return fresh;
}

void MemoryCounter::count(uintptr_t address, uint64_t bytes, uint32_t kind, uint32_t simdgroup) {
    const bool reads = (kind & SM_READ) != 0, writes = (kind & SM_WRITE) != 0;
    if (reads) {
        read_.total += bytes;
        read_.distinct += touched_.touch(address, bytes, false);
    }
    if (writes) {
        written_.total += bytes;
        written_.distinct += touched_.touch(address, bytes, true);
    }
    for_words(address, bytes, [&](uint64_t index, uint64_t mask) {
        auto& line = lines_[simdgroup][index];
        if (reads) {
            read_.distinct_in_simdgroup += static_cast<uint64_t>(std::popcount(mask & ~line.read));
            line.read |= mask;
        }
        if (writes) {
            written_.distinct_in_simdgroup +=
                static_cast<uint64_t>(std::popcount(mask & ~line.written));
            line.written |= mask;
        }
    });
}

}  // namespace softmetal::exec

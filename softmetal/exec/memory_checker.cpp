#include "softmetal/exec/memory_checker.h"

#include <fmt/format.h>

#include <algorithm>

#include "softmetal/exec/grid.h"

namespace softmetal::exec {
namespace {

// An address this far from any buffer is not worth comparing with one.
constexpr uint64_t kNear = uint64_t{1} << 24;
// Below this an address is an offset from a null pointer.
constexpr uintptr_t kAlmostNull = 1 << 20;

}  // namespace

std::string describe_access(uint64_t bytes, uint32_t kind) {
    const bool reads = (kind & SM_READ) != 0, writes = (kind & SM_WRITE) != 0;
    return fmt::format("{}{} {} byte{}", (kind & SM_ATOMIC) != 0 ? "atomically " : "",
                       reads && writes ? "changes"
                       : writes        ? "writes"
                                       : "reads",
                       bytes, bytes == 1 ? "" : "s");
}

void MemoryChecker::begin(const MemoryMap& map, const Launch& launch) {
    map_ = &map;
    launch_ = &launch;
    recent_ = {};
    own_.clear();
}

bool MemoryChecker::search(const Access& access) {
    if (access.bytes == 0) return true;
    if ((access.address & ((uint64_t{1} << (access.kind >> SM_ALIGNMENT_SHIFT)) - 1)) != 0) {
        return false;
    }
    const Region* region = region_for(access);
    if (region == nullptr || (access.kind & kKinds & ~region->allowed) != 0) return false;
    recent_[access.site * 0x9e3779b97f4a7c15u >> 58] = {
        .begin = region->begin, .bytes = region->bytes, .allowed = region->allowed};
    return true;
}

// The region that the access is in, if it may be: one that its base also points into, or any when
// nobody knows where the base points.
const Region* MemoryChecker::region_for(const Access& access) const {
    const Region* found = nullptr;
    bool holds_base = false;
    const auto look = [&](const Region& region) {
        if (!region.holds(access.address, access.bytes)) return false;
        found = &region;
        return holds_base = access.base == 0 || region.holds_pointer(access.base);
    };
    if (std::ranges::any_of(own_, look) || map_->visit_at(access.address, look)) return found;
    if (found == nullptr || region_of_pointer(access.base) != nullptr) return nullptr;
    return found;
}

const Region* MemoryChecker::region_of_pointer(uintptr_t pointer) const {
    const Region* found = nullptr;
    const auto look = [&](const Region& region) {
        if (!region.holds_pointer(pointer)) return false;
        // One that begins there rather than one that ends there.
        if (found == nullptr || pointer != region.end()) found = &region;
        return pointer != region.end();
    };
    if (!std::ranges::any_of(own_, look)) map_->visit_at(pointer, look);
    return found;
}

const Region* MemoryChecker::nearest(uintptr_t address) const {
    const Region* best = nullptr;
    uint64_t best_distance = kNear;
    const auto look = [&](const Region* region) {
        if (region == nullptr || region->kind == Region::Kind::Executor) return;
        const uint64_t distance = address < region->begin   ? region->begin - address
                                  : address > region->end() ? address - region->end()
                                                            : 0;
        if (distance >= best_distance) return;
        best = region;
        best_distance = distance;
    };
    for (const auto& region : own_) look(&region);
    look(map_->below(address));
    look(map_->above(address));
    return best;
}

const Region* MemoryChecker::buffer_of(const Access& access) const {
    const Region* found = nullptr;
    map_->visit_at(access.address, [&](const Region& region) {
        if (region.kind != Region::Kind::Buffer || !region.holds(access.address, access.bytes)) {
            return false;
        }
        found = &region;
        return true;
    });
    return found;
}

std::string MemoryChecker::complaint(const Access& access, const std::string& what) const {
    const uint64_t alignment = uint64_t{1} << (access.kind >> SM_ALIGNMENT_SHIFT);
    const Region* region = access.base == 0 ? nullptr : region_of_pointer(access.base);
    if (region == nullptr) region = region_of_pointer(access.address);
    if (region == nullptr) {
        const auto place =
            launch_->describe_address ? launch_->describe_address(access.address) : std::string();
        if (!place.empty()) {
            return fmt::format(
                "{} at {}, which is not resident for this dispatch: useResource, useHeap or a "
                "residency set makes it so",
                what, place);
        }
        region = nearest(access.address);
    }

    if (region != nullptr) {
        const auto offset = static_cast<int64_t>(access.address - region->begin);
        const std::string place = fmt::format("{} at offset {} of {}", what, offset, region->name);
        if (!region->holds(access.address, access.bytes)) {
            return fmt::format("{}, which has {}", place, region->bytes);
        }
        if ((access.kind & kKinds & ~region->allowed) != 0) {
            return fmt::format("{}, which may only be read", place);
        }
        return fmt::format("{}, which is not a multiple of {} in memory", place, alignment);
    }
    std::string text = fmt::format("{} at address {:#x}", what, access.address);
    if (access.address % alignment != 0) text += fmt::format(", no multiple of {}", alignment);
    if (access.address >= kAlmostNull) return text + ", which belongs to no buffer";
    // Most likely through an argument that nothing was bound to.
    for (const auto& argument :
         std::span(launch_->kernel->arguments, launch_->kernel->n_arguments)) {
        const bool is_bound = argument.kind == SM_ARGUMENT_BUFFER
                                  ? launch_->buffers[argument.index] != nullptr
                                  : launch_->threadgroup_bytes[argument.index] != 0;
        if (is_bound) continue;
        text += fmt::format("; nothing is bound to argument '{}' at index {}", argument.name,
                            argument.index);
    }
    return text;
}

}  // namespace softmetal::exec

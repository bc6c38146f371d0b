#include "softmetal/exec/memory_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "softmetal/exec/grid.h"

namespace softmetal::exec {
namespace {

// A buffer goes by its label and by the kernel's arguments that point into it.
std::string name_of(const MemoryRange& range, const Launch& launch) {
    const bool has_label = range.label != nullptr && *range.label != '\0';
    std::string name = has_label ? fmt::format("buffer '{}'", range.label) : "buffer";
    for (const auto& argument : std::span(launch.kernel->arguments, launch.kernel->n_arguments)) {
        if (argument.kind != SM_ARGUMENT_BUFFER || argument.index >= SM_MAX_BUFFERS) continue;
        const auto* bound = static_cast<const char*>(launch.buffers[argument.index]);
        const auto* begin = static_cast<const char*>(range.begin);
        if (bound == nullptr || bound < begin || bound >= begin + range.bytes) continue;
        name += fmt::format(" (argument '{}' at index {})", argument.name, argument.index);
    }
    return name;
}

}  // namespace

MemoryMap::MemoryMap(const Launch& launch) {
    for (const auto& range : launch.memory) {
        regions_.push_back(
            {.begin = reinterpret_cast<uintptr_t>(range.begin),
             .bytes = range.bytes,
             .kind = Region::Kind::Buffer,
             .allowed = range.read_only ? uint32_t{SM_READ} : SM_READ | SM_WRITE | SM_ATOMIC,
             .name = name_of(range, launch)});
    }
    for (const auto& segment : launch.module->segments()) {
        if (segment.is_code) continue;
        regions_.push_back({.begin = reinterpret_cast<uintptr_t>(segment.begin),
                            .bytes = segment.bytes,
                            .kind = Region::Kind::Module,
                            .allowed = SM_READ,
                            .name = "the constants of the library"});
    }
    std::ranges::sort(regions_, {}, &Region::begin);
    uintptr_t furthest = 0;
    for (const auto& region : regions_) {
        furthest = std::max(furthest, region.end());
        reach_.push_back(furthest);
    }
}

size_t MemoryMap::first_above(uintptr_t address) const {
    return static_cast<size_t>(std::ranges::upper_bound(regions_, address, {}, &Region::begin) -
                               regions_.begin());
}

}  // namespace softmetal::exec

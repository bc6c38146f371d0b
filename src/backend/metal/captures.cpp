#include "backend/metal/captures.h"

#include <utility>

namespace minfer::metal {

void Captures::add(BufferId staging, size_t bytes, Backend::Seen seen) {
    const auto ref = BufRef{.backend = BackendId::Metal, .id = staging, .bytes = bytes};
    pending_.push_back({.staging = ref, .seen = std::move(seen)});
}

void Captures::deliver() {
    for (const auto& [staging, seen] : std::exchange(pending_, {})) {
        seen({pool_.slice(staging).host(), staging.bytes});
        pool_.free(staging.id);
    }
}

void Captures::drop() {
    for (const auto& [staging, seen] : std::exchange(pending_, {})) pool_.free(staging.id);
}

}  // namespace minfer::metal

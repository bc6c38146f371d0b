#include "base/xxh3.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace minfer {

struct Xxh3::State {
    XXH3_state_t value;
};

Xxh3::Xxh3() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->value); }

Xxh3::~Xxh3() = default;

void Xxh3::add(std::span<const std::byte> bytes) {
    if (!bytes.empty()) XXH3_64bits_update(&state_->value, bytes.data(), bytes.size());
}

uint64_t Xxh3::sum() const { return XXH3_64bits_digest(&state_->value); }

}  // namespace minfer

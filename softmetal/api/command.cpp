#include "softmetal/api/command.h"

#include <algorithm>
#include <cstring>

namespace softmetal::api {

std::byte* ByteArena::add(const void* bytes, size_t count) {
    // Metal promises alignment for any type of the language.
    constexpr size_t kAlign = 64, kBlock = 16384;
    const size_t needed = (count + kAlign - 1) / kAlign * kAlign;
    if (blocks_.empty() || blocks_.back().capacity - blocks_.back().used < needed) {
        const size_t capacity = std::max(kBlock, needed);
        blocks_.push_back({.bytes = std::unique_ptr<std::byte[]>(new std::byte[capacity + kAlign]),
                           .capacity = capacity});
    }
    auto& block = blocks_.back();
    const auto start = reinterpret_cast<uintptr_t>(block.bytes.get());
    auto* at = block.bytes.get() + ((start + kAlign - 1) / kAlign * kAlign - start) + block.used;
    block.used += needed;
    std::memcpy(at, bytes, count);
    return at;
}

}  // namespace softmetal::api

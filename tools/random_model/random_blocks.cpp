#include "random_model/random_blocks.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/result.h"
#include "tensor/half.h"

namespace minfer {
namespace {

// Where a block keeps its f16 scale, and its f16 minimum if it has one, and what they must be for
// random quants to spread over about [-1, 1].
struct BlockScale {
    DType type;
    size_t scale_at;
    float scale;
    std::optional<size_t> minimum_at = std::nullopt;
    float minimum = 0;
};

constexpr BlockScale kScales[] = {
    {DType::Q4_0, 0, 1 / 8.f},
    {DType::Q4_1, 0, 2 / 15.f, 2, -1.f},
    {DType::Q5_0, 0, 1 / 16.f},
    {DType::Q5_1, 0, 2 / 31.f, 2, -1.f},
    {DType::Q8_0, 0, 1 / 127.f},
    {DType::Q2_K, 80, 1 / 20.f, 82, 1.5f / 20},
    {DType::Q3_K, 108, 1 / 64.f},
    {DType::Q4_K, 0, 1 / 300.f, 2, 7.5f / 300},
    {DType::Q5_K, 0, 1 / 600.f, 2, 15.5f / 600},
    {DType::Q6_K, 208, 1 / 1500.f},
    {DType::IQ4_NL, 0, 1 / 127.f},
    {DType::IQ4_XS, 0, 1 / 1500.f},
};

template <class T>
void fill_floats(NamedRandom& random, float amplitude, std::span<std::byte> bytes, auto convert) {
    for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
        const T value = convert(amplitude * random.uniform());
        std::memcpy(bytes.data() + at, &value, sizeof(T));
    }
}

void fill_blocks(const BlockScale& layout, NamedRandom& random, float amplitude,
                 std::span<std::byte> bytes) {
    const auto block_bytes = info(layout.type).block_bytes;
    for (size_t at = 0; at < bytes.size(); at += block_bytes) {
        const auto block = bytes.subspan(at, block_bytes);
        for (size_t i = 0; i < block_bytes; i += sizeof(uint64_t)) {
            const auto word = random.next();
            std::memcpy(block.data() + i, &word, std::min(sizeof word, block_bytes - i));
        }
        const auto size = amplitude * (1 + 0.5f * random.uniform());
        const auto scale = f32_to_f16(size * layout.scale);
        std::memcpy(block.data() + layout.scale_at, &scale, sizeof scale);
        if (layout.minimum_at) {
            const auto minimum = f32_to_f16(size * layout.minimum);
            std::memcpy(block.data() + *layout.minimum_at, &minimum, sizeof minimum);
        }
    }
}

}  // namespace

NamedRandom::NamedRandom(std::string_view name) : state_(0xcbf29ce484222325) {
    for (const unsigned char c : name) state_ = (state_ ^ c) * 0x100000001b3;
}

uint64_t NamedRandom::next() {
    state_ += 0x9e3779b97f4a7c15;
    auto z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

void fill_random(DType type, NamedRandom& random, float amplitude, std::span<std::byte> bytes) {
    if (type == DType::F32)
        return fill_floats<float>(random, amplitude, bytes, [](float x) { return x; });
    if (type == DType::F16) return fill_floats<uint16_t>(random, amplitude, bytes, f32_to_f16);
    if (type == DType::BF16) return fill_floats<uint16_t>(random, amplitude, bytes, f32_to_bf16);
    const auto* const layout = std::ranges::find(kScales, type, &BlockScale::type);
    MINFER_ASSERT(layout != std::end(kScales));
    fill_blocks(*layout, random, amplitude, bytes);
}

}  // namespace minfer

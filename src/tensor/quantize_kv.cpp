#include "tensor/quantize_kv.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/result.h"
#include "tensor/half.h"
#include "tensor/rounding.h"

namespace minfer {
namespace {

constexpr uint32_t kInfinity = 0x7f800000;
constexpr uint16_t kHalfNan = 0x7e00;

}  // namespace

BlockQ8_0 quantize_kv_block(const float* in) {
    // The bits of magnitudes are in the order of the magnitudes, infinity and NaN above all others.
    uint32_t peak = 0;
    for (int i = 0; i < kBlockValues; ++i)
        peak = std::max(peak, std::bit_cast<uint32_t>(in[i]) & 0x7fffffffu);
    BlockQ8_0 block{};
    if (peak >= kInfinity) {
        block.d = kHalfNan;
        return block;
    }
    const float scale = std::bit_cast<float>(peak) / 127;
    block.d = f32_to_f16(scale);
    if (block.d == 0) return block;
    const float inverse = 1 / scale;
    for (int i = 0; i < kBlockValues; ++i)
        block.quants[i] = static_cast<int8_t>(round_even(in[i] * inverse, -128, 127));
    return block;
}

void quantize_kv_row(const float* in, std::byte* out, size_t values) {
    MINFER_ASSERT(values % kBlockValues == 0);
    for (size_t i = 0; i < values; i += kBlockValues, out += sizeof(BlockQ8_0)) {
        const auto block = quantize_kv_block(in + i);
        std::memcpy(out, &block, sizeof(block));
    }
}

}  // namespace minfer

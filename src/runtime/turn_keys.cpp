#include "runtime/turn_keys.h"

#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tensor/dequantize.h"
#include "tensor/half.h"
#include "tensor/quantize_kv.h"

namespace minfer {
namespace {

DType element_type(KvFormat format) {
    switch (format) {
        case KvFormat::F32:
            return DType::F32;
        case KvFormat::F16:
            return DType::F16;
        case KvFormat::Q8_0:
            return DType::Q8_0;
    }
    std::unreachable();
}

void store(const std::vector<float>& row, KvFormat format, std::byte* cell) {
    switch (format) {
        case KvFormat::F32:
            std::memcpy(cell, row.data(), row.size() * sizeof(float));
            return;
        case KvFormat::F16:
            for (size_t i = 0; i < row.size(); ++i) {
                const auto half = f32_to_f16(row[i]);
                std::memcpy(cell + 2 * i, &half, sizeof(half));
            }
            return;
        case KvFormat::Q8_0:
            quantize_kv_row(row.data(), cell, row.size());
            return;
    }
    std::unreachable();
}

}  // namespace

void turn_keys_back(std::span<std::byte> cells, const KvLayout& layout, const op::Rope& rope,
                    size_t position, size_t by) {
    MINFER_ASSERT(cells.size() % layout.row_bytes == 0 && layout.width % rope.head_dim == 0);
    const auto inv_freq = rope_inv_freq(rope);
    const auto half = inv_freq.size();
    const bool interleaved = rope.style == op::RopeStyle::Interleaved;
    std::vector<float> row(layout.width);
    std::vector<double> cosine(half), sine(half);
    for (size_t t = 0; t < cells.size() / layout.row_bytes; ++t) {
        auto* const cell = cells.data() + t * layout.row_bytes;
        const auto to = static_cast<float>(position + t),
                   from = static_cast<float>(position + t + by);
        for (size_t i = 0; i < half; ++i) {
            const auto angle = double{to * inv_freq[i]} - double{from * inv_freq[i]};
            cosine[i] = std::cos(angle);
            sine[i] = std::sin(angle);
        }
        dequantize_row(element_type(layout.format), cell, row.data(), layout.width);
        for (auto* head = row.data(); head < row.data() + layout.width; head += rope.head_dim)
            for (size_t i = 0; i < half; ++i) {
                auto& a = head[interleaved ? 2 * i : i];
                auto& b = head[interleaved ? 2 * i + 1 : i + half];
                const double x = a, y = b;
                a = static_cast<float>(x * cosine[i] - y * sine[i]);
                b = static_cast<float>(x * sine[i] + y * cosine[i]);
            }
        store(row, layout.format, cell);
    }
}

}  // namespace minfer

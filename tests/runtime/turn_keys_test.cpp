// Turning keys back against rotating them at their new positions, in double.
#include "runtime/turn_keys.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/kv_cells.h"
#include "support/nmse.h"
#include "support/random_data.h"
#include "support/sequence_checks.h"

namespace minfer::test {
namespace {

// Each row at `position` + its index, by the f32 angle of the kernels.
std::vector<float> rotated(const std::vector<float>& keys, size_t width, const op::Rope& rope,
                           size_t position) {
    const auto inv_freq = rope_inv_freq(rope);
    const auto half = rope.head_dim / 2;
    const bool interleaved = rope.style == op::RopeStyle::Interleaved;
    auto out = keys;
    for (size_t at = 0; at < keys.size(); at += rope.head_dim)
        for (size_t i = 0; i < half; ++i) {
            const double angle = static_cast<float>(position + at / width) * inv_freq[i];
            const auto a = at + (interleaved ? 2 * i : i),
                       b = at + (interleaved ? 2 * i + 1 : i + half);
            out[a] = static_cast<float>(keys[a] * std::cos(angle) - keys[b] * std::sin(angle));
            out[b] = static_cast<float>(keys[a] * std::sin(angle) + keys[b] * std::cos(angle));
        }
    return out;
}

TEST(TurnKeys, StandWhereAFreshRotationPutsThem) {
    constexpr size_t kRows = 17, kWidth = 128;
    const auto keys = random_floats(kRows * kWidth, 3);
    for (const auto format : kKvFormats)
        for (const auto style : {op::RopeStyle::NonInterleaved, op::RopeStyle::Interleaved})
            for (const size_t head_dim : {64, 128})
                for (const auto& [position, by] :
                     {std::pair<size_t, size_t>{0, 1}, {5, 100}, {1000, 3000}, {30000, 2000}}) {
                    const auto layout = kv_layout(format, kWidth);
                    const auto rope = op::Rope{.style = style,
                                               .freq_base = 1e6f,
                                               .n_head = kWidth / head_dim,
                                               .head_dim = head_dim};
                    auto cells = encoded_cells(layout, rotated(keys, kWidth, rope, position + by));
                    turn_keys_back(cells, layout, rope, position, by);
                    const auto want = rotated(keys, kWidth, rope, position);
                    const auto error = nmse(decoded_cells(layout, cells), want);
                    EXPECT_LE(error, shifted_keys_bar(format))
                        << name(format) << ", head " << head_dim << ", from " << position + by
                        << " to " << position;
                    // The bar must see a row that is one position off.
                    const auto off = rotated(keys, kWidth, rope, position + 1);
                    EXPECT_GT(nmse(decoded_cells(layout, cells), off), shifted_keys_bar(format));
                }
}

}  // namespace
}  // namespace minfer::test

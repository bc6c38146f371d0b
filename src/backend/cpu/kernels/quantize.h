#pragma once
// Activation rows to 8 bits, once per matrix product.

#include <cstddef>

#include "backend/cpu/kernels/kernels.h"

namespace minfer::cpu {

template <class S>
struct Quantize {
    using F = typename S::F;
    static constexpr float kTiny = 1e-30f;  // blocks below are zeros: 127 / largest stays finite

    static float largest(const float* x, size_t n) {
        auto most = S::zero();
        for (size_t i = 0; i < n; i += S::kWidth) most = S::max(S::abs(S::load(x + i)), most);
        return S::max_lane(most);
    }
    // NaN where a value is infinite or NaN: x - x is 0 for finite x only.
    static float poison(const float* x, size_t n) {
        auto sum = S::zero();
        for (size_t i = 0; i < n; i += S::kWidth) {
            const auto v = S::load(x + i);
            sum = S::add(sum, S::sub(v, v));
        }
        return S::sum(sum);
    }
    // 32 values to bytes; returns their sum.
    static int block(const float* x, float inverse, int8_t* q) {
        const auto scale = S::splat(inverse);
        F v[4];
        for (size_t i = 0; i < 4; ++i) v[i] = S::round(S::mul(S::load(x + i * 8), scale));
        S::store_i8(q, v[0], v[1], v[2], v[3]);
        return S::sum_i32(S::dot_u8(S::splat_i8(1), S::load_i8(q)));
    }

    // d = largest / 127, q to nearest even.
    static void q8(const float* x, std::byte* out, size_t n) {
        auto* const q = reinterpret_cast<int8_t*>(out);
        auto* const d = reinterpret_cast<float*>(out + n);
        auto* const s = d + n / 32;
        for (size_t b = 0; b < n / 32; ++b) {
            const float bad = poison(x + b * 32, 32);
            const float most = bad == 0 ? largest(x + b * 32, 32) : 0;
            const float step = most / 127;
            const int sum = block(x + b * 32, most > kTiny ? 127 / most : 0, q + b * 32);
            d[b] = step + bad;
            s[b] = d[b] * static_cast<float>(sum);
        }
    }

    // One scale for 256 values.
    static void q8k(const float* x, std::byte* out, size_t n) {
        auto* const q = reinterpret_cast<int8_t*>(out);
        auto* const d = reinterpret_cast<float*>(out + n);
        auto* const sums = reinterpret_cast<int16_t*>(out + n + n / 256 * 4);
        for (size_t b = 0; b < n / 256; ++b) {
            const float bad = poison(x + b * 256, 256);
            const float most = bad == 0 ? largest(x + b * 256, 256) : 0;
            const float inverse = most > kTiny ? 127 / most : 0;
            for (size_t i = b * 256; i < (b + 1) * 256; i += 32) {
                block(x + i, inverse, q + i);
                for (size_t half = 0; half < 2; ++half) {
                    int sum = 0;
                    for (size_t j = 0; j < 16; ++j) sum += q[i + half * 16 + j];
                    sums[i / 16 + half] = static_cast<int16_t>(sum);
                }
            }
            d[b] = most / 127 + bad;
        }
    }
};

}  // namespace minfer::cpu

#include "tensor/quantize_k.h"

#include <array>
#include <cmath>

#include "tensor/half.h"
#include "tensor/rounding.h"

namespace minfer {
namespace {

// Q4_K and Q5_K: x ~ scale * level - min, level in [0, levels], min >= 0.
struct AffineFit {
    float scale = 0;
    float min = 0;
    std::array<uint8_t, 32> levels = {};
};

// How far the search for a better scale goes: step s of `steps` stretches the grid to
// levels + first + stride * s levels across the values' range.
struct Search {
    int levels;
    float first, stride;
    int steps;
};

// Error of level q under a fit, squared and weighted.
float weighted_error(const float* in, const float* weight, const uint8_t* levels, float scale,
                     float offset) {
    float sum = 0;
    for (int i = 0; i < 32; ++i) {
        const float miss = scale * static_cast<float>(levels[i]) + offset - in[i];
        sum += weight[i] * (miss * miss);
    }
    return sum;
}

// Weighted least squares: for each of a row of trial grids the levels are rounded, then the scale
// and offset that fit these levels best are solved for; the trial with the least error wins, and
// the later grids begin at its offset. Large values weigh more.
AffineFit fit_affine(const float* in, const Search& search) {
    float square_sum = 0;
    for (int i = 0; i < 32; ++i) square_sum += in[i] * in[i];
    const float typical = std::sqrt(square_sum / 32);

    float weight[32];
    float low = in[0], high = in[0], sum_w = 0, sum_x = 0;
    for (int i = 0; i < 32; ++i) {
        weight[i] = typical + std::fabs(in[i]);
        if (in[i] < low) low = in[i];
        if (in[i] > high) high = in[i];
        sum_w += weight[i];
        sum_x += weight[i] * in[i];
    }
    if (low > 0) low = 0;  // min is stored without a sign
    AffineFit best;
    best.min = -low;
    if (high == low) return best;

    const float first_inverse = static_cast<float>(search.levels) / (high - low);
    best.scale = 1 / first_inverse;
    for (size_t i = 0; i < 32; ++i)
        best.levels[i] =
            static_cast<uint8_t>(round_even(first_inverse * (in[i] - low), 0, search.levels));
    float offset = low;
    float least = weighted_error(in, weight, best.levels.data(), best.scale, offset);

    for (int step = 0; step <= search.steps; ++step) {
        const float inverse = (search.first + search.stride * static_cast<float>(step) +
                               static_cast<float>(search.levels)) /
                              (high - offset);
        std::array<uint8_t, 32> levels;
        float sum_l = 0, sum_ll = 0, sum_xl = 0;
        for (size_t i = 0; i < 32; ++i) {
            const int level = round_even(inverse * (in[i] - offset), 0, search.levels);
            levels[i] = static_cast<uint8_t>(level);
            const auto l = static_cast<float>(level);
            sum_l += weight[i] * l;
            sum_ll += weight[i] * l * l;
            sum_xl += weight[i] * l * in[i];
        }
        const float determinant = sum_w * sum_ll - sum_l * sum_l;
        if (!(determinant > 0)) continue;
        float scale = (sum_w * sum_xl - sum_x * sum_l) / determinant;
        float trial_offset = (sum_ll * sum_x - sum_l * sum_xl) / determinant;
        if (trial_offset > 0) {
            trial_offset = 0;
            scale = sum_xl / sum_ll;
        }
        const float error = weighted_error(in, weight, levels.data(), scale, trial_offset);
        if (error < least) {
            least = error;
            best.levels = levels;
            best.scale = scale;
            offset = trial_offset;
        }
    }
    best.min = -offset;
    return best;
}

// Fits the eight groups, rounds their scales and mins to six bits under the block's two halves,
// then rounds the values once more to the scales as stored. levels[256] is the result.
template <class Block>
bool encode_affine(const float* in, const Search& search, Block& block, uint8_t* levels) {
    AffineFit fits[8];
    float max_scale = 0, max_min = 0;
    for (int group = 0; group < 8; ++group) {
        fits[group] = fit_affine(in + 32 * group, search);
        if (fits[group].scale > max_scale) max_scale = fits[group].scale;
        if (fits[group].min > max_min) max_min = fits[group].min;
    }
    block.d = f32_to_f16(max_scale / 63);
    block.dmin = f32_to_f16(max_min / 63);
    if (!is_finite_half(block.d) || !is_finite_half(block.dmin)) return false;

    const float scale_inverse = max_scale > 0 ? 63 / max_scale : 0;
    const float min_inverse = max_min > 0 ? 63 / max_min : 0;
    for (int group = 0; group < 8; ++group) {
        const auto& fit = fits[group];
        const auto stored =
            ScaleMin{.scale = static_cast<uint8_t>(round_even(scale_inverse * fit.scale, 0, 63)),
                     .min = static_cast<uint8_t>(round_even(min_inverse * fit.min, 0, 63))};
        pack_scale_min(block.scales, group, stored);
        const float scale = f16_to_f32(block.d) * static_cast<float>(stored.scale);
        const float min = f16_to_f32(block.dmin) * static_cast<float>(stored.min);
        for (int i = 0; i < 32; ++i) {
            const int at = 32 * group + i;
            // Under a scale of zero every level means the same; the fit's are kept, as ggml does.
            levels[at] =
                scale == 0
                    ? fit.levels[static_cast<size_t>(i)]
                    : static_cast<uint8_t>(round_even((in[at] + min) / scale, 0, search.levels));
        }
    }
    return true;
}

void store_low_nibbles(const uint8_t* levels, uint8_t (&quants)[128]) {
    for (int pair = 0; pair < 4; ++pair)
        for (int i = 0; i < 32; ++i)
            quants[32 * pair + i] = static_cast<uint8_t>((levels[64 * pair + i] & 15) |
                                                         (levels[64 * pair + 32 + i] & 15) << 4);
}

// Q6_K: x ~ scale * level, level in [-32, 31].
struct SymmetricFit {
    float scale = 0;
    std::array<int8_t, 16> levels;
};

constexpr float kNothing = 1e-15f;  // groups and scales below count as zero

// Rounds to the grid with this inverse scale; the sums give the best scale for these levels under
// the weights x².
struct Trial {
    std::array<int8_t, 16> levels;
    float sum_xl = 0, sum_ll = 0;
};

Trial round_to_grid(const float* in, float inverse) {
    Trial trial;
    for (size_t i = 0; i < 16; ++i) {
        const int level = round_even(inverse * in[i], -32, 31);
        trial.levels[i] = static_cast<int8_t>(level);
        const float weight = in[i] * in[i];
        const auto l = static_cast<float>(level);
        trial.sum_xl += weight * in[i] * l;
        trial.sum_ll += weight * l * l;
    }
    return trial;
}

// Trial grids around the one that puts the peak at level -32; the error falls as
// sum_xl² / sum_ll grows.
SymmetricFit fit_symmetric(const float* in) {
    const auto [peak, magnitude] = find_peak(in, 16);
    SymmetricFit best;
    best.levels.fill(-32);  // what ggml stores for a group of zeros
    if (magnitude < kNothing) return best;

    const auto first = round_to_grid(in, -32 / peak);
    best.levels = first.levels;
    best.scale = first.sum_ll != 0 ? first.sum_xl / first.sum_ll : 0;
    float gain = best.scale * first.sum_xl;
    for (int step = -9; step <= 9; ++step) {
        if (step == 0) continue;
        const auto trial = round_to_grid(in, -(32 + 0.1f * static_cast<float>(step)) / peak);
        if (trial.sum_ll > 0 && trial.sum_xl * trial.sum_xl > gain * trial.sum_ll) {
            best.levels = trial.levels;
            best.scale = trial.sum_xl / trial.sum_ll;
            gain = best.scale * trial.sum_xl;
        }
    }
    return best;
}

}  // namespace

bool encode(const float* in, BlockQ4_K& block) {
    uint8_t levels[256];
    constexpr auto kSearch = Search{.levels = 15, .first = -1, .stride = 0.1f, .steps = 20};
    if (!encode_affine(in, kSearch, block, levels)) return false;
    store_low_nibbles(levels, block.quants);
    return true;
}

bool encode(const float* in, BlockQ5_K& block) {
    uint8_t levels[256];
    constexpr auto kSearch = Search{.levels = 31, .first = -0.5f, .stride = 0.1f, .steps = 15};
    if (!encode_affine(in, kSearch, block, levels)) return false;
    store_low_nibbles(levels, block.quants);
    for (int i = 0; i < 256; ++i)
        block.high_bits[i % 32] =
            static_cast<uint8_t>(block.high_bits[i % 32] | (levels[i] >> 4) << (i / 32));
    return true;
}

bool encode(const float* in, BlockQ6_K& block) {
    SymmetricFit fits[16];
    float scales[16];
    for (int group = 0; group < 16; ++group) {
        fits[group] = fit_symmetric(in + 16 * group);
        scales[group] = fits[group].scale;
    }
    const auto [peak, magnitude] = find_peak(scales, 16);
    if (magnitude < kNothing) return true;  // all zeros, also the quants

    const float inverse = -128 / peak;
    block.d = f32_to_f16(1 / inverse);
    for (int group = 0; group < 16; ++group) {
        auto& fit = fits[group];
        const int stored = round_even(inverse * fit.scale, -128, 127);
        block.scales[group] = static_cast<int8_t>(stored);
        const float scale = f16_to_f32(block.d) * static_cast<float>(stored);
        const int half = group / 8, stripe = group / 2 % 4, start = group % 2 * 16;
        for (int i = 0; i < 16; ++i) {
            // Under a scale of zero every level means the same; the fit's are kept, as ggml does.
            const int level = 32 + (scale == 0 ? fit.levels[static_cast<size_t>(i)]
                                               : round_even(in[16 * group + i] / scale, -32, 31));
            auto& low = block.quants[64 * half + 32 * (stripe & 1) + start + i];
            auto& high = block.high_bits[32 * half + start + i];
            low = static_cast<uint8_t>(low | (level & 15) << (stripe / 2 * 4));
            high = static_cast<uint8_t>(high | (level >> 4) << (stripe * 2));
        }
    }
    return is_finite_half(block.d);
}

}  // namespace minfer

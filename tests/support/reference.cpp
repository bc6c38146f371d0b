#include "support/reference.h"

#include <algorithm>
#include <cmath>

namespace minfer::test::reference {
namespace {

template <class Function>
Values each(const Values& a, const Values& b, Function function) {
    auto out = Values(a.size());
    for (size_t i = 0; i < a.size(); ++i) out[i] = function(a[i], b[i]);
    return out;
}

double silu_of(double x) { return x / (1 + std::exp(-x)); }

}  // namespace

Values widened(std::span<const float> values) { return {values.begin(), values.end()}; }

Values add(const Values& a, const Values& b) {
    return each(a, b, [](double x, double y) { return x + y; });
}

Values mul(const Values& a, const Values& b) {
    return each(a, b, [](double x, double y) { return x * y; });
}

Values scale(const Values& x, double factor) {
    return each(x, x, [factor](double value, double) { return value * factor; });
}

Values silu(const Values& x) {
    return each(x, x, [](double value, double) { return silu_of(value); });
}

Values swiglu(const Values& gate, const Values& up) {
    return each(gate, up, [](double g, double u) { return silu_of(g) * u; });
}

Values softmax(const Values& x, size_t width) {
    auto out = Values(x.size());
    for (size_t row = 0; row < x.size(); row += width) {
        double largest = x[row], total = 0;
        for (size_t i = 0; i < width; ++i) largest = std::max(largest, x[row + i]);
        for (size_t i = 0; i < width; ++i) total += std::exp(x[row + i] - largest);
        for (size_t i = 0; i < width; ++i) out[row + i] = std::exp(x[row + i] - largest) / total;
    }
    return out;
}

Values rms_norm(const Values& x, std::span<const float> weight, double eps) {
    auto out = Values(x.size());
    const auto width = weight.size();
    for (size_t row = 0; row < x.size(); row += width) {
        double squares = 0;
        for (size_t i = 0; i < width; ++i) squares += x[row + i] * x[row + i];
        const double inverse = 1 / std::sqrt(squares / static_cast<double>(width) + eps);
        for (size_t i = 0; i < width; ++i) out[row + i] = x[row + i] * inverse * double{weight[i]};
    }
    return out;
}

Values matmul(std::span<const float> weight, std::span<const float> bias, const Values& x,
              size_t in_dim) {
    const auto out_dim = weight.size() / in_dim;
    auto out = Values(x.size() / in_dim * out_dim);
    for (size_t i = 0; i < out.size(); ++i) {
        const auto* const row = &weight[i % out_dim * in_dim];
        const auto* const token = &x[i / out_dim * in_dim];
        double sum = bias.empty() ? 0 : double{bias[i % out_dim]};
        for (size_t j = 0; j < in_dim; ++j) sum += double{row[j]} * token[j];
        out[i] = sum;
    }
    return out;
}

Values gather(std::span<const float> table, size_t width, std::span<const int32_t> ids) {
    auto out = Values();
    for (const auto id : ids) {
        const auto row = table.subspan(static_cast<size_t>(id) * width, width);
        out.insert(out.end(), row.begin(), row.end());
    }
    return out;
}

Values rope(const op::Rope& rope, const Values& x, std::span<const int32_t> positions) {
    const auto inv_freq = rope_inv_freq(rope);
    const auto half = rope.head_dim / 2;
    const bool interleaved = rope.style == op::RopeStyle::Interleaved;
    auto out = Values(x.size());
    for (size_t at = 0; at < x.size(); at += rope.head_dim) {
        const auto position = static_cast<float>(positions[at / (rope.n_head * rope.head_dim)]);
        for (size_t i = 0; i < half; ++i) {
            const auto first = at + (interleaved ? 2 * i : i);
            const auto second = at + (interleaved ? 2 * i + 1 : i + half);
            const double angle = position * inv_freq[i];  // an f32 product
            out[first] = x[first] * std::cos(angle) - x[second] * std::sin(angle);
            out[second] = x[first] * std::sin(angle) + x[second] * std::cos(angle);
        }
    }
    return out;
}

Values attention(const op::Attention& attention, const Values& q, std::span<const float> k,
                 std::span<const float> v, std::span<const Cells> windows) {
    const auto head_dim = attention.head_dim;
    const auto kv_width = attention.n_head_kv * head_dim;
    auto out = Values(q.size());
    for (size_t t = 0; t < windows.size(); ++t) {
        for (size_t h = 0; h < attention.n_head; ++h) {
            const auto at = (t * attention.n_head + h) * head_dim;
            const auto kv_at = h / (attention.n_head / attention.n_head_kv) * head_dim;
            const auto place = [&](int32_t cell) {
                return static_cast<size_t>(cell) * kv_width + kv_at;
            };
            auto scores = Values();
            for (const auto cell : windows[t]) {
                double dot = 0;
                for (size_t i = 0; i < head_dim; ++i) dot += q[at + i] * double{k[place(cell) + i]};
                scores.push_back(dot * double{attention.scale});
            }
            if (scores.empty()) continue;
            const auto weights = softmax(scores, scores.size());
            for (size_t c = 0; c < weights.size(); ++c)
                for (size_t i = 0; i < head_dim; ++i)
                    out[at + i] += weights[c] * double{v[place(windows[t][c]) + i]};
        }
    }
    return out;
}

}  // namespace minfer::test::reference

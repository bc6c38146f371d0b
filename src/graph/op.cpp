#include "graph/op.h"

#include <array>
#include <cmath>
#include <utility>

#include "base/result.h"

namespace minfer {
namespace {

// In the order of the variant's alternatives; the assertion below notices a missing row, and
// tests/graph/op_test.cpp a misplaced one.
constexpr auto kNames = std::to_array<std::string_view>(
    {"Input",   "Add",       "Mul",    "Scale",    "Silu",         "SwiGlu",  "Softmax",
     "RmsNorm", "QkNorm",    "MatMul", "Embed",    "GatherRows",   "Rope",    "KvStore",
     "KvLoad",  "Attention", "View",   "FusedQkv", "FusedQkvNorm", "FusedFfn"});
static_assert(kNames.size() == std::variant_size_v<Op>);

std::vector<std::string_view> views(const std::vector<std::string>& names) {
    return {names.begin(), names.end()};
}

KvUse kv_use(const auto& op, bool stores) {
    return {.layer = op.layer, .layout = op.layout, .n_ctx = op.n_ctx, .stores = stores};
}

}  // namespace

std::string_view name(KvFormat format) {
    switch (format) {
        case KvFormat::F32:
            return "f32";
        case KvFormat::F16:
            return "f16";
        case KvFormat::Q8_0:
            return "q8_0";
    }
    std::unreachable();
}

KvLayout kv_layout(KvFormat format, size_t width) {
    const auto row_bytes = [&]() -> size_t {
        switch (format) {
            case KvFormat::F32:
                return width * 4;
            case KvFormat::F16:
                return width * 2;
            // Blocks of an f16 scale and 32 int8, each row padded to whole 4-byte words.
            case KvFormat::Q8_0:
                return (width / 32 * 34 + 3) / 4 * 4;
        }
        std::unreachable();
    };
    return {.format = format, .width = width, .row_bytes = row_bytes()};
}

std::string_view op_name(const Op& op) { return kNames[op.index()]; }

std::vector<std::string_view> op_weights(const Op& op) {
    if (const auto* norm = std::get_if<op::RmsNorm>(&op)) return {norm->weight};
    if (const auto* norm = std::get_if<op::QkNorm>(&op)) return {norm->weight};
    if (const auto* embed = std::get_if<op::Embed>(&op)) return {embed->weight};
    if (const auto* matmul = std::get_if<op::MatMul>(&op)) {
        if (matmul->bias.empty()) return {matmul->weight};
        return {matmul->weight, matmul->bias};
    }
    if (const auto* fused = std::get_if<op::FusedQkv>(&op)) {
        auto names = views(fused->qkv.weights);
        names.insert(names.end(), fused->biases.begin(), fused->biases.end());
        return names;
    }
    if (const auto* fused = std::get_if<op::FusedQkvNorm>(&op)) {
        auto names = views(fused->qkv.weights);
        names.push_back(fused->q_norm);
        names.push_back(fused->k_norm);
        return names;
    }
    if (const auto* fused = std::get_if<op::FusedFfn>(&op)) return views(fused->weights);
    return {};
}

std::optional<DType> op_matrix_dtype(const Op& op) {
    if (const auto* matmul = std::get_if<op::MatMul>(&op)) return matmul->dtype;
    if (const auto* embed = std::get_if<op::Embed>(&op)) return embed->dtype;
    if (const auto* fused = std::get_if<op::FusedQkv>(&op)) return fused->qkv.dtype;
    if (const auto* fused = std::get_if<op::FusedQkvNorm>(&op)) return fused->qkv.dtype;
    if (const auto* fused = std::get_if<op::FusedFfn>(&op)) return fused->dtype;
    return std::nullopt;
}

std::optional<KvUse> op_kv_use(const Op& op) {
    if (const auto* store = std::get_if<op::KvStore>(&op)) return kv_use(*store, true);
    if (const auto* load = std::get_if<op::KvLoad>(&op)) return kv_use(*load, false);
    if (const auto* attention = std::get_if<op::Attention>(&op)) return kv_use(*attention, false);
    if (const auto* fused = std::get_if<op::FusedQkv>(&op)) return kv_use(fused->qkv, true);
    if (const auto* fused = std::get_if<op::FusedQkvNorm>(&op)) return kv_use(fused->qkv, true);
    return std::nullopt;
}

std::vector<float> rope_inv_freq(const op::Rope& rope) {
    MINFER_ASSERT(rope.head_dim > 0);
    auto inv_freq = std::vector<float>(rope.head_dim / 2);
    for (size_t i = 0; i < inv_freq.size(); ++i) {
        const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(rope.head_dim);
        inv_freq[i] = static_cast<float>(double{rope.freq_scale} /
                                         std::pow(double{rope.freq_base}, exponent));
    }
    return inv_freq;
}

}  // namespace minfer

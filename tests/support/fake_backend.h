#pragma once
// A backend for tests of the graph layer: plain loops over f32, any id, any subset of the ops, and
// counters. Weights of other types are dequantised when they are registered. Memory is filled with
// a pattern that reads as NaN when it is handed out, so that a value nobody wrote shows. Executing
// allocates nothing.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/backend.h"
#include "tensor/dequantize.h"

namespace minfer {

class FakeBackend : public Backend {
  public:
    explicit FakeBackend(BackendId id, std::string name = "cpu")
        : id_(id), name_(std::move(name)) {}

    // What it claims; everything unless said otherwise.
    std::set<std::string, std::less<>> refused_ops;
    bool attn_span = true, swiglu_fusion = true;
    std::set<DType> weight_types = {DType::F32};
    std::set<KvFormat> kv_formats = {KvFormat::F32};

    // What it saw, and failures on request.
    mutable std::map<std::string, size_t> asked;  // by op, how often supports() was
    size_t executed = 0, reads = 0, writes = 0, synchronized = 0;
    std::vector<std::string> trace;  // node names, when tracing
    bool tracing = false;
    size_t allocs_left = SIZE_MAX;
    std::string fail_node, fail_weight, fail_prepare;
    Fault prepare_fault = Fault::Unsupported;
    Fault weight_fault = Fault::OutOfMemory;
    bool fail_copies = false;  // of cells
    std::vector<std::span<const std::byte>> mappings;
    size_t weights_finished = 0;  // times finish_weights() was called

    void add_weight(std::string name, Shape shape, std::vector<float> values) {
        values_.push_back(std::move(values));
        const auto bytes = std::as_bytes(std::span(values_.back()));
        weights_.push_back({std::move(name), DType::F32, shape, bytes});
    }
    std::vector<std::string> weight_names() const {
        auto names = std::vector<std::string>();
        for (const auto& weight : weights_) names.push_back(weight.name);
        return names;
    }
    size_t buffers_in_use() const { return static_cast<size_t>(std::ranges::count(in_use_, true)); }

    BackendId id() const override { return id_; }
    std::string_view name() const override { return name_; }
    bool supports(const Op& op, DType) const override {
        ++asked[std::string(op_name(op))];
        return !refused_ops.contains(op_name(op));
    }
    bool supports_weight(DType dtype) const override { return weight_types.contains(dtype); }
    bool supports_attn_span() const override { return attn_span; }
    bool supports_swiglu_fusion() const override { return swiglu_fusion; }
    bool reads_kv(KvFormat format) const override { return kv_formats.contains(format); }

    Result<size_t> prepare(const Node& node) override {
        if (node.name == fail_prepare)
            return fail(prepare_fault, "node '{}': failed on request", node.name);
        return 0;
    }

    void add_mapping(std::span<const std::byte> mapping) override { mappings.push_back(mapping); }
    Result<> finish_weights() override {
        ++weights_finished;
        return {};
    }
    Result<> register_weight(const Weight& weight) override {
        if (weight.shape[1] > 1 && !supports_weight(weight.dtype))
            return fail(Fault::Unsupported, "weight '{}': no kernel for {}", weight.name,
                        minfer::name(weight.dtype));
        if (weight.name == fail_weight)
            return fail(weight_fault, "weight '{}': failed on request", weight.name);
        if (const auto id = find_weight(weight.name)) {
            if (weights_[std::to_underlying(*id)].data.data() == weight.data.data()) return {};
            return fail(Fault::BadInput, "weight '{}' is registered already with other data",
                        weight.name);
        }
        auto& values = values_.emplace_back(elements(weight.shape));
        dequantize_row(weight.dtype, weight.data.data(), values.data(), values.size());
        weights_.push_back(weight);
        return {};
    }
    std::optional<WeightId> find_weight(std::string_view name) const override {
        const auto found = std::ranges::find(weights_, name, &Weight::name);
        if (found == weights_.end()) return std::nullopt;
        return static_cast<WeightId>(found - weights_.begin());
    }
    size_t weights_bytes() const override {
        size_t bytes = 0;
        for (const auto& weight : weights_) bytes += weight.data.size();
        return bytes;
    }

    Result<BufferId> alloc(size_t bytes) override {
        for (size_t i = 0; i < pool_.size(); ++i) {
            if (in_use_[i] || pool_[i].size() != bytes) continue;
            in_use_[i] = true;
            return static_cast<BufferId>(i);
        }
        return alloc_fresh(bytes);
    }
    Result<BufferId> alloc_fresh(size_t bytes) override {
        if (allocs_left-- == 0)
            return fail(Fault::OutOfMemory, "{}: no room for {} bytes", name_, bytes);
        pool_.emplace_back(bytes, std::byte{0xff});
        in_use_.push_back(true);
        return static_cast<BufferId>(pool_.size() - 1);
    }
    void free(BufferId id) override {
        MINFER_ASSERT(in_use_.at(std::to_underlying(id)));
        in_use_[std::to_underlying(id)] = false;
    }
    size_t pool_count() const override { return pool_.size(); }
    size_t pool_bytes() const override {
        size_t bytes = 0;
        for (const auto& buffer : pool_) bytes += buffer.size();
        return bytes;
    }

    Result<> execute(const Call& call) override {
        const auto& node = *call.node;
        ++executed;
        if (tracing) trace.push_back(node.name);
        if (node.name == fail_node)
            return fail(Fault::Device, "node '{}': failed on request", node.name);
        return std::visit([&](const auto& op) { return compute(op, call); }, node.op);
    }

    Result<> copy_cells(BufRef region, size_t dst_row, size_t src_row, size_t rows,
                        size_t row_bytes) override {
        if (fail_copies) return fail(Fault::Device, "cells were to be moved");
        const auto bytes = memory(region);
        std::memmove(bytes.data() + dst_row * row_bytes, bytes.data() + src_row * row_bytes,
                     rows * row_bytes);
        return {};
    }
    Result<> write(BufRef to, std::span<const std::byte> from) override {
        ++writes;
        MINFER_ASSERT(from.size() == to.bytes);
        std::ranges::copy(from, memory(to).begin());
        return {};
    }
    Result<> read(BufRef from, std::span<std::byte> to) override {
        ++reads;
        MINFER_ASSERT(to.size() == from.bytes);
        std::ranges::copy(memory(from), to.begin());
        return {};
    }
    Result<> synchronize() override {
        ++synchronized;
        return {};
    }

  private:
    std::span<std::byte> memory(const BufRef& ref) {
        MINFER_ASSERT(ref.backend == id_);
        auto& buffer = pool_.at(std::to_underlying(ref.id));
        MINFER_ASSERT(in_use_[std::to_underlying(ref.id)]);
        MINFER_ASSERT(ref.offset <= buffer.size() && ref.bytes <= buffer.size() - ref.offset);
        return std::span(buffer).subspan(ref.offset, ref.bytes);
    }
    template <class T>
    std::span<T> values(const BufRef& ref) {
        const auto bytes = memory(ref);
        return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
    }
    std::span<const float> weight(WeightId id) const { return values_.at(std::to_underlying(id)); }
    static float silu(float x) { return x / (1 + std::exp(-x)); }

    Result<> compute(const op::Add&, const Call& call) {
        return each(call, [](float a, float b) { return a + b; });
    }
    Result<> compute(const op::Mul&, const Call& call) {
        return each(call, [](float a, float b) { return a * b; });
    }
    Result<> compute(const op::SwiGlu&, const Call& call) {
        return each(call, [](float a, float b) { return silu(a) * b; });
    }
    Result<> compute(const op::Silu&, const Call& call) {
        std::ranges::transform(values<float>(call.in[0]), values<float>(call.out).begin(), silu);
        return {};
    }
    Result<> compute(const op::Scale& op, const Call& call) {
        std::ranges::transform(values<float>(call.in[0]), values<float>(call.out).begin(),
                               [&](float x) { return x * op.factor; });
        return {};
    }
    template <class F>
    Result<> each(const Call& call, F f) {
        std::ranges::transform(values<float>(call.in[0]), values<float>(call.in[1]),
                               values<float>(call.out).begin(), f);
        return {};
    }
    Result<> compute(const op::RmsNorm& op, const Call& call) {
        const size_t width = call.node->shape[0];
        return norm(call, width, op.eps);
    }
    Result<> compute(const op::QkNorm& op, const Call& call) {
        return norm(call, op.head_dim, op.eps);
    }
    Result<> norm(const Call& call, size_t width, float eps) {
        const auto x = values<float>(call.in[0]), out = values<float>(call.out);
        norm(x, out, weight(call.weights[0]), width, eps);
        return {};
    }
    static void norm(std::span<const float> x, std::span<float> out, std::span<const float> w,
                     size_t width, float eps) {
        for (size_t row = 0; row < x.size(); row += width) {
            float sum = 0;
            for (size_t i = 0; i < width; ++i) sum += x[row + i] * x[row + i];
            const float scale = 1 / std::sqrt(sum / static_cast<float>(width) + eps);
            for (size_t i = 0; i < width; ++i) out[row + i] = x[row + i] * scale * w[i];
        }
    }
    Result<> compute(const op::Softmax&, const Call& call) {
        const auto x = values<float>(call.in[0]), out = values<float>(call.out);
        const size_t width = call.node->shape[0];
        for (size_t row = 0; row < x.size(); row += width) {
            const float top = *std::max_element(&x[row], &x[row] + width);
            float sum = 0;
            for (size_t i = 0; i < width; ++i) sum += out[row + i] = std::exp(x[row + i] - top);
            for (size_t i = 0; i < width; ++i) out[row + i] /= sum;
        }
        return {};
    }
    Result<> compute(const op::MatMul& op, const Call& call) {
        const auto x = values<float>(call.in[0]), out = values<float>(call.out);
        const auto bias =
            call.weights.size() > 1 ? weight(call.weights[1]) : std::span<const float>();
        for (size_t t = 0; t * op.in_dim < x.size(); ++t)
            project(weight(call.weights[0]), bias, x.subspan(t * op.in_dim, op.in_dim),
                    out.subspan(t * op.out_dim, op.out_dim));
        return {};
    }
    static void project(std::span<const float> w, std::span<const float> bias,
                        std::span<const float> x, std::span<float> out) {
        for (size_t o = 0; o < out.size(); ++o) {
            float sum = bias.empty() ? 0 : bias[o];
            for (size_t i = 0; i < x.size(); ++i) sum += w[o * x.size() + i] * x[i];
            out[o] = sum;
        }
    }
    Result<> compute(const op::Embed& op, const Call& call) {
        return gather(weight(call.weights[0]), op.width, values<int32_t>(call.in[0]), call);
    }
    Result<> compute(const op::GatherRows&, const Call& call) {
        return gather(values<float>(call.in[0]), call.node->shape[0], values<int32_t>(call.in[1]),
                      call);
    }
    Result<> gather(std::span<const float> rows, size_t width, std::span<const int32_t> ids,
                    const Call& call) {
        const auto out = values<float>(call.out);
        for (size_t t = 0; t < ids.size(); ++t) {
            const auto row = static_cast<size_t>(ids[t]);
            if (ids[t] < 0 || row >= rows.size() / width)
                return fail(Fault::BadInput, "node '{}': row {} of {}", call.node->name, ids[t],
                            rows.size() / width);
            std::ranges::copy(rows.subspan(row * width, width), &out[t * width]);
        }
        return {};
    }
    Result<> compute(const op::Rope& op, const Call& call) {
        const auto x = values<float>(call.in[0]), out = values<float>(call.out);
        const auto positions = values<int32_t>(call.in[1]);
        const size_t width = op.n_head * op.head_dim;
        std::ranges::copy(x, out.begin());
        for (size_t t = 0; t < positions.size(); ++t)
            rotate(out.subspan(t * width, width), positions[t], op);
        return {};
    }
    static void rotate(std::span<float> x, int32_t position, const op::Rope& op) {
        const size_t half = op.head_dim / 2;
        for (size_t head = 0; head < x.size(); head += op.head_dim)
            for (size_t i = 0; i < half; ++i) {
                const size_t at = head + i;
                const float angle = static_cast<float>(position) * op.freq_scale /
                                    std::pow(op.freq_base, 2.0f * static_cast<float>(i) /
                                                               static_cast<float>(op.head_dim));
                const float a = x[at], b = x[at + half];
                x[at] = a * std::cos(angle) - b * std::sin(angle);
                x[at + half] = a * std::sin(angle) + b * std::cos(angle);
            }
    }
    // The rows of q, k and v in `call.out`; the parts a fused op adds between projection and
    // rotation are given.
    template <class Between>
    Result<> projection(const op::QkvProjection& op, const Call& call, Between between) {
        const auto x = values<float>(call.in[0]), out = values<float>(call.out);
        const size_t widths[] = {op.q_width(), op.kv_width(), op.kv_width()};
        const auto rope = op::Rope{
            .freq_base = op.freq_base, .freq_scale = op.freq_scale, .head_dim = op.head_dim};
        size_t row = 0;
        for (size_t part = 0; part < 3; ++part) {
            const auto y = out.subspan(row, widths[part]);
            const auto w = op.weights.size() == 1 ? weight(call.weights[0]).subspan(row * op.in_dim)
                                                  : weight(call.weights[part]);
            between(part, w, x, y);
            if (part < 2) rotate(y, values<int32_t>(call.in[1])[0], rope);
            if (part > 0) {
                const auto region = values<float>(part == 1 ? call.kv->k : call.kv->v);
                const auto cell = static_cast<size_t>(values<int32_t>(call.in[2])[0]);
                std::ranges::copy(y, &region[cell * op.layout.width]);
            }
            row += widths[part];
        }
        return {};
    }
    Result<> compute(const op::FusedQkv& op, const Call& call) {
        const auto biases = call.weights.last(3);
        return projection(op.qkv, call, [&](size_t part, auto w, auto x, auto y) {
            project(w, weight(biases[part]), x, y);
        });
    }
    Result<> compute(const op::FusedQkvNorm& op, const Call& call) {
        const auto norms = call.weights.last(2);
        return projection(op.qkv, call, [&](size_t part, auto w, auto x, auto y) {
            project(w, {}, x, y);
            if (part < 2) norm(y, y, weight(norms[part]), op.qkv.head_dim, op.eps);
        });
    }
    Result<> compute(const op::FusedFfn& op, const Call& call) {
        const auto x = values<float>(call.in[0]), out = values<float>(call.out);
        const auto gate = out.first(op.width), up = out.subspan(op.width);
        const auto first = weight(call.weights[0]);
        project(first, {}, x, gate);
        project(
            op.weights.size() == 1 ? first.subspan(op.width * op.in_dim) : weight(call.weights[1]),
            {}, x, up);
        for (size_t i = 0; i < op.width; ++i) gate[i] = silu(gate[i]) * up[i];
        return {};
    }
    Result<> compute(const op::KvStore& op, const Call& call) {
        const auto cells = values<int32_t>(call.in[2]);
        const size_t width = op.layout.width;
        for (size_t t = 0; t < cells.size(); ++t) {
            const size_t to = static_cast<size_t>(cells[t]) * width;
            std::ranges::copy(values<float>(call.in[0]).subspan(t * width, width),
                              &values<float>(call.kv->k)[to]);
            std::ranges::copy(values<float>(call.in[1]).subspan(t * width, width),
                              &values<float>(call.kv->v)[to]);
        }
        return {};
    }
    // Windows as [lo, hi) only; scores are recomputed instead of kept.
    Result<> compute(const op::Attention& op, const Call& call) {
        const auto q = values<float>(call.in[0]), out = values<float>(call.out);
        const auto k = values<float>(call.kv->k), v = values<float>(call.kv->v);
        const auto window = values<int32_t>(call.in[3]);
        const size_t n_tokens = call.node->shape[1], width = op.n_head * op.head_dim;
        for (size_t t = 0; t < n_tokens; ++t)
            for (size_t h = 0; h < op.n_head; ++h) {
                const size_t head = t * width + h * op.head_dim;
                const size_t kv_head = h / (op.n_head / op.n_head_kv) * op.head_dim;
                const auto first = static_cast<size_t>(window[t]);
                const auto last = static_cast<size_t>(window[n_tokens + t]);
                const auto score = [&](size_t cell) {
                    float dot = 0;
                    for (size_t i = 0; i < op.head_dim; ++i)
                        dot += q[head + i] * k[cell * op.layout.width + kv_head + i];
                    return op.scale * dot;
                };
                float top = score(first), sum = 0;
                for (size_t c = first; c < last; ++c) top = std::max(top, score(c));
                for (size_t c = first; c < last; ++c) sum += std::exp(score(c) - top);
                for (size_t i = 0; i < op.head_dim; ++i) {
                    float value = 0;
                    for (size_t c = first; c < last; ++c)
                        value +=
                            std::exp(score(c) - top) / sum * v[c * op.layout.width + kv_head + i];
                    out[head + i] = value;
                }
            }
        return {};
    }
    Result<> compute(const auto&, const Call& call) {
        return fail(Fault::Unsupported, "node '{}': {} has no kernel", call.node->name,
                    op_name(call.node->op));
    }

    BackendId id_;
    std::string name_;
    std::vector<Weight> weights_;
    std::vector<std::vector<float>> values_;  // of each weight
    std::vector<std::vector<std::byte>> pool_;
    std::vector<bool> in_use_;
};

}  // namespace minfer

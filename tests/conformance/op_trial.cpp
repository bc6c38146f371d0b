#include "conformance/op_trial.h"

#include <algorithm>
#include <cmath>

#include "support/kv_cells.h"
#include "support/nmse.h"
#include "support/random_data.h"
#include "support/tolerances.h"
#include "tensor/half.h"

namespace minfer::test {
namespace {

using reference::Values;
using reference::widened;

// Fills a trial's operands and works out its answer, one function per operation.
class TrialBuilder {
  public:
    TrialBuilder(Trial& trial, const Row& row) : trial_(trial), row_(row) {}

    void operator()(const op::Input&) {}
    void operator()(const op::View&) {}
    void operator()(const op::KvLoad& load) { fill_cells(load.layout, load.n_ctx); }

    void operator()(const op::Add&) {
        const auto a = floats(), b = floats();
        trial_.want = reference::add(a, b);
    }
    void operator()(const op::Mul&) {
        const auto a = floats(), b = floats();
        trial_.want = reference::mul(a, b);
    }
    void operator()(const op::Scale& scale) {
        trial_.want = reference::scale(floats(), double{scale.factor});
    }
    void operator()(const op::Silu&) {
        trial_.want = reference::silu(floats());
        trial_.bar = kSiluBar;
    }
    void operator()(const op::SwiGlu&) {
        const auto gate = floats(), up = floats();
        trial_.want = reference::swiglu(gate, up);
        trial_.bar = kSiluBar;
    }
    void operator()(const op::Softmax&) {
        trial_.want = reference::softmax(floats(), row_.shape[0]);
        trial_.bar = kNormBar;
    }
    void operator()(const op::RmsNorm& norm) {
        trial_.want =
            reference::rms_norm(floats(), vector(norm.weight, row_.shape[0]), double{norm.eps});
        trial_.bar = kNormBar;
    }
    void operator()(const op::QkNorm& norm) {
        trial_.want =
            reference::rms_norm(floats(), vector(norm.weight, norm.head_dim), double{norm.eps});
        trial_.bar = kNormBar;
    }
    void operator()(const op::MatMul& matmul) {
        const auto w = matrix(matmul.weight, matmul.dtype, matmul.in_dim, matmul.out_dim);
        const auto bias =
            matmul.bias.empty() ? std::vector<float>() : vector(matmul.bias, matmul.out_dim);
        const auto x = floats(matmul.in_dim * row_.tokens());
        trial_.want = reference::matmul(w, bias, x, matmul.in_dim);
        trial_.bar = kMatmulBar;
    }
    void operator()(const op::Embed& embed) {
        const auto table = matrix(embed.weight, embed.dtype, embed.width, embed.vocab);
        trial_.want = reference::gather(table, embed.width, ints(row_.indices));
    }
    void operator()(const op::GatherRows&) {
        const auto largest = *std::ranges::max_element(row_.indices);
        const auto width = row_.shape[0];
        floats(width * (static_cast<size_t>(largest) + 1));
        trial_.want = reference::gather(trial_.sources[0].floats, width, ints(row_.indices));
    }
    void operator()(const op::Rope& rope) {
        const auto x = floats();
        trial_.want = reference::rope(rope, x, ints(row_.indices));
        trial_.bar = kRopeBar;
    }
    void operator()(const op::KvStore& store) {
        fill_cells(store.layout, store.n_ctx);
        floats(store.layout.width * row_.indices.size());
        floats(store.layout.width * row_.indices.size());
        // Ties, in a block whose scale is 1.
        auto& k = trial_.sources[0].floats;
        for (size_t i = 0; store.layout.format == KvFormat::Q8_0 && i < 32; ++i)
            k[i] = i == 9 ? 127 : static_cast<float>(i) - 15.5f;
        trial_.stored_cells = ints(row_.indices);
    }
    void operator()(const op::Attention& attention) {
        fill_cells(attention.layout, attention.n_ctx);
        const auto q = floats();
        trial_.sources.push_back({.floats = trial_.k});  // the region itself
        ints(row_.indices);
        ints(row_.map ? map_input(row_.windows) : span_input(spans()));
        trial_.want =
            reference::attention(attention, q, trial_.k, trial_.v, cells_of(row_.windows));
        trial_.bar = kAttentionBar;
    }
    void operator()(const op::FusedQkv& fused) {
        auto parts = project(fused.qkv, fused.biases);
        rotate_and_join(fused.qkv, parts);
    }
    void operator()(const op::FusedQkvNorm& fused) {
        auto parts = project(fused.qkv, {});
        const auto q_norm = vector(fused.q_norm, fused.qkv.head_dim);
        const auto k_norm = vector(fused.k_norm, fused.qkv.head_dim);
        parts[0] = reference::rms_norm(parts[0], q_norm, double{fused.eps});
        parts[1] = reference::rms_norm(parts[1], k_norm, double{fused.eps});
        rotate_and_join(fused.qkv, parts);
    }
    void operator()(const op::FusedFfn& ffn) {
        const auto rows = joint_rows(ffn.weights, ffn.dtype, ffn.in_dim, {ffn.width, ffn.width});
        const auto x = floats(ffn.in_dim);
        const auto both = reference::matmul(rows, {}, x, ffn.in_dim);
        const auto middle = both.begin() + static_cast<ptrdiff_t>(ffn.width);
        const auto up = Values(middle, both.end());
        trial_.want = reference::swiglu({both.begin(), middle}, up);
        trial_.want.insert(trial_.want.end(), up.begin(), up.end());
        trial_.bar = kMatmulBar;
    }

  private:
    Values floats(size_t count) {
        const auto values = random_floats(count, seed_++, row_.magnitude);
        trial_.sources.push_back({.floats = values});
        return widened(values);
    }
    Values floats() { return floats(elements(row_.shape)); }

    const std::vector<int32_t>& ints(std::vector<int32_t> values) {
        return trial_.sources.emplace_back(Operand{.ints = std::move(values)}).ints;
    }

    // A weight vector; around 1, as norms have them.
    std::vector<float> vector(const std::string& weight_name, size_t count) {
        auto values = random_floats(count, seed_++, 0.3f);
        for (auto& value : values) value += 1;
        const auto bytes = std::as_bytes(std::span(values));
        trial_.weights.push_back({.name = weight_name,
                                  .dtype = DType::F32,
                                  .shape = {count, 1, 1, 1},
                                  .bytes = {bytes.begin(), bytes.end()}});
        return values;
    }

    std::vector<float> matrix(const std::string& weight_name, DType dtype, size_t in_dim,
                              size_t out_dim) {
        auto rows = random_rows(dtype, in_dim * out_dim, seed_++);
        auto values = dequantized(dtype, rows);
        trial_.weights.push_back({.name = weight_name,
                                  .dtype = dtype,
                                  .shape = {in_dim, out_dim, 1, 1},
                                  .bytes = std::move(rows)});
        return values;
    }

    // All rows of matrices of these heights, stored apart under each name or joined under one.
    std::vector<float> joint_rows(const std::vector<std::string>& names, DType dtype, size_t in_dim,
                                  const std::vector<size_t>& heights) {
        if (names.size() == 1) {
            size_t height = 0;
            for (const auto part : heights) height += part;
            return matrix(names[0], dtype, in_dim, height);
        }
        auto all = std::vector<float>();
        for (size_t i = 0; i < heights.size(); ++i) {
            const auto values = matrix(names[i], dtype, in_dim, heights[i]);
            all.insert(all.end(), values.begin(), values.end());
        }
        return all;
    }

    std::array<Values, 3> project(const op::QkvProjection& qkv,
                                  const std::array<std::string, 3>& biases) {
        fill_cells(qkv.layout, qkv.n_ctx);
        const auto heights = std::vector{qkv.q_width(), qkv.kv_width(), qkv.kv_width()};
        const auto rows = joint_rows(qkv.weights, qkv.dtype, qkv.in_dim, heights);
        auto bias = std::vector<float>();
        for (size_t i = 0; i < 3 && !biases[i].empty(); ++i) {
            const auto part = vector(biases[i], heights[i]);
            bias.insert(bias.end(), part.begin(), part.end());
        }
        const auto out = reference::matmul(rows, bias, floats(qkv.in_dim), qkv.in_dim);
        ints({row_.indices[0]});
        trial_.stored_cells = ints({row_.indices[1]});
        const auto k = out.begin() + static_cast<ptrdiff_t>(heights[0]);
        const auto v = k + static_cast<ptrdiff_t>(heights[1]);
        return {Values(out.begin(), k), Values(k, v), Values(v, out.end())};
    }

    void rotate_and_join(const op::QkvProjection& qkv, const std::array<Values, 3>& parts) {
        auto rope = op::Rope{.style = qkv.style,
                             .freq_base = qkv.freq_base,
                             .freq_scale = qkv.freq_scale,
                             .n_head = qkv.n_head,
                             .head_dim = qkv.head_dim};
        const auto position = std::span(row_.indices).first(1);
        trial_.want = reference::rope(rope, parts[0], position);
        rope.n_head = qkv.n_head_kv;
        for (const auto& part : {reference::rope(rope, parts[1], position), parts[2]})
            trial_.want.insert(trial_.want.end(), part.begin(), part.end());
        trial_.bar = kMatmulBar;
    }

    void fill_cells(const KvLayout& layout, size_t n_ctx) {
        trial_.layout = layout;
        trial_.k_cells = encoded_cells(layout, random_floats(layout.width * n_ctx, seed_++));
        trial_.v_cells = encoded_cells(layout, random_floats(layout.width * n_ctx, seed_++));
        // What lies behind the last block of a cell is the store's to clear.
        const size_t used =
            layout.format == KvFormat::Q8_0 ? layout.width / 32 * 34 : layout.row_bytes;
        for (auto* const cells : {&trial_.k_cells, &trial_.v_cells})
            for (size_t i = 0; i < cells->size(); ++i)
                if (i % layout.row_bytes >= used) (*cells)[i] = std::byte{0xff};
        trial_.k = decoded_cells(layout, trial_.k_cells);
        trial_.v = decoded_cells(layout, trial_.v_cells);
    }

    std::vector<Span> spans() const {
        auto spans = std::vector<Span>();
        for (const auto& token : row_.windows)
            spans.push_back({token[0].first, token[0].first + token[0].length});
        return spans;
    }

    Trial& trial_;
    const Row& row_;
    uint32_t seed_ = 1;
};

// Cells before, with those the operation stores replaced by the rows of `stored`.
std::vector<std::byte> with_cells(const Trial& trial, std::vector<std::byte> cells,
                                  std::span<const float> stored) {
    const auto row = trial.layout.row_bytes;
    const auto rows = encoded_cells(trial.layout, stored);
    for (size_t i = 0; i < trial.stored_cells.size(); ++i)
        std::memcpy(&cells[static_cast<size_t>(trial.stored_cells[i]) * row], &rows[i * row], row);
    return cells;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
    if (a.size() != b.size()) return false;
    return a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

void compare_cells(const Trial& trial, const Answer& got, std::vector<std::string>& faults) {
    auto want_k = trial.k_cells, want_v = trial.v_cells;
    if (std::holds_alternative<op::KvStore>(trial.op)) {
        want_k = with_cells(trial, std::move(want_k), trial.sources[0].floats);
        want_v = with_cells(trial, std::move(want_v), trial.sources[1].floats);
    } else if (!trial.stored_cells.empty()) {
        // A fused projection stores what it returns: q | k | v.
        const auto count = trial.layout.width * trial.stored_cells.size();
        const auto out = std::span(got.values);
        want_k = with_cells(trial, std::move(want_k), out.subspan(out.size() - 2 * count, count));
        want_v = with_cells(trial, std::move(want_v), out.last(count));
    }
    if (got.k != want_k) faults.push_back("other cells in the K region");
    if (got.v != want_v) faults.push_back("other cells in the V region");
}

}  // namespace

Trial make_trial(const Row& row) {
    auto trial = Trial{.op = row.op, .shape = row.shape};
    std::visit(TrialBuilder(trial, row), row.op);
    return trial;
}

namespace {

// Rounded to half; a row with a value above the largest half keeps its digits, its exponents moved
// to where that value has 2^14.
std::vector<float> halves(std::vector<float> values, size_t width) {
    for (auto row = values.begin(); row != values.end(); row += static_cast<ptrdiff_t>(width)) {
        const auto end = row + static_cast<ptrdiff_t>(width);
        float largest = 0;
        for (auto value = row; value != end; ++value) largest = std::max(largest, std::abs(*value));
        const int shift = largest > 65504 ? std::ilogb(largest) - 14 : 0;
        for (auto value = row; value != end; ++value)
            *value = std::ldexp(f16_to_f32(f32_to_f16(std::ldexp(*value, -shift))), shift);
    }
    return values;
}

}  // namespace

Values product_of_halves(const Trial& trial) {
    const auto& matmul = std::get<op::MatMul>(trial.op);
    auto bias = std::vector<float>();
    if (!matmul.bias.empty()) bias = dequantized(DType::F32, trial.weights[1].bytes);
    return reference::matmul(
        halves(dequantized(matmul.dtype, trial.weights[0].bytes), matmul.in_dim), bias,
        widened(halves(trial.sources[0].floats, matmul.in_dim)), matmul.in_dim);
}

KvPair place_cells(OpRig& rig, const Trial& trial) {
    return {.k = write_cells(rig, trial.layout, trial.k_cells),
            .v = write_cells(rig, trial.layout, trial.v_cells)};
}

Answer answer(OpRig& rig, const Trial& trial) {
    for (const auto& weight : trial.weights)
        rig.weight(weight.name, weight.dtype, weight.shape, weight.bytes);
    auto kv = std::optional<KvPair>();
    if (!trial.k_cells.empty()) kv = place_cells(rig, trial);
    auto in = std::vector<BufRef>();
    for (const auto& source : trial.sources)
        in.push_back(source.floats.empty() ? rig.ints(source.ints) : rig.floats(source.floats));
    if (std::holds_alternative<op::Attention>(trial.op)) in[1] = kv->k;

    auto got = Answer();
    // The output of a store is the K region; what has no kernel has no output of its own.
    if (trial.want.empty()) {
        const auto out = kv ? kv->k : rig.buffer(elements(trial.shape) * sizeof(float));
        EXPECT_EQ(rig.execute(trial.op, trial.shape, in, out, kv), "");
    } else {
        auto outcome = rig.run(trial.op, trial.shape, in, kv);
        EXPECT_EQ(outcome.error, "");
        got.values = std::move(outcome.values);
    }
    if (kv) {
        got.k = read_cells(rig, trial.layout, kv->k);
        got.v = read_cells(rig, trial.layout, kv->v);
        rig.expect_guards(kv->k);
        rig.expect_guards(kv->v);
    }
    return got;
}

std::vector<std::string> faults(const Trial& trial, const Answer& got, bool half_tiles) {
    auto found = std::vector<std::string>();
    if (got.values.size() != trial.want.size())
        return {fmt::format("{} values, not {}", got.values.size(), trial.want.size())};
    const auto compare = [&](const Values& want, double bar, std::string_view what) {
        const auto error = nmse(got.values, want);
        if (!(error <= bar))
            found.push_back(fmt::format("{:.3g} from the {}, {:.3g} allowed", error, what, bar));
    };
    if (half_tiles) {
        compare(product_of_halves(trial), kMatmulBar, "product of halves");
        compare(trial.want, kHalfTilesBar, "exact product");
    } else if (trial.bar > 0) {
        compare(trial.want, trial.bar, "exact result");
    } else {
        const auto rounded = std::vector<float>(trial.want.begin(), trial.want.end());
        if (!same_bits(got.values, rounded)) found.push_back("not the exact result rounded once");
    }
    if (!trial.k_cells.empty()) compare_cells(trial, got, found);
    return found;
}

}  // namespace minfer::test

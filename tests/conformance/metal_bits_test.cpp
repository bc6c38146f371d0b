// What has to agree bit for bit on Metal, because the arithmetic is the same.

#include <cmath>

#include "backend/metal/metal_backend.h"
#include "conformance/op_trial.h"
#include "support/classic_attention.h"
#include "support/kv_cells.h"
#include "support/random_data.h"
#include "support/software_metal.h"

namespace minfer::test {
namespace {

using Floats = std::vector<float>;

class MetalBits : public testing::Test {
  protected:
    OpRig rig(const MetalOptions& options = {}) {
        auto backend = make_metal_backend(options);
        MINFER_ASSERT(backend);
        return OpRig(*std::move(backend));
    }
    Floats run(const Trial& trial, const MetalOptions& options = {}) {
        auto fresh = rig(options);
        return answer(fresh, trial).values;
    }

    SoftwareMetal device_;
};

Row matmul_row(DType dtype, size_t in_dim, size_t out_dim, size_t n_tokens) {
    return {.op = op::MatMul{.weight = "w",
                             .bias = "bias",
                             .dtype = dtype,
                             .in_dim = in_dim,
                             .out_dim = out_dim},
            .shape = {out_dim, n_tokens, 1, 1}};
}

// A row length with a tail for every span that a kernel may take at a time.
size_t odd_length(DType dtype) {
    const size_t block = info(dtype).block_values;
    return block == 1 ? 515 : block == 32 ? 544 : 1280;
}

// The same product with the weights stored as the f32 values they stand for.
Trial promoted(Trial trial) {
    auto& matmul = std::get<op::MatMul>(trial.op);
    const auto values = dequantized(matmul.dtype, trial.weights[0].bytes);
    const auto bytes = std::as_bytes(std::span(values));
    trial.weights[0].dtype = matmul.dtype = DType::F32;
    trial.weights[0].bytes.assign(bytes.begin(), bytes.end());
    return trial;
}

TEST_F(MetalBits, HalfAndBfloatWeightsGiveTheBitsOfTheF32KernelOnTheirValues) {
    for (const auto dtype : {DType::F16, DType::BF16}) {
        for (const auto& [in_dim, out_dim, n_tokens] : {std::array<size_t, 3>{515, 13, 1},
                                                        {256, 60, 1},
                                                        {515, 9, 5},
                                                        {256, 2048, 2},
                                                        {515, 33, 12},
                                                        {256, 70, 40}}) {
            const auto trial = make_trial(matmul_row(dtype, in_dim, out_dim, n_tokens));
            const auto options = MetalOptions{.gemm_f32_tiles = true};
            EXPECT_EQ(run(trial, options), run(promoted(trial), options))
                << name(dtype) << " " << in_dim << " " << out_dim << " " << n_tokens;
        }
    }
}

TEST_F(MetalBits, TwoToEightRowsGiveTheBitsOfEachRowAlone) {
    for (const auto dtype : kWeightTypes) {
        for (const size_t out_dim : {size_t{37}, size_t{2048}}) {
            const auto in_dim = out_dim == 37 ? odd_length(dtype) : size_t{256};
            const auto all = make_trial(matmul_row(dtype, in_dim, out_dim, 8));
            auto alone = Floats();
            auto one = all;
            one.shape[1] = 1;
            for (size_t t = 0; t < 8; ++t) {
                const auto x = std::span(all.sources[0].floats).subspan(t * in_dim, in_dim);
                one.sources[0].floats.assign(x.begin(), x.end());
                const auto row = run(one);
                alone.insert(alone.end(), row.begin(), row.end());
            }
            for (size_t n = 2; n <= 8; ++n) {
                auto some = all;
                some.shape[1] = n;
                some.sources[0].floats.resize(n * in_dim);
                EXPECT_EQ(run(some), Floats(alone.begin(), alone.begin() + n * out_dim))
                    << name(dtype) << " " << n << " rows of " << out_dim;
            }
        }
    }
}

// A prompt that is longer, or has other tokens in it, leaves a token's results as they are. One of
// the others may have activations that no half holds.
TEST_F(MetalBits, ATokenInAMatrixProductGivesTheSameBitsAmongAnyOthers) {
    for (const auto dtype : kWeightTypes) {
        const auto in_dim = odd_length(dtype), out_dim = size_t{37};
        const auto all = make_trial(matmul_row(dtype, in_dim, out_dim, 50));
        const auto want = run(all);
        for (const size_t n : {size_t{9}, size_t{16}, size_t{33}}) {
            auto fewer = all;
            fewer.shape[1] = n;
            fewer.sources[0].floats.resize(n * in_dim);
            EXPECT_EQ(run(fewer), Floats(want.begin(), want.begin() + n * out_dim))
                << name(dtype) << " " << n << " tokens";
        }
        auto other = all;
        other.sources[0].floats[3 * in_dim + 5] = 1e6f;
        auto got = run(other), kept = want;
        for (auto* const values : {&got, &kept})
            values->erase(values->begin() + 3 * out_dim, values->begin() + 4 * out_dim);
        EXPECT_EQ(got, kept) << name(dtype) << " beside a huge one";
    }
}

// The chain of operations that a fused one stands for, on a backend of its own.
class Chain {
  public:
    Chain(OpRig& rig, const Trial& fused) : rig_(rig) {
        if (!fused.k_cells.empty()) kv_ = place_cells(rig, fused);
        x_ = rig.floats(fused.sources[0].floats);
        if (fused.sources.size() < 3) return;
        position_ = rig.ints(fused.sources[1].ints);
        cell_ = rig.ints(fused.sources[2].ints);
    }

    void weight(const StoredWeight& weight) {
        rig_.weight(weight.name, weight.dtype, weight.shape, weight.bytes);
    }
    BufRef run(Op op, size_t width, const std::vector<BufRef>& in) {
        const auto out = rig_.buffer(width * sizeof(float));
        EXPECT_EQ(rig_.execute(std::move(op), {width, 1, 1, 1}, in, out), "");
        return out;
    }
    BufRef project(const op::QkvProjection& qkv, std::string weight, std::string bias,
                   size_t width) {
        return run(op::MatMul{.weight = std::move(weight),
                              .bias = std::move(bias),
                              .dtype = qkv.dtype,
                              .in_dim = qkv.in_dim,
                              .out_dim = width},
                   width, {x_});
    }
    BufRef rotate(const op::QkvProjection& qkv, BufRef x, size_t n_head) {
        return run(op::Rope{.style = qkv.style,
                            .freq_base = qkv.freq_base,
                            .freq_scale = qkv.freq_scale,
                            .n_head = n_head,
                            .head_dim = qkv.head_dim},
                   n_head * qkv.head_dim, {x, position_});
    }
    Answer store(const op::QkvProjection& qkv, BufRef q, BufRef k, BufRef v) {
        const auto in = std::vector{k, v, cell_};
        const auto store = op::KvStore{.layout = qkv.layout, .n_ctx = qkv.n_ctx};
        EXPECT_EQ(rig_.execute(store, {qkv.kv_width(), qkv.n_ctx, 1, 1}, in, kv_.k, kv_), "");
        auto got = Answer{.k = read_cells(rig_, qkv.layout, kv_.k),
                          .v = read_cells(rig_, qkv.layout, kv_.v)};
        for (const auto& part : {q, k, v}) {
            const auto values = rig_.view(part);
            got.values.insert(got.values.end(), values.begin(), values.end());
        }
        return got;
    }
    BufRef x() const { return x_; }

  private:
    OpRig& rig_;
    KvPair kv_;
    BufRef x_, position_, cell_;
};

template <class T>
std::vector<Row> rows_of() {
    auto rows = std::vector<Row>();
    for (const auto& row : op_rows())
        if (std::holds_alternative<T>(row.op) && !row.slow) rows.push_back(row);
    return rows;
}

void expect_same(const Answer& fused, const Answer& chain, const Row& row) {
    EXPECT_TRUE(std::ranges::equal(fused.values, chain.values)) << label(row);
    EXPECT_TRUE(std::ranges::equal(fused.k, chain.k)) << label(row) << ", K";
    EXPECT_TRUE(std::ranges::equal(fused.v, chain.v)) << label(row) << ", V";
}

// Weights lie apart in the chain: rows of a joined matrix are cut out of it.
void add_parts(Chain& chain, const Trial& fused, std::span<const std::string> names,
               std::span<const size_t> heights) {
    auto first = fused.weights.begin();
    if (first->shape[1] > heights[0]) {
        const auto row = row_bytes(first->dtype, first->shape[0]);
        auto rest = std::span(first->bytes);
        for (size_t i = 0; i < names.size(); ++i) {
            const auto part = rest.first(row * heights[i]);
            rest = rest.subspan(part.size());
            chain.weight({.name = names[i],
                          .dtype = first->dtype,
                          .shape = {first->shape[0], heights[i], 1, 1},
                          .bytes = {part.begin(), part.end()}});
        }
        ++first;
    }
    for (; first != fused.weights.end(); ++first) chain.weight(*first);
}

constexpr std::string_view kQkv[] = {"q", "k", "v"};

TEST_F(MetalBits, FusedQkvGivesTheBitsOfProjectionsRotationsAndStore) {
    for (const auto& row : rows_of<op::FusedQkv>()) {
        const auto& fused = std::get<op::FusedQkv>(row.op);
        const auto& qkv = fused.qkv;
        const auto trial = make_trial(row);
        auto one = rig(), many = rig();
        auto chain = Chain(many, trial);
        const auto names = std::vector<std::string>(std::begin(kQkv), std::end(kQkv));
        const auto heights = std::vector{qkv.q_width(), qkv.kv_width(), qkv.kv_width()};
        add_parts(chain, trial, names, heights);
        const auto q = chain.project(qkv, "q", fused.biases[0], heights[0]);
        const auto k = chain.project(qkv, "k", fused.biases[1], heights[1]);
        const auto v = chain.project(qkv, "v", fused.biases[2], heights[2]);
        expect_same(answer(one, trial),
                    chain.store(qkv, chain.rotate(qkv, q, qkv.n_head),
                                chain.rotate(qkv, k, qkv.n_head_kv), v),
                    row);
    }
}

TEST_F(MetalBits, FusedQkvNormGivesTheBitsOfProjectionsNormsRotationsAndStore) {
    for (const auto& row : rows_of<op::FusedQkvNorm>()) {
        const auto& fused = std::get<op::FusedQkvNorm>(row.op);
        const auto& qkv = fused.qkv;
        const auto trial = make_trial(row);
        for (const bool wide : {true, false}) {
            const auto options = MetalOptions{.rms_norm_256 = wide};
            auto one = rig(options), many = rig(options);
            auto chain = Chain(many, trial);
            const auto names = std::vector<std::string>(std::begin(kQkv), std::end(kQkv));
            const auto heights = std::vector{qkv.q_width(), qkv.kv_width(), qkv.kv_width()};
            add_parts(chain, trial, names, heights);
            const auto norm = [&](BufRef x, const std::string& weight, size_t n_head) {
                return chain.run(op::QkNorm{.eps = fused.eps,
                                            .weight = weight,
                                            .n_head = n_head,
                                            .head_dim = qkv.head_dim},
                                 n_head * qkv.head_dim, {x});
            };
            const auto q = norm(chain.project(qkv, "q", "", heights[0]), "nq", qkv.n_head);
            const auto k = norm(chain.project(qkv, "k", "", heights[1]), "nk", qkv.n_head_kv);
            const auto v = chain.project(qkv, "v", "", heights[2]);
            expect_same(answer(one, trial),
                        chain.store(qkv, chain.rotate(qkv, q, qkv.n_head),
                                    chain.rotate(qkv, k, qkv.n_head_kv), v),
                        row);
        }
    }
}

TEST_F(MetalBits, FusedFfnGivesTheBitsOfProjectionsAndActivation) {
    for (const auto& row : rows_of<op::FusedFfn>()) {
        const auto& ffn = std::get<op::FusedFfn>(row.op);
        const auto trial = make_trial(row);
        auto many = rig();
        auto chain = Chain(many, trial);
        const auto names = std::vector<std::string>{"gate", "up"};
        const auto heights = std::vector{ffn.width, ffn.width};
        add_parts(chain, trial, names, heights);
        const auto multiply = [&](const std::string& weight) {
            return chain.run(op::MatMul{.weight = weight,
                                        .dtype = ffn.dtype,
                                        .in_dim = ffn.in_dim,
                                        .out_dim = ffn.width},
                             ffn.width, {chain.x()});
        };
        const auto gate = multiply("gate"), up = multiply("up");
        auto want = many.view(chain.run(op::SwiGlu{}, ffn.width, {gate, up}));
        const auto up_values = many.view(up);
        want.insert(want.end(), up_values.begin(), up_values.end());
        EXPECT_EQ(run(trial), want) << label(row);
    }
}

TEST_F(MetalBits, SwigluGivesTheBitsOfSiluThenMul) {
    auto metal = rig();
    const auto shape = Shape{1003, 3, 1, 1};
    const auto gate = metal.floats(random_floats(elements(shape), 5, 3));
    const auto up = metal.floats(random_floats(elements(shape), 6));
    const auto activated = metal.floats(metal.run(op::Silu{}, shape, {gate}).values);
    EXPECT_EQ(metal.run(op::SwiGlu{}, shape, {gate, up}).values,
              metal.run(op::Mul{}, shape, {activated, up}).values);
}

TEST_F(MetalBits, OperationsThatMayWorkInPlaceGiveTheSameBitsThere) {
    auto metal = rig();
    const auto shape = Shape{4 * 20, 3, 1, 1};
    const auto x = random_floats(elements(shape), 8, 3);
    const auto up = metal.floats(random_floats(x.size(), 9));
    const auto positions = metal.ints(std::vector<int32_t>{9, 4, 700});
    for (const auto& [op, second] :
         {std::pair{Op(op::Silu{}), up}, std::pair{Op(op::SwiGlu{}), up},
          std::pair{Op(op::Rope{.n_head = 4, .head_dim = 20}), positions},
          std::pair{Op(op::Rope{.style = op::RopeStyle::Interleaved, .n_head = 4, .head_dim = 20}),
                    positions}}) {
        const auto place = metal.floats(x);
        const auto apart = metal.run(op, shape, {place, second}).values;
        EXPECT_EQ(metal.execute(op, shape, std::vector{place, second}, place), "");
        EXPECT_EQ(metal.view(place), apart) << op_name(op);
    }
}

Trial attention_trial(size_t n_ctx, std::vector<Runs> windows, bool map, bool causal = false) {
    auto indices = std::vector<int32_t>();
    for (const auto& window : windows) indices.push_back(window[0].length - 1);
    const auto n_tokens = windows.size();
    return make_trial({.op = op::Attention{.n_head = 4,
                                           .n_head_kv = 2,
                                           .head_dim = 64,
                                           .scale = 0.125f,
                                           .layout = kv_layout(KvFormat::F32, 128),
                                           .n_ctx = n_ctx,
                                           .explicit_span = !causal},
                       .shape = {256, n_tokens, 1, 1},
                       .indices = std::move(indices),
                       .windows = std::move(windows),
                       .map = map});
}

TEST_F(MetalBits, AWindowOfOneCellGivesThatCellsValue) {
    for (const bool map : {false, true}) {
        const auto trial = attention_trial(100, {{{37, 1}}, {{99, 1}}, {{0, 1}}}, map);
        const auto got = run(trial);
        const int32_t cells[] = {37, 99, 0};
        for (size_t i = 0; i < got.size(); ++i) {
            const auto head = i / 64 % 4, token = i / 256;
            const auto at = static_cast<size_t>(cells[token]) * 128 + head / 2 * 64 + i % 64;
            ASSERT_EQ(got[i], trial.v[at]) << i;
        }
    }
}

// One causal token has a kernel of its own, which adds up in another order: of several all three
// take tiles.
TEST_F(MetalBits, CausalSpanAndRunsOverTheSameCellsAgree) {
    const auto classic = MetalOptions{.attention = kClassicAttention};
    for (const int32_t length : {1, 33, 64, 100}) {
        const auto span = run(attention_trial(100, {{{0, length}}}, false));
        EXPECT_EQ(run(attention_trial(100, {{{0, length}}}, false, true), classic), span) << length;
        EXPECT_EQ(run(attention_trial(100, {{{0, length}}}, true)), span) << length;
        if (length == 1) continue;
        EXPECT_EQ(run(attention_trial(100, {{{0, 1}, {1, length - 1}}}, true)), span) << length;
        const auto several = std::vector<Runs>{{{0, length}}, {{0, length - 1}}};
        const auto tiles = run(attention_trial(100, several, false));
        EXPECT_EQ(run(attention_trial(100, several, false, true)), tiles) << length;
        EXPECT_EQ(run(attention_trial(100, several, true)), tiles) << length;
    }
}

TEST_F(MetalBits, AWindowThatIsOneCellFurtherGivesSomethingElse) {
    const auto here = run(attention_trial(100, {{{10, 40}}}, false));
    const auto there = run(attention_trial(100, {{{11, 40}}}, false));
    EXPECT_NE(here, there);
}

}  // namespace
}  // namespace minfer::test

// Index inputs lie in buffers that larger graphs used before: what stands there past the last token
// of this one is neither checked nor read, on any route.

#include <gmock/gmock.h>

#include "backend/metal/attention_rig.h"
#include "backend/metal/cell_types.h"
#include "support/nmse.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

using testing::HasSubstr;

constexpr int32_t kGarbage = 0x7fffffff;
constexpr size_t kPhysical = 40;

// `indices` and what an earlier graph left behind them.
BufRef in_a_longer_buffer(OpRig& rig, std::vector<int32_t> indices) {
    const auto logical = indices.size() * sizeof(int32_t);
    indices.resize(indices.size() + kPhysical, kGarbage);
    auto ref = rig.ints(indices);
    ref.bytes = logical;
    return ref;
}

struct Route {
    const char* name;
    AttentionOptions options;
};
void PrintTo(const Route& route, std::ostream* out) { *out << route.name; }

const Route kRoutes[] = {
    {"Preferred", {}},
    {"SplitAndThreePasses", {.flash = false, .prefill_flash = false, .window_flash = false}},
    {"Classic", kClassicAttention},
};

class MetalLogicalLength : public testing::TestWithParam<Route> {};
INSTANTIATE_TEST_SUITE_P(Routes, MetalLogicalLength, testing::ValuesIn(kRoutes),
                         [](const auto& info) { return info.param.name; });

TEST_P(MetalLogicalLength, AttentionEndsAtTheLastToken) {
    auto rig = metal_rig({.attention = GetParam().options});
    auto layer = Layer(rig);
    for (const int32_t n_tokens : {1, 9}) {
        const auto q = random_floats(layer.g.width() * static_cast<size_t>(n_tokens), 91, 2);
        const auto shape = Shape{layer.g.width(), static_cast<size_t>(n_tokens), 1, 1};
        const auto attend = [&](bool explicit_span, std::vector<int32_t> positions,
                                const std::vector<int32_t>& window) {
            return rig.run(layer.g.op(explicit_span), shape,
                           {rig.floats(q), layer.kv.k, in_a_longer_buffer(rig, positions),
                            in_a_longer_buffer(rig, window)},
                           layer.kv);
        };
        const auto positions = range(50, 50 + n_tokens);
        const auto spans = causal_spans(n_tokens, 50);
        auto maps = std::vector<Runs>();
        for (int32_t t = 0; t < n_tokens; ++t) maps.push_back({{0, 7}, {7, 44 + t}});
        const auto want = layer.want_causal(q, 50);
        for (const auto& got :
             {attend(false, positions, {}), attend(true, positions, span_input(spans)),
              attend(true, positions, map_input(maps))}) {
            EXPECT_EQ(got.error, "");
            EXPECT_LE(nmse(got.values, want), kAttentionBar) << n_tokens << " tokens";
        }
        // The buffer's length is never taken for the input's.
        auto whole = in_a_longer_buffer(rig, positions);
        whole.bytes += kPhysical * sizeof(int32_t);
        EXPECT_THAT(
            rig.run(layer.g.op(false), shape, {rig.floats(q), layer.kv.k, whole}, layer.kv).error,
            HasSubstr(
                fmt::format("source 2 has {} bytes, {} are wanted", whole.bytes, n_tokens * 4)));
        // The last token's own index counts.
        auto wrong = positions;
        wrong.back() = kGarbage;
        EXPECT_THAT(attend(false, wrong, {}).error,
                    HasSubstr(fmt::format("position {} of token {}", kGarbage, n_tokens - 1)));
    }
}

class MetalLogicalStore : public testing::TestWithParam<metal::CellType> {};
INSTANTIATE_TEST_SUITE_P(Cells, MetalLogicalStore, testing::ValuesIn(metal::kCellTypes),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(MetalLogicalStore, AStoreEndsAtTheLastToken) {
    auto rig = metal_rig(with_cells(GetParam()));
    const auto g = Geometry{.format = format_of(GetParam())};
    auto layer = Layer(rig, g);
    const auto store = op::KvStore{.layout = g.layout(), .n_ctx = g.n_ctx};
    const auto k = random_floats(2 * g.kv_width(), 92), v = random_floats(2 * g.kv_width(), 93);
    const auto error = [&](const std::vector<int32_t>& cells) {
        const BufRef in[] = {rig.floats(k), rig.floats(v), in_a_longer_buffer(rig, cells)};
        return rig.execute(store, {g.kv_width(), g.n_ctx, 1, 1}, in, layer.kv.k, layer.kv);
    };
    EXPECT_EQ(error({99, 0}), "");
    const auto row = g.layout().row_bytes;
    auto want = layer.k_bytes;
    const auto stored = encoded_cells(g.layout(), k);
    std::copy_n(stored.begin(), row, want.end() - static_cast<ptrdiff_t>(row));
    std::copy_n(stored.begin() + static_cast<ptrdiff_t>(row), row, want.begin());
    EXPECT_EQ(layer.read(layer.kv.k), want);
    EXPECT_THAT(error({99, kGarbage}), HasSubstr(fmt::format("{}", kGarbage)));
    EXPECT_EQ(layer.read(layer.kv.k), want);
}

}  // namespace
}  // namespace minfer::test

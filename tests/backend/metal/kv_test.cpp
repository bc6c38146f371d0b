#include "backend/metal/kv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/metal/rig.h"
#include "support/random_data.h"

namespace minfer::test {
namespace {

using metal::Launch;
using testing::HasSubstr;

op::KvStore store(size_t width, size_t n_ctx, uint32_t layer = 0) {
    return {.layer = layer, .layout = kv_layout(KvFormat::F32, width), .n_ctx = n_ctx};
}

// One layer's regions with something in every cell.
struct Layer {
    Layer(OpRig& owner, size_t cell_width, size_t cells)
        : rig(owner),
          width(cell_width),
          n_ctx(cells),
          k(random_floats(width * n_ctx, 1)),
          v(random_floats(width * n_ctx, 2)),
          kv{rig.floats(k), rig.floats(v)} {}

    std::string run(std::span<const float> k_rows, std::span<const float> v_rows,
                    std::span<const int32_t> cells) {
        const auto in = std::vector{rig.floats(k_rows), rig.floats(v_rows), rig.ints(cells)};
        return rig.execute(store(width, n_ctx), {width, n_ctx, 1, 1}, in, kv.k, kv);
    }
    void expect(std::span<const float> k_rows, std::span<const float> v_rows,
                std::span<const int32_t> cells) {
        const auto with = [&](std::vector<float> region, std::span<const float> rows) {
            for (size_t t = 0; t < cells.size(); ++t)
                std::ranges::copy(rows.subspan(t * width, width),
                                  region.begin() + static_cast<ptrdiff_t>(cells[t]) *
                                                       static_cast<ptrdiff_t>(width));
            return region;
        };
        EXPECT_EQ(rig.view(kv.k), with(k, k_rows));
        EXPECT_EQ(rig.view(kv.v), with(v, v_rows));
        rig.expect_guards(kv.k);
        rig.expect_guards(kv.v);
    }

    OpRig& rig;
    size_t width, n_ctx;
    std::vector<float> k, v;
    KvPair kv;
};

TEST(MetalKv, AThreadTakesFourElementsAndARowOfThreadgroupsATokensRow) {
    EXPECT_EQ(*metal::plan_kv_store(128, 3), (Launch{{1, 3}, {32}}));
    EXPECT_EQ(*metal::plan_kv_store(129, 1), (Launch{{1, 1}, {64}}));
    EXPECT_EQ(*metal::plan_kv_store(1024, 1), (Launch{{1, 1}, {256}}));
    EXPECT_EQ(*metal::plan_kv_store(1025, 2), (Launch{{2, 2}, {256}}));
}

TEST(MetalKv, StoresRowsIntoExactlyTheGivenCells) {
    auto rig = metal_rig();
    for (const size_t width : {1, 3, 20, 128, 131, 1024, 1030}) {
        auto layer = Layer(rig, width, 40);
        const auto k = random_floats(width * 5, 3), v = random_floats(width * 5, 4);
        const auto cells = std::vector<int32_t>{39, 0, 7, 8, 21};
        EXPECT_EQ(layer.run(k, v, cells), "");
        layer.expect(k, v, cells);
    }
}

TEST(MetalKv, metal_store_real_dims) {
    auto rig = metal_rig();
    auto layer = Layer(rig, 128, 32768);
    const auto k = random_floats(128 * 3, 5), v = random_floats(128 * 3, 6);
    const auto cells = std::vector<int32_t>{32767, 0, 16384};
    EXPECT_EQ(layer.run(k, v, cells), "");
    layer.expect(k, v, cells);
}

// The sum is in the same command buffer as the store: nothing was submitted between them.
TEST(MetalKv, metal_store_after_gpu_op) {
    auto rig = metal_rig();
    auto layer = Layer(rig, 128, 16);
    const auto a = random_floats(256, 7), b = random_floats(256, 8), v = random_floats(256, 9);
    const auto cells = std::vector<int32_t>{11, 3};
    const auto sum = rig.buffer(256 * sizeof(float));
    const auto terms = std::vector{rig.floats(a), rig.floats(b)};
    const auto in = std::vector{sum, rig.floats(v), rig.ints(cells)};
    auto& backend = rig.backend();
    EXPECT_EQ(encode(backend, op::Add{}, {128, 2, 1, 1}, terms, sum), "");
    EXPECT_EQ(encode(backend, store(128, 16), {128, 16, 1, 1}, in, layer.kv.k, layer.kv), "");
    auto k = a;
    for (size_t i = 0; i < k.size(); ++i) k[i] += b[i];
    layer.expect(k, v, cells);
    EXPECT_EQ(static_cast<MetalBackend&>(backend).counters().command_buffers, 1u);
}

// K gives the number of tokens by its logical length; the arena may be shorter than the memory.
TEST(MetalKv, metal_kvcache_store_refuses_a_cell_past_the_arena) {
    auto labels = std::vector<std::string>();
    auto rig = metal_rig(traced(&labels));
    auto layer = Layer(rig, 64, 10);
    const auto rows = random_floats(128, 10);
    for (const int32_t cell : {10, 11, -1}) {
        const auto error = layer.run(rows, rows, std::vector<int32_t>{3, cell});
        EXPECT_THAT(error, HasSubstr("node 'tested' (KvStore"));
        EXPECT_THAT(error, HasSubstr(fmt::format("cell {} of token 1", cell)));
        EXPECT_THAT(error, HasSubstr("n_ctx is 10"));
        EXPECT_EQ(labels.size(), 0u);
        layer.expect({}, {}, {});
    }
    // The arena of the op counts, not that of the memory.
    layer.n_ctx = 9;
    EXPECT_THAT(layer.run(rows, rows, std::vector<int32_t>{3, 9}), HasSubstr("n_ctx is 9"));
    layer.n_ctx = 10;
    const auto cells = std::vector<int32_t>{3, 9};
    EXPECT_EQ(layer.run(rows, rows, cells), "");
    EXPECT_THAT(labels, testing::ElementsAre("kv_store_f32", "kv_store_f32"));
    layer.expect(rows, rows, cells);
}

TEST(MetalKv, RegionsThatAreMissingOrTooSmallAreRefused) {
    auto rig = metal_rig();
    auto layer = Layer(rig, 64, 10);
    const auto rows = rig.floats(random_floats(64, 11));
    const auto in = std::vector{rows, rows, rig.ints(std::vector<int32_t>{3})};
    const auto run = [&](const op::KvStore& op, std::optional<KvPair> kv) {
        return rig.execute(op, {64, 10, 1, 1}, in, layer.kv.k, kv);
    };
    EXPECT_THAT(run(store(64, 10, 7), {}), HasSubstr("layer 7 has no KV regions"));
    EXPECT_THAT(run(store(64, 11), layer.kv),
                HasSubstr("KV regions have 2560 and 2560 bytes, 11 cells of 256 need 2816"));
    EXPECT_EQ(run(store(64, 10), layer.kv), "");
}

TEST(MetalKv, RowsThatDoNotFitTheCellsAreRefused) {
    auto rig = metal_rig();
    auto layer = Layer(rig, 64, 10);
    const auto one = std::vector<int32_t>{3}, two = std::vector<int32_t>{3, 4};
    const auto rows = random_floats(128, 12);
    EXPECT_THAT(layer.run(std::span(rows).first(65), rows, one),
                HasSubstr("65 elements of K are not rows of 64"));
    EXPECT_THAT(layer.run(rows, std::span(rows).first(64), two),
                HasSubstr("source 1 has 256 bytes, 512 are wanted"));
    EXPECT_THAT(layer.run(rows, rows, one), HasSubstr("source 2 has 4 bytes, 8 are wanted"));
    EXPECT_EQ(layer.run(rows, rows, two), "");
}

TEST(MetalKv, OtherFormatsAreRefusedByName) {
    auto rig = metal_rig();
    auto layer = Layer(rig, 64, 10);
    const auto rows = rig.floats(random_floats(64, 13));
    const auto in = std::vector{rows, rows, rig.ints(std::vector<int32_t>{3})};
    auto op = store(64, 10);
    op.layout = kv_layout(KvFormat::Q8_0, 64);
    EXPECT_FALSE(rig.backend().reads_kv(KvFormat::Q8_0));
    EXPECT_THAT(rig.execute(op, {64, 10, 1, 1}, in, layer.kv.k, layer.kv),
                HasSubstr("no kernel stores q8_0 cells"));
}

}  // namespace
}  // namespace minfer::test

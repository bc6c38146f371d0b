#include "backend/metal/kv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/metal/cell_types.h"
#include "backend/metal/rig.h"
#include "support/kv_cells.h"
#include "tensor/quantize_kv.h"

namespace minfer::test {
namespace {

using metal::CellType;
using metal::Launch;
using testing::ElementsAre;
using testing::HasSubstr;
using Bytes = std::vector<std::byte>;
using CellIds = std::vector<int32_t>;

op::KvStore store(const KvLayout& layout, size_t n_ctx, uint32_t layer = 0) {
    return {.layer = layer, .layout = layout, .n_ctx = n_ctx};
}

// One layer's regions with something in every cell.
struct Layer : KvCells {
    Layer(OpRig& owner, CellType type, size_t width, size_t cells)
        : KvCells(owner, kv_layout(format_of(type), width), cells), n_ctx(cells) {}

    std::string run(std::span<const float> k_rows, std::span<const float> v_rows,
                    const CellIds& cells) {
        const auto in = std::vector{rig.floats(k_rows), rig.floats(v_rows), rig.ints(cells)};
        return rig.execute(store(layout, n_ctx), {layout.width, n_ctx, 1, 1}, in, kv.k, kv);
    }
    Bytes with(Bytes region, std::span<const float> rows, const CellIds& cells) const {
        const auto stored = encoded_cells(layout, rows);
        for (size_t t = 0; t < cells.size(); ++t)
            std::memcpy(&region[static_cast<size_t>(cells[t]) * layout.row_bytes],
                        &stored[t * layout.row_bytes], layout.row_bytes);
        return region;
    }
    void expect(std::span<const float> k_rows, std::span<const float> v_rows,
                const CellIds& cells) {
        EXPECT_EQ(read(kv.k), with(k_bytes, k_rows, cells));
        EXPECT_EQ(read(kv.v), with(v_bytes, v_rows, cells));
        rig.expect_guards(kv.k);
        rig.expect_guards(kv.v);
    }

    size_t n_ctx;
};

TEST(MetalKv, AThreadTakesFourElementsOrOneOfABlockAndARowOfThreadgroupsATokensRow) {
    for (const auto type : {CellType::F32, CellType::F16}) {
        EXPECT_EQ(*metal::plan_kv_store(type, 128, 3), (Launch{{3, 1}, {32}}));
        EXPECT_EQ(*metal::plan_kv_store(type, 129, 1), (Launch{{1, 1}, {64}}));
        EXPECT_EQ(*metal::plan_kv_store(type, 1024, 1), (Launch{{1, 1}, {256}}));
        EXPECT_EQ(*metal::plan_kv_store(type, 1025, 2), (Launch{{2, 2}, {256}}));
    }
    for (const auto type : {CellType::Q8_0, CellType::Q8_0Split}) {
        EXPECT_EQ(*metal::plan_kv_store(type, 32, 3), (Launch{{3, 1}, {32}}));
        EXPECT_EQ(*metal::plan_kv_store(type, 128, 1), (Launch{{1, 1}, {128}}));
        EXPECT_EQ(*metal::plan_kv_store(type, 288, 2), (Launch{{2, 2}, {256}}));
        EXPECT_EQ(*metal::plan_kv_store(type, 1024, 1), (Launch{{1, 4}, {256}}));
    }
}

class MetalKvStore : public testing::TestWithParam<CellType> {
  protected:
    CellType type() const { return GetParam(); }
    OpRig rig_of(MetalOptions options = {}) const { return metal_rig(with_cells(type(), options)); }
};

INSTANTIATE_TEST_SUITE_P(Cells, MetalKvStore, testing::ValuesIn(metal::kCellTypes),
                         [](const auto& info) { return std::string(metal::name(info.param)); });

TEST_P(MetalKvStore, StoresRowsIntoExactlyTheGivenCells) {
    auto rig = rig_of();
    const auto widths = is_packed(type()) ? std::vector<size_t>{32, 64, 96, 288, 1024, 1056}
                                          : std::vector<size_t>{1, 3, 20, 128, 131, 1024, 1030};
    for (const size_t width : widths) {
        auto layer = Layer(rig, type(), width, 40);
        const auto k = random_floats(width * 5, 3), v = random_floats(width * 5, 4);
        const auto cells = CellIds{39, 0, 7, 8, 21};
        EXPECT_EQ(layer.run(k, v, cells), "");
        layer.expect(k, v, cells);
    }
}

TEST_P(MetalKvStore, metal_store_real_dims) {
    auto rig = rig_of();
    auto layer = Layer(rig, type(), 128, 32768);
    const auto k = random_floats(128 * 3, 5), v = random_floats(128 * 3, 6);
    const auto cells = CellIds{32767, 0, 16384};
    EXPECT_EQ(layer.run(k, v, cells), "");
    layer.expect(k, v, cells);
}

// The sum is in the same command buffer as the store: nothing was submitted between them.
TEST_P(MetalKvStore, metal_store_after_gpu_op) {
    auto rig = rig_of();
    auto layer = Layer(rig, type(), 128, 16);
    const auto a = random_floats(256, 7), b = random_floats(256, 8), v = random_floats(256, 9);
    const auto cells = CellIds{11, 3};
    const auto sum = rig.buffer(256 * sizeof(float));
    const auto terms = std::vector{rig.floats(a), rig.floats(b)};
    const auto in = std::vector{sum, rig.floats(v), rig.ints(cells)};
    auto& metal = dynamic_cast<MetalBackend&>(rig.backend());
    const auto before = metal.counters().command_buffers;
    EXPECT_EQ(encode(metal, op::Add{}, {128, 2, 1, 1}, terms, sum), "");
    EXPECT_EQ(encode(metal, store(layer.layout, 16), {128, 16, 1, 1}, in, layer.kv.k, layer.kv),
              "");
    auto k = a;
    for (size_t i = 0; i < k.size(); ++i) k[i] += b[i];
    layer.expect(k, v, cells);
    EXPECT_EQ(metal.counters().command_buffers, before + 1);
}

// Stores and moves that are still to be submitted: without the flush a read gives the old cells.
TEST_P(MetalKvStore, metal_copy_kv_to_cpu_reads_after_the_pending_split) {
    auto rig = rig_of();
    auto layer = Layer(rig, type(), 64, 16);
    const auto k = random_floats(128, 10), v = random_floats(128, 11);
    const auto cells = CellIds{5, 2};
    const auto in = std::vector{rig.floats(k), rig.floats(v), rig.ints(cells)};
    auto& metal = dynamic_cast<MetalBackend&>(rig.backend());
    const auto before = metal.counters().command_buffers;
    EXPECT_EQ(encode(metal, store(layer.layout, 16), {64, 16, 1, 1}, in, layer.kv.k, layer.kv), "");
    EXPECT_EQ(metal.counters().command_buffers, before) << "the store is pending";
    auto want = layer.with(layer.k_bytes, k, cells);
    EXPECT_EQ(layer.read(layer.kv.k), want);
    EXPECT_EQ(metal.counters().command_buffers, before + 1);
    const auto row = layer.layout.row_bytes;
    ASSERT_TRUE(metal.copy_cells(layer.kv.k, 0, 5, 1, row));
    EXPECT_EQ(metal.counters().command_buffers, before + 1) << "the move is pending";
    std::memcpy(want.data(), &want[5 * row], row);
    EXPECT_EQ(layer.read(layer.kv.k), want);
    EXPECT_EQ(layer.read(layer.kv.v), layer.with(layer.v_bytes, v, cells));
}

// K gives the number of tokens by its logical length; the arena may be shorter than the memory.
TEST_P(MetalKvStore, metal_kvcache_store_refuses_a_cell_past_the_arena) {
    auto labels = std::vector<std::string>();
    auto rig = rig_of(traced(&labels));
    auto layer = Layer(rig, type(), 64, 10);
    const auto rows = random_floats(128, 12);
    for (const int32_t cell : {10, 11, -1}) {
        const auto error = layer.run(rows, rows, {3, cell});
        EXPECT_THAT(error, HasSubstr("node 'tested' (KvStore"));
        EXPECT_THAT(error, HasSubstr(fmt::format("cell {} of token 1", cell)));
        EXPECT_THAT(error, HasSubstr("n_ctx is 10"));
        EXPECT_EQ(labels.size(), 0u);
        layer.expect({}, {}, {});
    }
    // The arena of the op counts, not that of the memory.
    layer.n_ctx = 9;
    EXPECT_THAT(layer.run(rows, rows, {3, 9}), HasSubstr("n_ctx is 9"));
    layer.n_ctx = 10;
    EXPECT_EQ(layer.run(rows, rows, {3, 9}), "");
    const auto kernel = fmt::format("kv_store_{}", metal::name(type()));
    EXPECT_THAT(labels, ElementsAre(kernel, kernel));
    layer.expect(rows, rows, {3, 9});
}

TEST_P(MetalKvStore, RegionsThatAreMissingOrTooSmallAreRefused) {
    auto rig = rig_of();
    auto layer = Layer(rig, type(), 64, 10);
    const auto rows = rig.floats(random_floats(64, 13));
    const auto in = std::vector{rows, rows, rig.ints(CellIds{3})};
    const auto run = [&](const op::KvStore& op, std::optional<KvPair> kv) {
        return rig.execute(op, {64, 10, 1, 1}, in, layer.kv.k, kv);
    };
    const auto row = layer.layout.row_bytes;
    EXPECT_THAT(run(store(layer.layout, 10, 7), {}), HasSubstr("layer 7 has no KV regions"));
    EXPECT_THAT(run(store(layer.layout, 11), layer.kv),
                HasSubstr(fmt::format("KV regions have {} and {} bytes, 11 cells of {} need {}",
                                      10 * row, 10 * row, row, 11 * row)));
    EXPECT_EQ(run(store(layer.layout, 10), layer.kv), "");
}

TEST_P(MetalKvStore, RowsThatDoNotFitTheCellsAreRefused) {
    auto rig = rig_of();
    auto layer = Layer(rig, type(), 64, 10);
    const auto rows = random_floats(128, 14);
    EXPECT_THAT(layer.run(std::span(rows).first(65), rows, {3}),
                HasSubstr("65 elements of K are not rows of 64"));
    EXPECT_THAT(layer.run({}, {}, {}), HasSubstr("0 elements of K are not rows of 64"));
    EXPECT_THAT(layer.run(rows, std::span(rows).first(64), {3, 4}),
                HasSubstr("source 1 has 256 bytes, 512 are wanted"));
    EXPECT_THAT(layer.run(rows, rows, {3}), HasSubstr("source 2 has 4 bytes, 8 are wanted"));
    EXPECT_EQ(layer.run(rows, rows, {3, 4}), "");
}

TEST_P(MetalKvStore, CellsOfAnotherSizeAreRefused) {
    auto rig = rig_of();
    auto layer = Layer(rig, type(), 64, 10);
    const auto right = layer.layout;
    layer.layout.row_bytes += 4;
    EXPECT_THAT(layer.run(random_floats(64, 15), random_floats(64, 16), {3}),
                HasSubstr(fmt::format("cells of 64 elements have {} bytes, not {}", right.row_bytes,
                                      right.row_bytes + 4)));
    layer.layout = right;
    EXPECT_EQ(layer.run(random_floats(64, 15), random_floats(64, 16), {3}), "");
}

// memmove is the reference.
TEST_P(MetalKvStore, MovesOfOverlappingCellsInBothDirectionsKeepTheirBytes) {
    auto rig = rig_of();
    auto layer = Layer(rig, type(), 96, 23);
    const auto row = layer.layout.row_bytes;
    for (const auto& [to, from, rows] :
         {std::array<size_t, 3>{0, 1, 22}, {1, 0, 22}, {3, 8, 15}, {8, 3, 15}, {0, 12, 11}}) {
        layer.write(layer.kv.k, layer.k_bytes);
        ASSERT_TRUE(rig.backend().copy_cells(layer.kv.k, to, from, rows, row));
        auto want = layer.k_bytes;
        std::memmove(&want[to * row], &layer.k_bytes[from * row], rows * row);
        EXPECT_EQ(layer.read(layer.kv.k), want) << rows << " from " << from << " to " << to;
    }
}

// A stride of f32 cells would take two cells for one, and the end of the region for its middle.
TEST(MetalKv, metal_f16_kv_cell_move_strides_by_row_bytes) {
    auto rig = metal_rig();
    auto layer = Layer(rig, CellType::F16, 64, 8);
    EXPECT_EQ(layer.layout.row_bytes, 128u);
    ASSERT_TRUE(rig.backend().copy_cells(layer.kv.k, 1, 6, 2, layer.layout.row_bytes));
    auto want = layer.k_bytes;
    std::memcpy(&want[128], &layer.k_bytes[6 * 128], 2 * 128);
    EXPECT_EQ(layer.read(layer.kv.k), want);
    const auto wrong = rig.backend().copy_cells(layer.kv.k, 1, 6, 2, 64 * sizeof(float));
    ASSERT_FALSE(wrong);
    EXPECT_THAT(wrong.error().what, HasSubstr("among 4 cells"));
}

// Cells are moved by copies of the device, which take whole words.
TEST(MetalKv, AMoveOfCellsThatAreNoWholeWordsIsRefused) {
    auto rig = metal_rig();
    const auto region = rig.buffer(64);
    const auto odd = rig.backend().copy_cells(region, 0, 1, 1, 6);
    ASSERT_FALSE(odd);
    EXPECT_THAT(odd.error().what, HasSubstr("cells of 6 bytes are not whole words"));
    EXPECT_TRUE(rig.backend().copy_cells(region, 0, 1, 1, 8));
}

TEST(MetalKv, Q8_0CellsOfPartBlocksAreRefused) {
    auto rig = metal_rig();
    auto layer = Layer(rig, CellType::Q8_0, 64, 10);
    layer.layout = kv_layout(KvFormat::Q8_0, 48);
    EXPECT_THAT(layer.run(random_floats(48, 17), random_floats(48, 18), {3}),
                HasSubstr("q8_0 cells of 48 elements, a multiple of 32 is allowed"));
    layer.layout = kv_layout(KvFormat::Q8_0, 64);
    EXPECT_EQ(layer.run(random_floats(64, 17), random_floats(64, 18), {3}), "");
}

// Values that decide how halves are rounded, overflow and underflow.
TEST(MetalKv, F16CellsAreRoundedToNearestEven) {
    auto values = std::vector<float>{
        0,        -0.f,         65504,        65519.99f,    65520,          1e30f,
        INFINITY, 0x1p-24f,     0x1p-25f,     0x1.8p-25f,   0x1.8p-24f,     0x1p-26f,
        2049,     2050,         2051,         1 + 0x1p-11f, 1 + 0x1.8p-10f, 1 + 0x1.000002p-11f,
        0x1p-14f, 0x1.ffcp-15f, 0x1.ffep-15f, 0.1f};
    const auto n = values.size();
    for (size_t i = 0; i < n; ++i) values.push_back(-values[i]);
    const auto random = random_floats(4096 - values.size(), 19, 3e-3f);
    values.insert(values.end(), random.begin(), random.end());
    auto rig = metal_rig();
    auto layer = Layer(rig, CellType::F16, values.size(), 2);
    EXPECT_EQ(layer.run(values, values, {1}), "");
    const auto got = layer.read(layer.kv.k);
    for (size_t i = 0; i < values.size(); ++i) {
        uint16_t half = 0;
        std::memcpy(&half, &got[layer.layout.row_bytes + i * 2], 2);
        EXPECT_EQ(half, f32_to_f16(values[i])) << values[i];
    }
}

// Blocks of every kind there is, each with the bytes of the CPU's quantiser.
TEST(MetalKv, Q8_0CellsAreThoseOfTheCpuByteForByte) {
    auto blocks = std::vector<std::vector<float>>();
    const auto block = [&](auto value_at) {
        auto& values = blocks.emplace_back();
        for (int i = 0; i < 32; ++i) values.push_back(value_at(i));
    };
    block([](int) { return 0.f; });
    block([](int) { return -0.f; });
    // The scale is 1: ties to even, upwards and downwards.
    block([](int i) { return i == 7 ? 127.f : static_cast<float>(i - 16) + 0.5f; });
    block([](int i) { return i == 31 ? -127.f : static_cast<float>(i) * 3 + 0.5f; });
    for (const float peak : {1e-3f, 1.f, 3e4f, 0x1p-14f})  // the largest in each lane
        for (int at = 0; at < 32; ++at)
            block([&](int i) { return i == at ? -peak : peak * static_cast<float>(i) / 33; });
    // Scales that are subnormal halves, the smallest one, and half of it, which is none.
    for (const float scale : {0x1p-15f, 0x1.8p-20f, 0x1p-24f, 0x1.000002p-25f, 0x1p-25f, 0x1p-30f})
        block([&](int i) { return scale * static_cast<float>(4 * i + 3); });
    // Scales past the largest half, and what is no number.
    block([](int i) { return i == 3 ? 1e7f : static_cast<float>(i); });
    block([](int i) { return i == 3 ? INFINITY : static_cast<float>(i); });
    block([](int i) { return i == 30 ? -INFINITY : static_cast<float>(i); });
    block([](int i) { return i == 5 ? NAN : static_cast<float>(i); });
    block([](int i) { return i == 31 ? -NAN : 0.f; });
    for (uint32_t seed = 0; seed < 300; ++seed)
        blocks.push_back(random_floats(32, seed, std::exp2(static_cast<float>(seed % 40) - 20)));
    if (blocks.size() % 2) blocks.push_back(random_floats(32, 999));

    auto rows = std::vector<float>();
    for (const auto& values : blocks) rows.insert(rows.end(), values.begin(), values.end());
    const auto layout = kv_layout(KvFormat::Q8_0, rows.size());
    auto want = Bytes(layout.row_bytes);
    quantize_kv_row(rows.data(), want.data(), rows.size());
    EXPECT_EQ(encoded_cells(layout, rows), want) << "the plain loops";
    for (const auto type : {CellType::Q8_0, CellType::Q8_0Split}) {
        auto rig = metal_rig(with_cells(type));
        auto layer = Layer(rig, type, rows.size(), 1);
        EXPECT_EQ(layer.run(rows, rows, {0}), "");
        const auto got = layer.read(layer.kv.k);
        for (size_t b = 0; b < blocks.size(); ++b)
            EXPECT_EQ(std::memcmp(&got[b * 34], &want[b * 34], 34), 0)
                << metal::name(type) << " block " << b << " from " << blocks[b][0] << " on";
    }
}

// Cells of an odd number of blocks end in two bytes that hold nothing.
TEST(MetalKv, ThePaddingOfQ8_0CellsIsZeroed) {
    for (const auto type : {CellType::Q8_0, CellType::Q8_0Split})
        for (const size_t width : {32, 96, 288}) {
            auto rig = metal_rig(with_cells(type));
            auto layer = Layer(rig, type, width, 4);
            const auto row = layer.layout.row_bytes;
            ASSERT_EQ(row, width / 32 * 34 + 2);
            layer.k_bytes.assign(4 * row, std::byte{0xff});
            layer.write(layer.kv.k, layer.k_bytes);
            const auto k = random_floats(width, 20), v = random_floats(width, 21);
            EXPECT_EQ(layer.run(k, v, {2}), "");
            layer.expect(k, v, {2});
            EXPECT_EQ(layer.read(layer.kv.k)[3 * row - 1], std::byte{0});
        }
}

TEST(MetalKv, EveryFormatIsRead) {
    const auto backend = metal_backend();
    for (const auto format : kKvFormats) EXPECT_TRUE(backend->reads_kv(format)) << name(format);
}

}  // namespace
}  // namespace minfer::test

// KvStore: which bytes end up in which cells.

#include <gmock/gmock.h>

#include <bit>
#include <cmath>

#include "backend/cpu/rig.h"
#include "support/kv_cells.h"
#include "tensor/quantize_kv.h"

namespace minfer::test {
namespace {

MINFER_FOR_EVERY_ISA(CpuKvStore);

using testing::HasSubstr;
using Indices = std::vector<int32_t>;

// A backend with one layer whose every cell is filled.
struct Layer {
    explicit Layer(CpuOptions options, KvFormat format, size_t width = 96, size_t n_cells = 50)
        : n_ctx(n_cells), rig(options), cells(rig, kv_layout(format, width), n_ctx) {}

    op::KvStore op() const { return {.layout = cells.layout, .n_ctx = n_ctx}; }

    std::string store(std::span<const float> k, std::span<const float> v, const Indices& at) {
        return store(op(), k, v, at, cells.kv);
    }
    std::string store(const op::KvStore& op, std::span<const float> k, std::span<const float> v,
                      const Indices& at, std::optional<KvPair> kv) {
        const auto in = std::vector{rig.floats(k), rig.floats(v), rig.ints(at)};
        const auto error = rig.execute(op, {cells.layout.width, n_ctx, 1, 1}, in, cells.kv.k, kv);
        rig.expect_guards(cells.kv.k);
        rig.expect_guards(cells.kv.v);
        return error;
    }
    std::vector<std::byte> k() const { return cells.read(cells.kv.k); }
    std::vector<std::byte> v() const { return cells.read(cells.kv.v); }

    size_t n_ctx;
    Rig rig;
    KvCells cells;
};

TEST_P(CpuKvStore, WritesExactlyTheGivenCellsOfBothRegions) {
    for (const auto format : kKvFormats)
        for (const size_t width : {32, 96, 160}) {  // padded, for q8_0, where blocks are odd
            auto layer = Layer(options(), format, width);
            const auto k = random_floats(width * 3, 32), v = random_floats(width * 3, 33);
            const auto at = Indices{49, 0, 42};
            EXPECT_EQ(layer.store(k, v, at), "");
            const auto row_bytes = layer.cells.layout.row_bytes;
            const auto with = [&](std::vector<std::byte> region, const std::vector<float>& rows) {
                const auto stored = encoded_cells(layer.cells.layout, rows);
                for (size_t t = 0; t < 3; ++t)
                    std::copy_n(&stored[t * row_bytes], row_bytes,
                                &region[static_cast<size_t>(at[t]) * row_bytes]);
                return region;
            };
            EXPECT_EQ(layer.k(), with(layer.cells.k_bytes, k)) << name(format) << width;
            EXPECT_EQ(layer.v(), with(layer.cells.v_bytes, v)) << name(format) << width;
        }
}

TEST_P(CpuKvStore, APaddedCellEndsInZerosWhateverWasThere) {
    auto layer = Layer(options(), KvFormat::Q8_0, 96);
    layer.cells.write(layer.cells.kv.k, std::vector(layer.cells.kv.k.bytes, std::byte{0x5a}));
    const auto rows = random_floats(96, 34);
    EXPECT_EQ(layer.store(rows, rows, {7}), "");
    const auto region = layer.k();
    const auto cell = std::span(region).subspan(7 * 104, 104);
    EXPECT_EQ(cell[102], std::byte{0});
    EXPECT_EQ(cell[103], std::byte{0});
    EXPECT_EQ(region[7 * 104 - 1], std::byte{0x5a});
    EXPECT_EQ(region[8 * 104], std::byte{0x5a});
}

// Every exponent and sign, with mantissas on, just below and just above the ties of halves.
std::vector<float> hard_to_round() {
    auto values = std::vector<float>();
    for (uint32_t top = 0; top < 0x200; ++top)
        for (const uint32_t mantissa :
             {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x2fffu, 0x3000u, 0x3001u, 0x7fe000u, 0x7fefffu,
              0x7ff000u, 0x7fffffu, 0x400000u, 0x400001u, 0x200000u})
            values.push_back(std::bit_cast<float>(top << 23 | mantissa));
    return values;
}

TEST_P(CpuKvStore, RoundsHalvesToNearestEvenOverflowToInfinityAndKeepsNan) {
    const auto values = hard_to_round();
    for (const size_t width : {values.size(), size_t{5}}) {  // whole vectors, and a part of one
        const auto n_rows = values.size() / width;
        auto layer = Layer(options(), KvFormat::F16, width, n_rows + n_rows % 2);
        auto at = Indices();
        for (size_t row = 0; row < n_rows; ++row) at.push_back(static_cast<int32_t>(row));
        EXPECT_EQ(layer.store(values, values, at), "");
        const auto stored = layer.v();
        for (size_t i = 0; i < values.size(); ++i) {
            uint16_t half = 0;
            std::memcpy(&half, &stored[i * 2], sizeof half);
            EXPECT_EQ(half, f32_to_f16(values[i])) << std::bit_cast<uint32_t>(values[i]);
        }
    }
    EXPECT_EQ(f32_to_f16(65519.f), 0x7bff);
    EXPECT_EQ(f32_to_f16(65520.f), 0x7c00);
}

TEST_P(CpuKvStore, WritesTheBytesOfTheOneQuantiserForValuesOfEverySize) {
    auto values = random_floats(96 * 50, 35);
    for (size_t i = 0; i < values.size(); ++i)
        values[i] = std::ldexp(values[i], static_cast<int>(i / 32) - 75);
    values[40] = NAN;
    values[40 * 32] = INFINITY;
    auto layer = Layer(options(), KvFormat::Q8_0, 96);
    auto at = Indices();
    for (int32_t cell = 0; cell < 50; ++cell) at.push_back(cell);
    EXPECT_EQ(layer.store(values, values, at), "");
    auto want = std::vector<std::byte>(layer.cells.kv.k.bytes);
    for (size_t row = 0; row < 50; ++row)
        quantize_kv_row(values.data() + row * 96, want.data() + row * 104, 96);
    EXPECT_EQ(layer.k(), want);
    EXPECT_EQ(layer.v(), want);
}

TEST_P(CpuKvStore, ACellPastTheArenaIsRefusedAndNothingIsWritten) {
    for (const auto format : kKvFormats) {
        auto layer = Layer(options(), format);
        const auto rows = random_floats(96 * 2, 36);
        for (const int32_t cell : {50, -1}) {
            EXPECT_THAT(layer.store(rows, rows, {3, cell}),
                        HasSubstr(fmt::format("cell {} of token 1, the arena has 50", cell)));
            EXPECT_EQ(layer.k(), layer.cells.k_bytes);
            EXPECT_EQ(layer.v(), layer.cells.v_bytes);
        }
        EXPECT_EQ(layer.store(rows, rows, {3, 49}), "");
    }
}

TEST_P(CpuKvStore, CellsThatDoNotFitTheOperationAreRefusedAndNothingIsWritten) {
    for (const auto format : kKvFormats) {
        auto layer = Layer(options(), format);
        const auto rows = random_floats(96, 37);
        const auto bytes = layer.cells.layout.row_bytes;
        const auto error = [&](auto change) {
            auto op = layer.op();
            auto kv = std::optional(layer.cells.kv);
            change(op, kv);
            return layer.store(op, rows, rows, {3}, kv);
        };
        EXPECT_THAT(error([](auto& op, auto&) { op.layout.row_bytes -= 2; }),
                    HasSubstr(fmt::format("{} cells of 96 elements have {} bytes, not {}",
                                          name(format), bytes, bytes - 2)));
        EXPECT_THAT(error([](auto&, auto& kv) { kv.reset(); }), HasSubstr("has no KV regions"));
        EXPECT_THAT(error([](auto&, auto& kv) { kv->k.bytes -= 4; }),
                    HasSubstr(fmt::format("50 cells of {} need {}", bytes, 50 * bytes)));
        EXPECT_THAT(error([](auto& op, auto&) { op.n_ctx = 51; }),
                    HasSubstr(fmt::format("51 cells of {} need {}", bytes, 51 * bytes)));
        EXPECT_THAT(error([&](auto& op, auto&) { op.layout = kv_layout(format, 128); }),
                    HasSubstr("KV regions have"));
        EXPECT_EQ(layer.k(), layer.cells.k_bytes);
        EXPECT_EQ(layer.v(), layer.cells.v_bytes);
        EXPECT_THAT(layer.store({}, {}, {}), HasSubstr("0 elements of K are not rows of 96"));
        EXPECT_EQ(error([](auto&, auto&) {}), "");
    }
}

TEST_P(CpuKvStore, CellsOfBlocksThatAreNotWholeAreRefused) {
    for (const auto format : kKvFormats) {
        auto layer = Layer(options(), KvFormat::F32);  // memory enough for all
        auto op = layer.op();
        op.layout = kv_layout(format, 80);
        const auto rows = random_floats(80, 38);
        const auto error = layer.store(op, rows, rows, {3}, layer.cells.kv);
        if (format != KvFormat::Q8_0)
            EXPECT_EQ(error, "");
        else
            EXPECT_THAT(error, HasSubstr("q8_0 cells of 80 elements, a multiple of 32 is allowed"));
    }
}

}  // namespace
}  // namespace minfer::test

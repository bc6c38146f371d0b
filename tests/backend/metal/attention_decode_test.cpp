#include "backend/metal/attention_decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/metal/attention.h"
#include "backend/metal/attention_decode_rig.h"
#include "support/software_metal.h"

namespace minfer::test {
namespace {

using metal::CellType;
using metal::Launch;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr size_t kHeadSizes[] = {64, 80, 96, 112, 128, 256};
// One, and either side of steps of 32, of pairs of them and of blocks of 64.
constexpr size_t kCellCounts[] = {1, 31, 32, 33, 63, 64, 65, 72, 96, 98, 129, 197, 300, 1025};

constexpr AttentionOptions kSplitOnly = {.flash = false};
constexpr AttentionOptions kShared = {.share_kv_from = 1};

AttentionOptions in_chunks(AttentionOptions options, uint32_t chunks) {
    options.chunks = chunks;
    return options;
}

metal::AttentionShape shape(size_t n_head, size_t n_head_kv, size_t head_dim = 64) {
    return {.n_tokens = 1,
            .n_head = n_head,
            .n_head_kv = n_head_kv,
            .head_dim = head_dim,
            .n_ctx = 40000};
}

TEST(MetalDecode, TheNumberOfChunksFollowsFromTheCellsAlone) {
    for (const auto& [cells, chunks] : std::vector<std::pair<size_t, uint32_t>>{{0, 1},
                                                                                {1, 1},
                                                                                {32, 1},
                                                                                {33, 2},
                                                                                {64, 2},
                                                                                {65, 3},
                                                                                {480, 15},
                                                                                {481, 16},
                                                                                {1 << 20, 16}})
        EXPECT_EQ(metal::decode_chunks(cells, {}), chunks) << cells;
    EXPECT_EQ(metal::decode_chunks(1, {.chunks = 128}), 128u);
    EXPECT_EQ(metal::decode_chunks(1 << 20, {.chunks = 1}), 1u);
}

TEST(MetalDecode, FlashHasASimdGroupForEachQueryHeadAndChunk) {
    const auto plan = *metal::plan_decode_flash(shape(14, 2), 100, {});
    EXPECT_EQ(plan.chunks, (Launch{{1, 14, 4}, {32}}));
    EXPECT_EQ(plan.combine, (Launch{{14}, {32}}));
    EXPECT_EQ(plan.heads, 1u);
    EXPECT_EQ(plan.parts, 7u);
    EXPECT_EQ(plan.record_floats(14, 64), 14u * 4 * 66);
}

// group, query heads of a SIMD group, threadgroups of a KV head, chunks at 16 without sharing.
TEST(MetalDecode, QueryHeadsOfAKvHeadShareItsLoadsFromTheGivenCellsOn) {
    struct Case {
        size_t group;
        uint32_t heads, parts, n_chunks;
    };
    for (const auto& c : {Case{1, 1, 1, 16},
                          {2, 2, 1, 32},
                          {3, 4, 1, 48},
                          {4, 4, 1, 64},
                          {5, 4, 2, 48},
                          {6, 4, 2, 48},
                          {7, 4, 2, 64},
                          {8, 4, 2, 64}}) {
        const auto few = *metal::plan_decode_flash(shape(c.group * 2, 2), 8191, {});
        const auto many = *metal::plan_decode_flash(shape(c.group * 2, 2), 8192, {});
        EXPECT_EQ(few.heads, 1u);
        EXPECT_EQ(few.parts, c.group);
        EXPECT_EQ(few.n_chunks, 16u);
        EXPECT_EQ(many.heads, c.heads) << c.group;
        EXPECT_EQ(many.parts, c.parts) << c.group;
        EXPECT_EQ(many.n_chunks, c.n_chunks) << c.group;
        EXPECT_EQ(many.chunks, (Launch{{1, 2 * c.parts, c.n_chunks}, {32}}));
        EXPECT_GE(many.chunks.groups.count(), few.chunks.groups.count()) << c.group;
        EXPECT_LE(many.n_chunks, uint32_t{kDecodeMaxChunks});
        EXPECT_GE(many.parts * many.heads, c.group);
    }
    // Chunks that were asked for stay.
    EXPECT_EQ(metal::plan_decode_flash(shape(14, 2), 9000, {.chunks = 5})->n_chunks, 5u);
    EXPECT_EQ(metal::plan_decode_flash(shape(14, 2), 9000, {.chunks = 5})->heads, 4u);
}

TEST(MetalDecode, SplitHasAThreadgroupForEachKvHeadAndChunk) {
    const auto plan = *metal::plan_decode_split(shape(14, 2), 100, {});
    const auto tiles = *metal::plan_classic(1, 14, 2);
    EXPECT_EQ(plan.chunks, (Launch{{1, 2, 4}, {7 * 32}, tiles.shared_bytes}));
    EXPECT_EQ(plan.combine, (Launch{{14}, {32}}));
    const auto wide = *metal::plan_decode_split(shape(9, 1), 1, {.chunks = 3});
    EXPECT_EQ(wide.chunks.groups, (metal::Size3{1, 2, 3}));
    EXPECT_EQ(wide.parts, 2u);
}

TEST(MetalDecode, PlansRefuseWhatTheyCannotCount) {
    const auto most = size_t{0xfffffc00};
    EXPECT_FALSE(metal::plan_decode_flash(shape(most + 1, 1), 1, {}));
    EXPECT_FALSE(metal::plan_decode_flash(shape(most + 1, most + 1), 1, {}));
    EXPECT_FALSE(metal::plan_decode_split(shape(most + 1, 1), 1, {}));
    EXPECT_TRUE(metal::plan_decode_flash(shape(most, most), 1, {}));
}

TEST(MetalDecode, EachSwitchGoesToTheNextFamily) {
    const auto labels = [](AttentionOptions options) {
        auto decoder = Decoder(decoded(), CellType::F32, options);
        decoder.values(40);
        return decoder.labels();
    };
    EXPECT_THAT(labels({}), ElementsAre("attention_decode_64_f32", "attention_combine"));
    EXPECT_THAT(labels(kShared), ElementsAre("attention_decode_64_x2_f32", "attention_combine"));
    EXPECT_THAT(labels(kSplitOnly), ElementsAre("attention_split_f32", "attention_combine"));
    EXPECT_THAT(labels(kClassicAttention), ElementsAre("attention_f32"));
}

void expect_reference(Decoder& decoder, size_t n_cells) {
    EXPECT_LE(nmse(decoder.values(n_cells), decoder.want(n_cells)), kAttentionBar)
        << n_cells << " cells";
}

TEST(MetalDecode, flash_attn_ext_isolation) {
    for (const auto cells : metal::kCellTypes)
        for (const auto head_dim : kHeadSizes) {
            SCOPED_TRACE(fmt::format("{} heads of {}", name(cells), head_dim));
            if (format_of(cells) == KvFormat::Q8_0 && head_dim % 32 != 0) continue;
            auto decoder = Decoder(decoded(2, head_dim, 1025), cells, {});
            for (const auto n_cells : kCellCounts) expect_reference(decoder, n_cells);
            EXPECT_THAT(decoder.labels()[0], HasSubstr("attention_decode"));
        }
    for (const auto cells : metal::kCellTypes)
        for (const size_t head_dim : {64, 128}) {
            SCOPED_TRACE(fmt::format("{} heads of {}", name(cells), head_dim));
            auto decoder = Decoder(decoded(2, head_dim, 4097), cells, {});
            expect_reference(decoder, 4097);
        }
}

// A head need not be whole blocks as long as a cell is.
TEST(MetalDecode, PackedCellsHoldHeadsThatAreNoWholeBlocks) {
    for (const auto cells : {CellType::Q8_0, CellType::Q8_0Split})
        for (const size_t head_dim : {80, 112}) {
            SCOPED_TRACE(fmt::format("{} heads of {}", name(cells), head_dim));
            auto decoder = Decoder(Geometry{4, 2, head_dim, 300}, cells, {});
            for (const size_t n_cells : {1, 33, 300}) expect_reference(decoder, n_cells);
            EXPECT_THAT(decoder.labels()[0], HasSubstr("attention_decode"));
        }
}

TEST(MetalDecode, gqa_attn_split_isolation) {
    for (const auto cells : {CellType::F32, CellType::F16})
        for (const size_t head_dim : {64, 128}) {
            SCOPED_TRACE(fmt::format("{} heads of {}", name(cells), head_dim));
            auto decoder = Decoder(decoded(2, head_dim, 4097), cells, kSplitOnly);
            for (const auto n_cells : kCellCounts) expect_reference(decoder, n_cells);
            expect_reference(decoder, 4097);
            EXPECT_THAT(decoder.labels()[0], HasSubstr("attention_split"));
        }
}

TEST(MetalDecode, flash_attn_matches_split) {
    for (const auto cells : {CellType::F32, CellType::F16})
        for (const size_t head_dim : {64, 128}) {
            const auto geometry = Geometry{6, 2, head_dim, 300};
            auto flash = Decoder(geometry, cells, {});
            auto split = Decoder(geometry, cells, kSplitOnly);
            for (const size_t n_cells : {1, 33, 64, 65, 300})
                EXPECT_LE(nmse(flash.values(n_cells), split.values(n_cells)), kAttentionBar);
        }
}

// Keys that grow with their cell: the largest score is the last one, in a step that is not whole,
// and every step before it has another maximum.
TEST(MetalDecode, gqa_attn_isolation) {
    const auto geometry = Geometry{4, 2, 64, 300};
    const size_t width = 2 * 64;
    auto k = random_floats(geometry.n_ctx * width, 31);
    for (size_t i = 0; i < k.size(); ++i) k[i] *= 1 + static_cast<float>(i / width) / 32;
    for (const auto& options : {kClassicAttention, kSplitOnly, AttentionOptions(), kShared}) {
        auto decoder = Decoder(geometry, CellType::F32, options, k);
        for (const size_t n_cells : {1, 31, 33, 47, 65, 129, 299})
            expect_reference(decoder, n_cells);
    }
}

TEST(MetalDecode, EveryGroupOfQueryHeadsSharesLoadsOrNot) {
    for (const size_t group : {1, 2, 3, 5, 7, 8})
        for (const size_t head_dim : {64, 112, 256}) {
            SCOPED_TRACE(fmt::format("{} heads of {}", group, head_dim));
            const auto geometry = Geometry{2 * group, 2, head_dim, 300};
            auto alone = Decoder(geometry, CellType::F32, {});
            auto shared = Decoder(geometry, CellType::F32, kShared);
            for (const size_t n_cells : {1, 33, 300}) {
                expect_reference(alone, n_cells);
                expect_reference(shared, n_cells);
                EXPECT_LE(nmse(shared.values(n_cells), alone.values(n_cells)), kAttentionBar);
            }
            auto split = Decoder(geometry, CellType::F32, kSplitOnly);
            expect_reference(split, 65);
        }
    for (const auto cells : metal::kCellTypes)
        for (const size_t group : {2, 7}) {
            auto shared = Decoder(decoded(group, 128), cells, kShared);
            expect_reference(shared, 300);
            EXPECT_THAT(shared.labels()[0], HasSubstr(group == 2 ? "_x2_" : "_x4_"));
        }
}

// More chunks than steps leave some without a cell, fewer give some several steps.
TEST(MetalDecode, ChunksOfAnyNumberGiveTheSameWithinRounding) {
    for (const auto& options : {AttentionOptions(), kShared, kSplitOnly}) {
        auto one = Decoder(decoded(5), CellType::F32, in_chunks(options, 1));
        for (const uint32_t chunks : {2, 3, 7, 16, 33, 128}) {
            auto decoder = Decoder(decoded(5), CellType::F32, in_chunks(options, chunks));
            for (const size_t n_cells : {1, 64, 97, 300}) {
                expect_reference(decoder, n_cells);
                EXPECT_LE(nmse(decoder.values(n_cells), one.values(n_cells)), kAttentionBar)
                    << chunks << " chunks of " << n_cells;
            }
        }
    }
}

TEST(MetalDecode, EveryRunHasTheSameBits) {
    SoftwareMetal device;
    for (const auto& options : {AttentionOptions(), kShared, kSplitOnly}) {
        auto decoder = Decoder(decoded(7), CellType::F16, options);
        const auto first = decoder.values(300);
        for (const uint64_t order : {0, 1, 2}) {
            device.set_order_seed(order);
            EXPECT_EQ(decoder.values(300), first);
        }
        device.set_order_seed(0);
    }
}

TEST(MetalDecode, ScoresOfAnySizeStayFiniteAndExact) {
    for (const auto& options : {AttentionOptions(), kShared, kSplitOnly}) {
        auto decoder = Decoder(decoded(), CellType::F32, options);
        for (auto& value : decoder.q) value *= 1e4f;
        expect_reference(decoder, 300);
    }
}

// Cells past the token's own may hold anything.
TEST(MetalDecode, ReadsNoCellPastTheToken) {
    for (const auto& options : {AttentionOptions(), kShared, kSplitOnly}) {
        auto k = random_floats(300 * 64, 21);
        auto clean = Decoder(decoded(), CellType::F32, options, k);
        std::fill(k.begin() + ptrdiff_t{70} * 64, k.end(), NAN);
        auto dirty = Decoder(decoded(), CellType::F32, options, k);
        EXPECT_EQ(dirty.values(70), clean.values(70));
        // And none past the region's end, which a device that checks bounds reports.
        auto exact = Decoder(decoded(2, 64, 70), CellType::F32, options, {}, Placement::Exact);
        expect_reference(exact, 70);
    }
}

TEST(MetalDecode, AScoreThatIsNoNumberShowsInItsHeadAndNoOther) {
    const auto is_nan = [](float x) { return std::isnan(x); };
    for (const auto& options : {AttentionOptions(), kShared, kSplitOnly, kClassicAttention})
        for (const size_t n_cells : {1, 40, 300}) {
            auto decoder = Decoder(decoded(3), CellType::F32, options);
            const auto clean = decoder.values(n_cells);
            decoder.q[64 + 7] = NAN;
            const auto got = decoder.values(n_cells);
            const auto head = std::span(got).subspan(64, 64);
            EXPECT_TRUE(std::ranges::all_of(head, is_nan)) << n_cells;
            for (const size_t i : {0, 63, 128, 191}) EXPECT_EQ(got[i], clean[i]);
        }
    // One key of the last step: every head sees it.
    auto k = random_floats(300 * 64, 21);
    k[64 * 298 + 3] = NAN;
    for (const auto& options : {AttentionOptions(), kShared, kSplitOnly, kClassicAttention}) {
        auto decoder = Decoder(decoded(3), CellType::F32, options, k);
        EXPECT_TRUE(std::ranges::all_of(decoder.values(300), is_nan));
        EXPECT_TRUE(std::ranges::none_of(decoder.values(298), is_nan));
    }
}

TEST(MetalDecode, NumbersOfChunksThatNoKernelCombinesAreRefused) {
    for (const uint32_t chunks : {0, 129}) {
        const auto backend = make_metal_backend({.attention = {.chunks = chunks}});
        ASSERT_FALSE(backend);
        EXPECT_EQ(backend.error().fault, Fault::BadInput);
        EXPECT_THAT(backend.error().what,
                    HasSubstr(fmt::format("{} chunks of one token's cells; 1 to 128", chunks)));
    }
    EXPECT_TRUE(make_metal_backend({.attention = {.chunks = 1}}));
    EXPECT_TRUE(make_metal_backend({.attention = {.chunks = 128}}));
}

}  // namespace
}  // namespace minfer::test

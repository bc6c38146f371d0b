#include "backend/metal/attention_route.h"

#include <gtest/gtest.h>

namespace minfer::test {
namespace {

using metal::AttentionFamily;
using metal::AttentionRoute;
using metal::AttentionShape;
using metal::CellType;
using enum metal::AttentionFamily;

constexpr size_t kCommon[] = {64, 128}, kExtra[] = {80, 96, 112, 256}, kOther[] = {4, 20, 32, 132};

AttentionShape shape(CellType cells, size_t head_dim, size_t n_tokens, bool explicit_span = false) {
    return {.n_tokens = n_tokens,
            .n_head = 4,
            .n_head_kv = 2,
            .head_dim = head_dim,
            .n_ctx = 100,
            .cells = cells,
            .explicit_span = explicit_span};
}

// Every setting of the switches that choose a family.
std::vector<AttentionOptions> all_options() {
    auto all = std::vector<AttentionOptions>();
    for (unsigned bits = 0; bits < 128; ++bits)
        all.push_back({.flash = (bits & 1) != 0,
                       .split = (bits & 2) != 0,
                       .prefill_flash = (bits & 4) != 0,
                       .three_pass = (bits & 8) != 0,
                       .window_flash = (bits & 16) != 0,
                       .stage_packed = (bits & 32) != 0,
                       .any_head_size = (bits & 64) != 0});
    return all;
}

void expect_route(const AttentionShape& shape, const AttentionOptions& options,
                  AttentionRoute want) {
    const auto got = metal::attention_route(shape, options);
    EXPECT_EQ(got, want) << name(shape.cells) << ", heads of " << shape.head_dim << ", "
                         << shape.n_tokens << " tokens, explicit " << shape.explicit_span
                         << ": family " << std::to_underlying(got.family);
}

// Metal-backend 14.2 line by line.
TEST(MetalAttentionRoute, packed_route_covers_the_matrix) {
    for (const auto cells : {CellType::Q8_0, CellType::Q8_0Split})
        for (const auto& options : all_options()) {
            const auto expect = [&](size_t head_dim, bool has_kernels) {
                const auto or_classic = [&](bool on, AttentionRoute route) {
                    return has_kernels && on ? route : AttentionRoute{Classic};
                };
                const auto at = [&](size_t n_tokens, bool is_explicit) {
                    return shape(cells, head_dim, n_tokens, is_explicit);
                };
                expect_route(at(1, true), options, {Classic});
                expect_route(at(1, false), options,
                             or_classic(options.flash, {DecodeFlash, options.stage_packed}));
                for (const size_t n_tokens : {2, 9}) {
                    expect_route(at(n_tokens, true), options,
                                 or_classic(options.window_flash, {WindowFlash, true}));
                    expect_route(at(n_tokens, false), options,
                                 or_classic(options.prefill_flash, {PrefillFlash, true}));
                }
            };
            for (const auto head_dim : kCommon) expect(head_dim, true);
            for (const auto head_dim : kExtra) expect(head_dim, options.any_head_size);
            for (const auto head_dim : kOther) expect(head_dim, false);
        }
}

// 12.2, 12.3 and 13.2; the older families have kernels for the common sizes alone, and the one of
// three passes reads cells of floats.
TEST(MetalAttentionRoute, TheUnpackedMatrixFollowsTheOrderOfPreference) {
    for (const auto cells : {CellType::F32, CellType::F16})
        for (const auto& options : all_options()) {
            const auto expect = [&](size_t head_dim, bool has_tiles, bool is_common) {
                const auto at = [&](size_t n_tokens, bool is_explicit) {
                    return shape(cells, head_dim, n_tokens, is_explicit);
                };
                const auto older = [&](bool on, AttentionFamily family) {
                    return is_common && on ? family : Classic;
                };
                expect_route(at(1, true), options, {Classic});
                expect_route(
                    at(1, false), options,
                    {has_tiles && options.flash ? DecodeFlash : older(options.split, DecodeSplit)});
                const bool three = options.three_pass && cells == CellType::F32;
                for (const size_t n_tokens : {2, 9}) {
                    expect_route(at(n_tokens, true), options,
                                 {has_tiles && options.window_flash ? WindowFlash : Classic});
                    expect_route(at(n_tokens, false), options,
                                 {has_tiles && options.prefill_flash ? PrefillFlash
                                                                     : older(three, ThreePass)});
                }
            };
            for (const auto head_dim : kCommon) expect(head_dim, true, true);
            for (const auto head_dim : kExtra) expect(head_dim, options.any_head_size, false);
            for (const auto head_dim : kOther) expect(head_dim, false, false);
        }
}

}  // namespace
}  // namespace minfer::test

#pragma once
// What sequences promise on every backend: checks that take a way to make engines.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "runtime/engine.h"
#include "support/kv_cells.h"
#include "support/nmse.h"

namespace minfer::test {

using MakeEngine = std::function<std::unique_ptr<Engine>()>;

inline std::vector<TokenId> numbered_tokens(size_t count, size_t seed = 11) {
    std::vector<TokenId> tokens;
    for (size_t i = 0; i < count; ++i)
        tokens.push_back(static_cast<TokenId>((i * 37 + seed) % 250));
    return tokens;
}

inline std::vector<float> answer(Engine& engine, SeqId seq, std::span<const TokenId> tokens) {
    const auto logits = engine.evaluate(seq, tokens);
    EXPECT_TRUE(logits) << logits.error().what;
    return logits ? std::vector(logits->begin(), logits->end()) : std::vector<float>();
}

// Positions [0, n) of a layer's K or V as f32.
inline std::vector<float> rows(Engine& engine, size_t layer, KvCache::Part part, SeqId seq,
                               size_t n) {
    auto& cache = engine.cache();
    std::vector<float> values;
    for (const auto& run : cache.store().runs(seq, n)) {
        std::vector<std::byte> cells(run.rows * cache.layout().row_bytes);
        EXPECT_TRUE(cache.read(layer, part, run.cell, cells));
        const auto some = decoded_cells(cache.layout(), cells);
        values.insert(values.end(), some.begin(), some.end());
    }
    return values;
}

constexpr double shifted_keys_bar(KvFormat format) {
    return format == KvFormat::F32 ? 1e-11 : format == KvFormat::F16 ? 5e-7 : 2e-4;
}

// The first block's keys depend on token and position alone: after a removal they are those of a
// sequence that never had the removed tokens, within the class of a second rotation; its values are
// those bit for bit.
inline void expect_removal_within_its_class(const MakeEngine& make) {
    for (const size_t first : {size_t{0}, size_t{5}}) {
        const auto engine = make(), fresh = make();
        const auto format = engine->kv_format();
        auto tokens = numbered_tokens(90);
        answer(*engine, kMainSequence, tokens);
        ASSERT_TRUE(engine->cache().remove(kMainSequence, first, 33));
        tokens.erase(tokens.begin() + static_cast<ptrdiff_t>(first),
                     tokens.begin() + static_cast<ptrdiff_t>(first) + 33);
        EXPECT_EQ(engine->n_past(), 57u);
        EXPECT_EQ(engine->cache().tokens().at(kMainSequence).ids, tokens);
        EXPECT_EQ(engine->cache().tokens().at(kMainSequence).exact, first);
        answer(*fresh, kMainSequence, tokens);
        const auto of = [&](Engine& each, KvCache::Part part) {
            return rows(each, 0, part, kMainSequence, 57);
        };
        const auto got = of(*engine, KvCache::Part::Keys), want = of(*fresh, KvCache::Part::Keys);
        EXPECT_LE(nmse(got, want), shifted_keys_bar(format)) << name(format);
        EXPECT_GT(nmse(got, want), 0) << "nothing was turned";
        EXPECT_EQ(of(*engine, KvCache::Part::Values), of(*fresh, KvCache::Part::Values));
    }
}

// `bar`: NMSE of what is answered after cells moved; 0 for equal bits.
inline void expect_compaction_keeps_the_continuation(const MakeEngine& make, double bar) {
    const auto moved = make(), still = make();
    const auto first = SeqId{1}, second = SeqId{2}, third = SeqId{3};
    for (auto* const engine : {moved.get(), still.get()}) {
        for (const auto seq : {first, second, third}) ASSERT_TRUE(engine->cache().reserve(seq, 40));
        answer(*engine, first, numbered_tokens(25));
        answer(*engine, second, numbered_tokens(30, 5));
        ASSERT_TRUE(engine->cache().share_prefix(second, third, 17));
        answer(*engine, third, numbered_tokens(6, 9));
    }
    moved->cache().release(first);
    ASSERT_TRUE(moved->cache().compact());
    EXPECT_EQ(moved->cache().store().cell(second, 0), 0u);
    EXPECT_GT(moved->cache().store().counters().cells_moved, 0u);
    for (const auto seq : {second, third})
        for (size_t layer = 0; layer < moved->cache().n_layer(); ++layer)
            for (const auto part : {KvCache::Part::Keys, KvCache::Part::Values})
                EXPECT_EQ(rows(*moved, layer, part, seq, 23), rows(*still, layer, part, seq, 23));
    for (const auto seq : {second, third})
        for (size_t i = 0; i < 5; ++i) {
            const auto token = numbered_tokens(1, i);
            const auto got = answer(*moved, seq, token), want = answer(*still, seq, token);
            EXPECT_LE(nmse(got, want), bar) << "step " << i;
        }
}

}  // namespace minfer::test

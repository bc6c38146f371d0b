// Sequences of an engine on the CPU: what moves, is removed or refused, and what it leaves alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/cpu/cpu_backend.h"
#include "support/sequence_checks.h"
#include "support/small_model.h"

namespace minfer::test {
namespace {

struct SequencesOf : testing::TestWithParam<KvFormat> {
    std::unique_ptr<Engine> make() {
        auto engine = Engine::create(model.model, {backend.get()},
                                     {.n_ctx = 160, .n_ubatch = 32, .kv_format = GetParam()});
        MINFER_ASSERT(engine);
        return *std::move(engine);
    }
    TinyModel model{small_model_bytes()};
    std::unique_ptr<CpuBackend> backend = make_cpu_backend({.threads = 1});
};

// With f32 and q8_0 as controls on one fixture.
TEST_P(SequencesOf, an_f16_region_shifts_within_its_class) {
    expect_removal_within_its_class([&] { return make(); });
}

TEST_P(SequencesOf, a_compaction_between_steps_keeps_the_continuation) {
    expect_compaction_keeps_the_continuation([&] { return make(); }, 0);
}

INSTANTIATE_TEST_SUITE_P(Formats, SequencesOf, testing::ValuesIn(kKvFormats),
                         [](const auto& info) { return std::string(name(info.param)); });

struct Refusals : testing::Test {
    TinyModel model{small_model_bytes()};
    std::unique_ptr<CpuBackend> backend = make_cpu_backend({.threads = 1});
    std::unique_ptr<Engine> engine = [&] {
        auto made = Engine::create(model.model, {backend.get()}, {.n_ctx = 32, .n_ubatch = 8});
        MINFER_ASSERT(made);
        return *std::move(made);
    }();
    std::vector<TokenId> tokens = numbered_tokens(40);

    std::span<const TokenId> some(size_t n) { return std::span(tokens).first(n); }
    void expect(const auto& result, std::string_view text) {
        ASSERT_FALSE(result) << text;
        EXPECT_THAT(result.error().what, testing::HasSubstr(text));
        EXPECT_EQ(engine->cache().store(), before);
    }
    KvStore before{0};
};

TEST_F(Refusals, StepsNameTheSequenceAndTheNumbers) {
    ASSERT_TRUE(engine->cache().reserve(SeqId{1}, 6));
    ASSERT_TRUE(engine->cache().reserve(SeqId{2}, 20));
    ASSERT_TRUE(engine->evaluate(SeqId{1}, some(4)));
    before = engine->cache().store();
    using Parts = std::vector<BatchPart>;
    expect(engine->step({}), "a step of no sequences");
    expect(engine->step(Parts{{SeqId{1}, some(1)}, {SeqId{2}, {}}}), "no tokens for sequence 2");
    expect(engine->step(Parts{{SeqId{1}, some(1)}, {SeqId{1}, some(1)}}),
           "sequence 1 twice in a step");
    expect(engine->step(Parts{{SeqId{7}, some(1)}}), "sequence 7 has no cells reserved");
    expect(engine->step(Parts{{SeqId{2}, some(1)}, {SeqId{1}, some(3)}}),
           "sequence 1: 3 tokens after the 4 already evaluated do not fit its room for 6");
    expect(engine->step(Parts{{SeqId{2}, some(9)}}), "9 tokens in a step, at most 8 are allowed");
    const auto bad = static_cast<TokenId>(400);
    expect(engine->step(Parts{{SeqId{1}, some(1)}, {SeqId{2}, std::span(&bad, 1)}}),
           "token id 400, allowed are ids below 384");
    EXPECT_TRUE(engine->step(Parts{{SeqId{1}, some(2)}, {SeqId{2}, some(6)}}));
}

TEST_F(Refusals, ChangesOfTheCacheNameWhatWasThereAndWhatWasWanted) {
    auto& cache = engine->cache();
    ASSERT_TRUE(cache.reserve(SeqId{1}, 10));
    ASSERT_TRUE(cache.reserve(SeqId{2}, 12));
    ASSERT_TRUE(engine->evaluate(SeqId{1}, some(8)));
    before = cache.store();
    expect(cache.reserve(SeqId{3}, 0), "room for 0 positions");
    expect(cache.reserve(SeqId{1}, 11), "sequence 1 has room for 10 positions, 11 are wanted");
    expect(cache.reserve(SeqId{3}, 11), "no 11 cells in a row are free; 10 of 32 are free");
    expect(engine->evaluate(some(1)), "no 32 cells in a row are free");
    expect(cache.truncate(SeqId{1}, 9), "sequence 1 has 8 positions, cannot be cut to 9");
    expect(cache.set_capacity(SeqId{1}, 7), "at least 8 are allowed");
    expect(cache.set_capacity(SeqId{1}, 21), "takes 21 cells, 20 of 32 are not taken by others");
    expect(cache.share_prefix(SeqId{1}, SeqId{1}, 2), "cannot take its prefix from itself");
    expect(cache.share_prefix(SeqId{1}, SeqId{2}, 0), "a prefix of 0 positions");
    expect(cache.share_prefix(SeqId{1}, SeqId{2}, 9), "a prefix of 9 positions of sequence 1");
    expect(cache.copy_prefix(SeqId{2}, SeqId{1}, 1), "a prefix of 1 positions of sequence 2");
    expect(cache.share_prefix(SeqId{1}, SeqId{9}, 1), "sequence 9 has no cells reserved");
    expect(cache.remove(SeqId{1}, 4, 5), "positions [4, 4 + 5) of sequence 1, which has 8");
    ASSERT_TRUE(cache.share_prefix(SeqId{1}, SeqId{2}, 5));
    before = cache.store();
    expect(cache.share_prefix(SeqId{1}, SeqId{2}, 5), "sequence 2 has 5 positions and cannot take");
}

// The reader goes on in its own cells while the donor is cut, written again and released.
TEST_F(Refusals, ADonorMayChangeWhileOthersReadItsPrefix) {
    const auto donor = SeqId{1}, reader = SeqId{2};
    ASSERT_TRUE(engine->cache().reserve(donor, 12));
    ASSERT_TRUE(engine->cache().reserve(reader, 8));
    answer(*engine, donor, some(8));
    ASSERT_TRUE(engine->cache().share_prefix(donor, reader, 6));
    ASSERT_TRUE(engine->cache().truncate(donor, 3));
    answer(*engine, donor, numbered_tokens(4, 99));
    engine->cache().release(donor);
    ASSERT_TRUE(engine->cache().reserve(SeqId{3}, 12));
    answer(*engine, SeqId{3}, numbered_tokens(8, 77));
    ASSERT_TRUE(engine->cache().compact());
    const auto got = answer(*engine, reader, some(2));
    for (const auto seq : {reader, SeqId{3}}) engine->cache().release(seq);
    auto whole = std::vector<TokenId>(tokens.begin(), tokens.begin() + 6);
    whole.insert(whole.end(), tokens.begin(), tokens.begin() + 2);
    EXPECT_EQ(got, answer(*engine, kMainSequence, whole));
}

// What was removed from a shared prefix is copied first: the other reader keeps its rows.
TEST_F(Refusals, RemovingFromASharedPrefixCopiesOnWrite) {
    auto& cache = engine->cache();
    ASSERT_TRUE(cache.reserve(SeqId{1}, 10));
    ASSERT_TRUE(cache.reserve(SeqId{2}, 12));
    answer(*engine, SeqId{1}, some(8));
    ASSERT_TRUE(cache.share_prefix(SeqId{1}, SeqId{2}, 8));
    const auto keys = rows(*engine, 0, KvCache::Part::Keys, SeqId{1}, 8);
    ASSERT_TRUE(cache.remove(SeqId{2}, 2, 3));
    EXPECT_EQ(cache.store().counters().copies_on_write, 1u);
    EXPECT_EQ(cache.store().counters().rows_copied_on_write, 3u);
    EXPECT_EQ(rows(*engine, 0, KvCache::Part::Keys, SeqId{1}, 8), keys);
    EXPECT_EQ(engine->n_past(SeqId{2}), 5u);
}

}  // namespace
}  // namespace minfer::test

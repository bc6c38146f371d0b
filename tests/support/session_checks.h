#pragma once
// What a session promises on every backend: checks that take two ways to make engines, one for the
// run that saves and one for the run that loads.

#include "runtime/session_file.h"
#include "support/sequence_checks.h"
#include "support/session_bytes.h"

namespace minfer::test {

// Logits of what follows: single tokens of three sequences, several sequences in one graph, a
// prompt.
inline std::vector<std::vector<float>> continuation(Engine& engine) {
    std::vector<std::vector<float>> all;
    for (size_t i = 0; i < 3; ++i)
        for (const uint32_t seq : {2, 3, 4})
            all.push_back(answer(engine, SeqId{seq}, numbered_tokens(1, 7 * i + seq)));
    const auto two = numbered_tokens(1, 100), three = numbered_tokens(2, 101);
    const BatchPart parts[] = {{.seq = SeqId{2}, .tokens = two},
                               {.seq = SeqId{3}, .tokens = three}};
    const auto step = engine.step(parts);
    EXPECT_TRUE(step) << step.error().what;
    if (step) all.emplace_back(step->begin(), step->end());
    all.push_back(answer(engine, SeqId{4}, numbered_tokens(12, 200)));
    return all;
}

// Of two that share what a third one left, and one that had to be compacted down to them.
inline void evaluate_some(Engine& engine) {
    auto& cache = engine.cache();
    for (const uint32_t seq : {1, 2, 3, 4}) ASSERT_TRUE(cache.reserve(SeqId{seq}, 40));
    answer(engine, SeqId{1}, numbered_tokens(30, 5));
    for (const uint32_t seq : {2, 3}) {
        ASSERT_TRUE(cache.share_prefix(SeqId{1}, SeqId{seq}, 11 + seq));
        answer(engine, SeqId{seq}, numbered_tokens(6, seq));
    }
    answer(engine, SeqId{4}, numbered_tokens(9, 40));
    ASSERT_TRUE(cache.set_capacity(SeqId{3}, 35));
    cache.release(SeqId{1});
    ASSERT_TRUE(cache.compact());
}

inline std::vector<std::vector<std::byte>> all_cells(Engine& engine) {
    std::vector<std::vector<std::byte>> all;
    auto& cache = engine.cache();
    for (const auto& run : readable_cells(cache.store()))
        for (size_t layer = 0; layer < cache.n_layer(); ++layer)
            for (const auto part : {KvCache::Part::Keys, KvCache::Part::Values}) {
                all.emplace_back(run.rows * cache.layout().row_bytes);
                EXPECT_TRUE(cache.read(layer, part, run.cell, all.back()));
            }
    return all;
}

// The loading run goes on where the saving one was, over the same cells, and nothing is evaluated
// for it. `bar`: NMSE of the logits that follow; 0 for equal bits.
inline void expect_session_continues(const MakeEngine& make_saved, const MakeEngine& make_loaded,
                                     double bar) {
    const TempDir dir;
    const auto path = dir.path() / "session";
    const auto saved = make_saved(), loaded = make_loaded();
    evaluate_some(*saved);
    const auto shape = session_shape(saved->model(), saved->cache());
    const auto done = save_session(path, saved->cache(), shape, {});
    ASSERT_TRUE(done) << done.error().what;

    answer(*loaded, kMainSequence, numbered_tokens(20, 9));  // of no interest any more
    const auto nodes = loaded->counters().nodes_run;
    const auto session = SavedSession::open(path, session_shape(loaded->model(), loaded->cache()));
    ASSERT_TRUE(session) << session.error().what;
    const auto in_place = session->load_into(loaded->cache());
    ASSERT_TRUE(in_place) << in_place.error().what;
    EXPECT_EQ(loaded->counters().nodes_run, nodes) << "something was evaluated";

    EXPECT_TRUE(loaded->cache().store() == saved->cache().store());
    EXPECT_EQ(loaded->cache().tokens(), saved->cache().tokens());
    EXPECT_EQ(all_cells(*loaded), all_cells(*saved));
    const auto got = continuation(*loaded), want = continuation(*saved);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
        if (bar == 0) EXPECT_EQ(got[i], want[i]) << "step " << i;
        EXPECT_LE(nmse(got[i], want[i]), bar) << "step " << i;
    }
}

}  // namespace minfer::test

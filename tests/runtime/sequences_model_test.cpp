// An engine's sequences under random operations against engines of one sequence each.
#include <gtest/gtest.h>

#include "backend/cpu/cpu_backend.h"
#include "support/sequence_world.h"
#include "support/small_model.h"

namespace minfer::test {
namespace {

struct Sequences : testing::TestWithParam<KvFormat> {};

TEST_P(Sequences, RandomOperationsChangeNoBitOfWhatEachOneAnswers) {
    const auto model = TinyModel(small_model_bytes());
    const auto backend = make_cpu_backend({.threads = 1});
    constexpr size_t kSeeds = MINFER_SEQUENCE_SEEDS, kOps = MINFER_SEQUENCE_OPS;
    std::array<size_t, KvOp::kCount> done{};
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
        const auto make = [&] {
            auto engine = Engine::create(model.model, {backend.get()},
                                         {.n_ctx = 128, .n_ubatch = 16, .kv_format = GetParam()});
            MINFER_ASSERT(engine);
            return *std::move(engine);
        };
        const auto run = [&](const KvScript& script) {
            auto world = SequenceWorld(make, 0);
            for (const auto& op : script)
                if (const auto what = world.run(op); !what.empty()) return what;
            for (size_t kind = 0; kind < KvOp::kCount; ++kind) done[kind] += world.done()[kind];
            return std::string();
        };
        const auto script = random_script(seed, kOps, 6, 64, 8);
        const auto what = run(script);
        ASSERT_EQ(what, "") << "seed " << seed << ", cut down to\n"
                            << describe(shrink(script, [&](const KvScript& shorter) {
                                   return !run(shorter).empty();
                               }));
    }
    for (size_t kind = 0; kind < KvOp::kCount; ++kind)
        EXPECT_GT(done[kind], kSeeds * kOps / 500)
            << "operations of kind " << kind << " were refused";
}

INSTANTIATE_TEST_SUITE_P(Formats, Sequences,
                         testing::Values(KvFormat::F32, KvFormat::F16, KvFormat::Q8_0),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace minfer::test

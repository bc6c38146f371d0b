// The same random operations on the software Metal device, every access checked. Cells that lie
// elsewhere and windows that are written out take other kernels than a sequence alone does, which
// add up in another order.
#include <gtest/gtest.h>

#include <Metal/Metal.hpp>

#include "backend/cpu/cpu_backend.h"
#include "backend/metal/metal_backend.h"
#include "runtime/scheduler.h"
#include "softmetal/control.h"
#include "support/sequence_checks.h"
#include "support/sequence_world.h"
#include "support/small_model.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

struct MetalSequences : testing::TestWithParam<KvFormat> {
    MetalSequences() {
        softmetal::set_checks(device.get(), softmetal::Checks::All);
        auto made = make_metal_backend({});
        MINFER_ASSERT(made);
        metal = *std::move(made);
    }
    std::unique_ptr<Engine> make(size_t n_ctx) {
        auto engine = Engine::create(model.model, {metal.get(), cpu.get()},
                                     {.n_ctx = n_ctx, .n_ubatch = 16, .kv_format = GetParam()});
        MINFER_ASSERT(engine && (*engine)->offload().on_device());
        return *std::move(engine);
    }

    TinyModel model{small_model_bytes()};
    std::unique_ptr<CpuBackend> cpu =
        make_cpu_backend({.threads = 1, .activations = CpuActivations::F32});
    // The system's device is one object while somebody holds it: the backend's as well.
    NS::SharedPtr<MTL::Device> device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
    std::unique_ptr<MetalBackend> metal;
};

// With f32 and q8_0 as controls on one fixture.
TEST_P(MetalSequences, an_f16_region_shifts_within_its_class) {
    expect_removal_within_its_class([&] { return make(160); });
}

// A sequence that comes to lie at cell 0 takes the causal kernels, which add up in another order.
TEST_P(MetalSequences, a_compaction_between_steps_keeps_the_continuation) {
    expect_compaction_keeps_the_continuation([&] { return make(160); }, kLogitsExactBar);
}

// A move that fails costs the sequences whose rows it was to write over, which the error names;
// the others go on.
TEST_P(MetalSequences, AFailedMoveCostsOnlyTheSequencesItTouches) {
    const auto engine = make(96);
    auto& cache = engine->cache();
    for (const uint32_t seq : {1, 2, 3}) {
        ASSERT_TRUE(cache.reserve(SeqId{seq}, 20));
        answer(*engine, SeqId{seq}, numbered_tokens(6 + 4 * seq, seq));
    }
    cache.release(SeqId{2});
    ASSERT_TRUE(cache.reserve(SeqId{4}, 12));
    answer(*engine, SeqId{4}, numbered_tokens(5, 4));
    // Sequence 3 goes down from cell 40 to 32 and so over its own rows.
    softmetal::fail_next_command_buffer(device.get(), MTL::CommandBufferErrorInternal);
    const auto failed = cache.compact();
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().fault, Fault::Device);
    EXPECT_THAT(failed.error().what, testing::EndsWith("; lost are the sequences 3"));
    EXPECT_EQ(cache.store().find(SeqId{3}), nullptr);
    const auto fresh = make(96);
    for (const uint32_t seq : {1, 4}) {
        ASSERT_TRUE(fresh->cache().reserve(SeqId{seq}, 20));
        answer(*fresh, SeqId{seq}, numbered_tokens(seq == 4 ? 5 : 10, seq));
        EXPECT_LE(nmse(answer(*engine, SeqId{seq}, numbered_tokens(2)),
                       answer(*fresh, SeqId{seq}, numbered_tokens(2))),
                  same_cells_bar(GetParam()));
    }
    EXPECT_TRUE(cache.compact());
}

// A device failure ends the requests in the failed graph, and the others as well as later ones go
// on.
TEST_P(MetalSequences, AFailedStepEndsOnlyTheRequestsInIt) {
    const auto engine = make(160);
    const auto tokens = numbered_tokens(12);
    std::map<int, std::vector<TokenId>> answers;
    std::map<int, std::optional<Result<RequestResult>>> results;
    const auto ask = [&](Scheduler& scheduler, int name) {
        ASSERT_TRUE(scheduler.submit(
            {.prompt = std::vector(tokens.begin(), tokens.begin() + 4 + name % 8),
             .max_tokens = 4,
             .next = [&answers, name](auto logits) -> Result<std::optional<TokenId>> {
                 const auto best = std::ranges::max_element(logits) - logits.begin();
                 answers[name].push_back(static_cast<TokenId>(best));
                 return answers[name].back();
             },
             .done = [&results, name](const auto& result) { results[name] = result; }}));
    };
    for (const bool batch : {false, true}) {
        answers.clear();
        results.clear();
        auto scheduler = Scheduler(*engine, {.n_slots = 3, .batch = batch, .reuse = false});
        for (const int name : {0, 1, 2}) ask(scheduler, name);
        scheduler.step();
        softmetal::fail_next_command_buffer(device.get(), MTL::CommandBufferErrorInternal);
        scheduler.step();
        const auto failed =
            std::ranges::count_if(results, [](const auto& each) { return !*each.second; });
        EXPECT_EQ(failed, batch ? 3 : 1);
        for (const auto& [name, result] : results) EXPECT_EQ(result->error().fault, Fault::Device);
        ask(scheduler, 10);
        ask(scheduler, 8);  // the prompt of request 0
        while (scheduler.step());
        for (const auto& [name, result] : results) {
            if (*result) EXPECT_EQ(answers[name].size(), 4u) << name;
        }
        EXPECT_TRUE(*results[10] && *results[8]);
        if (*results[0]) EXPECT_EQ(answers[0], answers[8]);
    }
}

TEST_P(MetalSequences, RandomOperationsKeepWhatEachOneAnswers) {
    const auto run = [&](const KvScript& script, SequenceWorld& world) {
        for (const auto& op : script)
            if (const auto what = world.run(op); !what.empty()) return what;
        return std::string();
    };
    const auto script = random_script(1, 300, 4, 48, 8);
    auto world = SequenceWorld([&] { return make(96); }, same_cells_bar(GetParam()));
    const auto what = run(script, world);
    ASSERT_EQ(what, "") << "cut down to\n"
                        << describe(shrink(script, [&](const KvScript& shorter) {
                               auto again = SequenceWorld([&] { return make(96); },
                                                          same_cells_bar(GetParam()));
                               return !run(shorter, again).empty();
                           }));
    EXPECT_GT(world.done()[KvOp::Append], 20u);
    EXPECT_GT(world.done()[KvOp::Share], 0u);
    RecordProperty("worst_nmse", fmt::format("{:.3g}", world.worst_nmse()));
}

INSTANTIATE_TEST_SUITE_P(Formats, MetalSequences,
                         testing::Values(KvFormat::F32, KvFormat::F16, KvFormat::Q8_0),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace minfer::test

// Traces: statistics against plain loops, the file and back, hostile files, and where two differ.

#include "graph/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "graph/trace_compare.h"
#include "graph/trace_file.h"
#include "support/random_data.h"

namespace minfer {
namespace {

using test::random_floats;
using ::testing::HasSubstr;

template <class T>
TraceValue traced(const std::vector<T>& values) {
    return trace_value(7, std::is_same_v<T, int32_t> ? DType::I32 : DType::F32,
                       std::as_bytes(std::span(values)));
}

TEST(Trace, StatisticsAreThoseOfPlainLoops) {
    for (const size_t n : {1, 2, 63, 64, 65, 128, 129, 1000, 4097}) {
        const auto values = random_floats(n, static_cast<uint32_t>(n));
        double min = values[0], max = values[0], sum = 0, sum_abs = 0;
        for (const double value : values) {
            if (value < min) min = value;
            if (value > max) max = value;
            sum += value;
            sum_abs += value < 0 ? -value : value;
        }
        const auto got = traced(values);
        const auto count = static_cast<double>(n);
        EXPECT_EQ(got.stats.min, min);
        EXPECT_EQ(got.stats.max, max);
        EXPECT_EQ(got.stats.mean, sum / count);
        EXPECT_EQ(got.stats.mean_abs, sum_abs / count);
        EXPECT_EQ(got.stats.non_finite, 0u);
        EXPECT_EQ(got.n, n);
        const size_t stride = n <= 64 ? 1 : n % 64 == 0 ? n / 64 : n / 64 + 1;
        EXPECT_EQ(got.stride, stride);
        ASSERT_LE(got.values.size(), 64u);
        ASSERT_EQ(got.values.size(), n % stride == 0 ? n / stride : n / stride + 1);
        for (size_t i = 0; i < got.values.size(); ++i) {
            EXPECT_NEAR(got.values[i], values[i * stride], 0.5e-6 * (1 + 1e-9));
            const auto millionths = got.values[i] * 1e6;
            EXPECT_NEAR(millionths, std::nearbyint(millionths), 1e-6);
        }
    }
}

TEST(Trace, IntegersAreDecodedAndNonFiniteValuesCounted) {
    const auto ids = traced(std::vector<int32_t>{-3, 5, 2147483647});
    EXPECT_EQ(ids.values, (std::vector<double>{-3, 5, 2147483647}));
    EXPECT_EQ(ids.stats.min, -3);
    const auto inf = std::numeric_limits<float>::infinity();
    const auto odd = traced(std::vector<float>{NAN, 2, -inf, -4});
    EXPECT_EQ(odd.stats,
              (TraceStats{.min = -4, .max = 2, .mean = -1, .mean_abs = 3, .non_finite = 2}));
    EXPECT_EQ(traced(std::vector<float>{NAN}).stats, (TraceStats{.non_finite = 1}));
}

// Two steps, three nodes in each.
Trace example() {
    const auto graph =
        std::string(R"({"nodes":[{"id":0,"name":"token_ids","op":"Input","backend":"cpu"},)"
                    R"({"id":1,"name":"a","op":"Add","backend":"cpu"},)"
                    R"({"id":3,"name":"b","op":"Mul","backend":"metal"}]})");
    auto phase = TracePhase{.kind = "decode", .graph = graph};
    phase.nodes = {
        {0, "token_ids", "Input", "cpu"}, {1, "a", "Add", "cpu"}, {3, "b", "Mul", "metal"}};
    for (const int32_t token : {4, 9}) {
        auto step =
            TraceStep{.n_tokens = 1, .token = token, .top = {{9, 1.5, 0.75}, {2, 0.5, 0.25}}};
        auto ids = traced(std::vector<int32_t>{token});
        auto a = traced(std::vector<float>{1, -2, 0.001f, 4}), b = traced(random_floats(100, 3));
        ids.id = 0;
        a.id = 1;
        b.id = 3;
        step.values = {ids, a, b};
        phase.steps.push_back(step);
    }
    return {.model = "toy", .prompt = "once \xff", .phases = {phase}};
}

std::string text_of(int32_t token) { return fmt::format("<{}>", token); }

TEST(TraceFile, ReadsBackWhatWasWritten) {
    auto trace = example();
    trace.phases[0].steps[1].values[1] = traced(std::vector<float>{1, NAN, -INFINITY, 4});
    trace.phases[0].steps[1].values[1].id = 1;
    const auto text = trace_to_json(trace, text_of);
    const auto json = nlohmann::json::parse(text);
    EXPECT_EQ(json["phases"][0]["steps"][1]["text"], "<9>");
    EXPECT_EQ(json["phases"][0]["steps"][1]["logits_top"][1]["text"], "<2>");
    EXPECT_EQ(json["phases"][0]["steps"][1]["nodes"][1]["values"][2], "-inf");
    const auto back = trace_from_json(text);
    ASSERT_TRUE(back) << back.error().what;
    ASSERT_EQ(back->phases.size(), 1u);
    ASSERT_EQ(back->phases[0].steps.size(), 2u);
    EXPECT_EQ(back->phases[0].nodes[2].backend, "metal");
    for (size_t s = 0; s < 2; ++s)
        for (size_t v = 0; v < 3; ++v) {
            const auto& want = trace.phases[0].steps[s].values[v];
            const auto& got = back->phases[0].steps[s].values[v];
            EXPECT_EQ(got.id, want.id);
            EXPECT_EQ(got.stats, want.stats);
            EXPECT_EQ(got.n, want.n);
        }
    EXPECT_EQ(trace_to_json(*back, text_of), text);
}

TEST(TraceFile, EveryPrefixAndEveryMissingFieldIsRefusedInALine) {
    const auto text = trace_to_json(example(), text_of);
    for (size_t n = 0; n + 1 < text.size(); n += 7) {
        const auto part = trace_from_json(std::string_view(text).substr(0, n));
        ASSERT_FALSE(part) << n;
        EXPECT_EQ(part.error().what, "not JSON, or only a part of it");
    }
    for (const std::string field : {"format", "version", "model", "prompt", "phases", "kind",
                                    "graph", "steps", "token", "logits_top", "nodes", "id", "dtype",
                                    "stats", "values", "stride", "n", "min", "mean_abs"}) {
        auto damaged = text;
        for (size_t at = 0; (at = damaged.find('"' + field + "\":", at)) != std::string::npos; ++at)
            damaged[at + 1] = '_';
        const auto read = trace_from_json(damaged);
        ASSERT_FALSE(read) << field;
        EXPECT_THAT(read.error().what, HasSubstr(field));
        EXPECT_EQ(read.error().what.find('\n'), std::string::npos);
    }
}

TEST(TraceFile, OtherFormatsVersionsAndImpossibleNumbersAreRefusedByName) {
    const auto text = trace_to_json(example(), text_of);
    const auto with = [&](std::string_view old, std::string_view other) {
        auto changed = text;
        const auto at = changed.find(old);
        EXPECT_NE(at, std::string::npos) << old;
        changed.replace(at, old.size(), other);
        const auto read = trace_from_json(changed);
        return read ? std::string() : read.error().what;
    };
    EXPECT_EQ(with("toy", "boy"), "") << "the control";
    EXPECT_THAT(with("minfer-trace", "minfer-graph"), HasSubstr("not a trace"));
    EXPECT_THAT(with("\"version\":1", "\"version\":2"), HasSubstr("a trace of version 2"));
    EXPECT_THAT(with("\"stride\":1", "\"stride\":0"),
                HasSubstr("phases[0].steps[0].nodes[0].stride"));
    EXPECT_THAT(with("\"n\":4", "\"n\":5"), HasSubstr("values is not 5 long"));
    EXPECT_THAT(with("\"n\":4", "\"n\":-4"), HasSubstr("nodes[1].n is not"));
    EXPECT_THAT(with("\"n\":4", "\"n\":1e999"), HasSubstr("not JSON"));
    EXPECT_THAT(with("\"token\":4", "\"token\":99999999999"), HasSubstr("token is not"));
    EXPECT_THAT(with("[1.0,", "[\"one\","), HasSubstr("values[0] is not a number"));
    EXPECT_FALSE(trace_from_json("[]"));
    EXPECT_FALSE(trace_from_json(std::string(100000, '[')));
}

TEST(TraceCompare, NamesTheFirstNodeThatDiffersBeyondTheBound) {
    const auto a = example();
    auto b = a;
    auto same = compare_traces(a, b, 1e-3);
    ASSERT_TRUE(same) << same.error().what;
    EXPECT_TRUE(same->equal());
    EXPECT_EQ(same->n_equal, 6u);

    b.phases[0].nodes[1].op = "FusedAdd";
    b.phases[0].nodes[1].backend = "metal";
    b.phases[0].steps[1].values[1].values[2] += 0.01;  // of a mean magnitude of 1.75
    EXPECT_TRUE(compare_traces(a, b, 0.01)->equal());
    const auto found = compare_traces(a, b, 1e-3);
    ASSERT_TRUE(found);
    ASSERT_TRUE(found->first);
    EXPECT_EQ(found->n_equal, 4u);
    EXPECT_EQ(found->first->step, 1u);
    EXPECT_EQ(found->first->token, 9);
    EXPECT_EQ(found->first->node, "a");
    EXPECT_EQ(found->first->what, "value[2]");
    EXPECT_NEAR(found->first->relative, 0.01 / 1.75, 1e-5);
    EXPECT_EQ(found->first->a.backend, "cpu");
    EXPECT_EQ(found->first->b.backend, "metal");
    EXPECT_EQ(found->first->b.op, "FusedAdd");
}

TEST(TraceCompare, StatisticsNonFiniteValuesAndIntegersCount) {
    const auto a = example();
    const auto differs = [&](auto change) {
        auto b = a;
        change(b.phases[0].steps[0]);
        const auto found = compare_traces(a, b, 0.5);
        return found && found->first ? found->first->what : "";
    };
    EXPECT_EQ(differs([](TraceStep&) {}), "");
    EXPECT_EQ(differs([](TraceStep& s) { s.values[0].values[0] += 1; }), "value[0]");
    EXPECT_EQ(differs([](TraceStep& s) { s.values[1].values[0] = NAN; }), "value[0]");
    EXPECT_EQ(differs([](TraceStep& s) { s.values[2].stats.max = 100; }), "max")
        << "an outlier between the samples";
    EXPECT_EQ(differs([](TraceStep& s) { s.values[2].stats.non_finite = 1; }), "non_finite");
}

TEST(TraceCompare, MatchesByNameAndRefusesWhatCannotBeCompared) {
    const auto a = example();
    auto fused = a;
    fused.phases[0].nodes[2].name = "b_and_c";
    const auto partly = compare_traces(a, fused, 1e-3);
    ASSERT_TRUE(partly);
    EXPECT_TRUE(partly->equal());
    EXPECT_EQ(partly->only_a, 2u);
    EXPECT_EQ(partly->only_b, 2u);

    const auto refusal = [&](auto change) {
        auto b = a;
        change(b);
        const auto compared = compare_traces(a, b, 1e-3);
        return compared ? "" : compared.error().what;
    };
    EXPECT_THAT(refusal([](Trace& b) { b.model = "other"; }),
                HasSubstr("different models, 'toy' and 'other'"));
    EXPECT_THAT(refusal([](Trace& b) { b.prompt = "x"; }), HasSubstr("different prompts"));
    EXPECT_THAT(refusal([](Trace& b) { b.phases[0].steps[1].n_tokens = 3; }),
                HasSubstr("step 1 evaluates 1 tokens in the first, 3 in the second"));
    EXPECT_THAT(refusal([](Trace& b) {
                    b.phases[0].steps[0].values[1] = traced(std::vector<float>{1});
                    b.phases[0].steps[0].values[1].id = 1;
                }),
                HasSubstr("node 'a' is 4 values"));
    EXPECT_THAT(refusal([](Trace& b) { b.phases[0].steps[0].values[1].id = 55; }),
                HasSubstr("node 55"));
    EXPECT_THAT(refusal([](Trace& b) {
                    for (auto& node : b.phases[0].nodes) node.name += "_";
                }),
                HasSubstr("no node in common"));
    auto shorter = a;
    shorter.phases[0].steps.pop_back();
    const auto cut = compare_traces(a, shorter, 1e-3);
    ASSERT_TRUE(cut);
    EXPECT_FALSE(cut->first);
    EXPECT_FALSE(cut->equal());
}

}  // namespace
}  // namespace minfer

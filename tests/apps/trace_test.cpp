// minfer trace, and what a run says of itself.

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/program.h"

namespace minfer {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string content(const std::filesystem::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

struct TraceCommand : WithModel {
    std::string path(const std::string& name) const { return (dir.path() / name).string(); }
    Outcome record(const std::string& name, std::vector<std::string> more = {}) {
        auto args = std::vector<std::string>{"trace", model, "abc", "-n", "3", "-o", path(name)};
        args.insert(args.end(), more.begin(), more.end());
        auto outcome = minfer_says(std::move(args));
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return outcome;
    }
    Outcome compare(const std::string& a, const std::string& b,
                    std::vector<std::string> more = {}) {
        auto args = std::vector<std::string>{"trace", "--compare", path(a), path(b)};
        args.insert(args.end(), more.begin(), more.end());
        return minfer_says(std::move(args));
    }
};

TEST_F(TraceCommand, WritesEveryNodeOfTheGraphThatRan) {
    record("a.json");
    const auto trace = json::parse(content(path("a.json")));
    EXPECT_EQ(trace["format"], "minfer-trace");
    EXPECT_EQ(trace["version"], 1);
    ASSERT_EQ(trace["phases"].size(), 2u);
    EXPECT_EQ(trace["phases"][0]["kind"], "prefill");
    EXPECT_EQ(trace["phases"][1]["kind"], "decode");
    EXPECT_EQ(trace["phases"][1]["steps"].size(), 2u) << "the prompt gives the first of 3 tokens";
    const auto shown = minfer_says({"graph", model, "--phase", "decode", "--format", "json"});
    EXPECT_EQ(trace["phases"][1]["graph"]["nodes"], json::parse(shown.out)["nodes"]);
    for (const auto& phase : trace["phases"]) {
        std::map<int, std::string> ops;
        for (const auto& node : phase["graph"]["nodes"])
            if (node["op"] != "KvStore" && node["op"] != "KvLoad") ops[node["id"]] = node["op"];
        for (const auto& step : phase["steps"]) {
            EXPECT_EQ(step["nodes"].size(), ops.size());
            for (const auto& node : step["nodes"]) {
                EXPECT_TRUE(ops.contains(node["id"]));
                EXPECT_LE(node["values"].size(), 64u);
            }
            ASSERT_EQ(step["logits_top"].size(), 5u);
            for (size_t i = 1; i < 5; ++i)
                EXPECT_LE(step["logits_top"][i]["probability"],
                          step["logits_top"][i - 1]["probability"]);
        }
    }
    EXPECT_EQ(trace["phases"][1]["steps"][0]["token"],
              trace["phases"][0]["steps"][0]["logits_top"][0]["token"])
        << "greedy";
}

TEST_F(TraceCommand, ComparingTellsEqualDifferentAndImpossible) {
    record("a.json");
    record("b.json", {"-t", "1"});
    auto same = compare("a.json", "b.json");
    EXPECT_EQ(same.code, 0) << same.out << same.err;
    EXPECT_THAT(same.out, testing::StartsWith("equal: 3 steps"));

    auto trace = json::parse(content(path("a.json")));
    auto& node = trace["phases"][1]["steps"][0]["nodes"][7];
    node["values"][2] = node["values"][2].get<double>() + 100;
    std::ofstream(path("c.json")) << trace.dump();
    const auto other = compare("a.json", "c.json");
    EXPECT_EQ(other.code, 3);
    EXPECT_THAT(other.out, HasSubstr("different: step 1 (decode"));
    EXPECT_THAT(other.out, HasSubstr("value[2]"));
    EXPECT_EQ(compare("a.json", "c.json", {"--bound", "1000000"}).code, 0);

    std::ofstream(path("cut.json")) << trace.dump().substr(0, 1000);
    const auto cut = compare("a.json", "cut.json");
    EXPECT_EQ(cut.code, 1);
    EXPECT_THAT(error_line(cut), HasSubstr("cut.json: not JSON, or only a part of it"));
    EXPECT_EQ(compare("a.json", "none.json").code, 1);
    EXPECT_EQ(minfer_says({"trace", "--compare", path("a.json")}).code, 2);
    EXPECT_EQ(minfer_says({"trace", model, "abc", "--bound", "1"}).code, 2);
}

TEST_F(TraceCommand, ARunIsTheSameWithAndWithoutEverythingThatLooksOn) {
    const auto args =
        std::vector<std::string>{"run", model, "abc", "-n", "6", "--temp", "0", "--no-perf"};
    const auto alone = minfer_says(args);
    ASSERT_EQ(alone.code, 0) << alone.err;
    EXPECT_THAT(alone.err, testing::Not(HasSubstr("profile of")));
    auto more = args;
    more.insert(more.end(), {"--profile-trace", path("timeline.json")});
    const auto watched = minfer_says(
        more, {.environment = {{"MINFER_TRACE", path("t.json")}, {"MINFER_OP_PROFILE", "1"}}});
    ASSERT_EQ(watched.code, 0) << watched.err;
    EXPECT_EQ(watched.out, alone.out);
    EXPECT_EQ(json::parse(content(path("t.json")))["format"], "minfer-trace");
    EXPECT_THAT(watched.err, HasSubstr("profile of 1 step,"));
    EXPECT_THAT(watched.err, HasSubstr("\nstep 2: "));
    EXPECT_THAT(watched.err, HasSubstr("profile of 6 steps,"));
    EXPECT_THAT(watched.err, HasSubstr("MatMul"));

    // Spans of a track lie beside each other or in each other.
    const auto timeline = json::parse(content(path("timeline.json")));
    std::vector<std::pair<double, double>> spans;
    std::map<std::string, size_t> names;
    for (const auto& event : timeline) {
        EXPECT_EQ(event["pid"], 1);
        if (event["ph"] == "M") continue;
        ASSERT_EQ(event["ph"], "X");
        const double from = event["ts"], time = event["dur"];
        EXPECT_GE(from, 0);
        EXPECT_GE(time, 0);
        spans.emplace_back(from, from + time);
        ++names[event["name"]];
    }
    std::ranges::sort(spans, [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    constexpr double kRounding = 0.0021;  // of two times with three decimals
    std::vector<double> ends;
    for (const auto& [from, to] : spans) {
        while (!ends.empty() && ends.back() <= from + kRounding) ends.pop_back();
        if (!ends.empty()) EXPECT_LE(to, ends.back() + kRounding);
        ends.push_back(to);
    }
    EXPECT_EQ(names["load"], 1u);
    EXPECT_EQ(names["run"], 1u);
    EXPECT_EQ(names["step of 1 token"], 5u);
    EXPECT_EQ(names["MatMul logits"], 6u);

    const auto wrong = minfer_says(args, {.environment = {{"MINFER_TRACE", "1"}}});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_THAT(error_line(wrong), HasSubstr("MINFER_TRACE: '1' is a switch"));
}

}  // namespace
}  // namespace minfer

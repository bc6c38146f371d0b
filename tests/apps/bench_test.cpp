#include <nlohmann/json.hpp>

#include "apps/program.h"

namespace minfer {
namespace {

using nlohmann::json;
using testing::HasSubstr;

using Bench = WithModel;

TEST_F(Bench, WritesWhatLlamaBenchReadersRead) {
    const auto outcome = minfer_says({"bench", model, "-p", "8,16", "-n", "4", "-r", "3", "-t",
                                      "1,2", "-d", "0,5", "-pg", "4,2", "-o", "json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto rows = json::parse(outcome.out);
    ASSERT_EQ(rows.size(), 2u * 2 * 4);  // threads, depths, tests
    for (const auto& row : rows) {
        EXPECT_EQ(row["samples_ts"].size(), 3u);
        EXPECT_EQ(row["samples_ns"].size(), 3u);
        EXPECT_GT(row["avg_ts"], 0);
        EXPECT_GE(row["stddev_ts"], 0);
        EXPECT_EQ(row["model_filename"], model);
        EXPECT_THAT(row["model_type"].get<std::string>(), HasSubstr("qwen3"));
        EXPECT_GT(row["model_size"], 0);
        EXPECT_GT(row["model_n_params"], 0);
        EXPECT_EQ(row["type_k"], "f32");
        EXPECT_EQ(row["type_v"], "f32");
        EXPECT_FALSE(row["build_commit"].get<std::string>().empty());
    }
    EXPECT_EQ(rows[0]["n_prompt"], 8);
    EXPECT_EQ(rows[2]["n_gen"], 4);
    EXPECT_EQ(rows[4]["n_depth"], 5);
    EXPECT_EQ(rows[8]["n_threads"], 2);
}

TEST_F(Bench, MeasuresSeveralSequencesAtOnce) {
    const auto outcome = minfer_says({"bench", model, "-p", "4", "-n", "3", "-d", "2", "-npl",
                                      "1,4", "-r", "2", "-ub", "2", "-o", "json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto rows = json::parse(outcome.out);
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[1]["n_parallel"], 1);
    EXPECT_EQ(rows[2]["n_parallel"], 4);
    // Tokens of all of them in the time of one step each.
    const auto tokens = rows[2]["avg_ts"].get<double>() * rows[2]["avg_ns"].get<double>() * 1e-9;
    EXPECT_NEAR(tokens, 12, 3);
    const auto table = minfer_says({"bench", model, "-p", "0", "-n", "3", "-npl", "2", "-r", "1"});
    EXPECT_THAT(table.out, HasSubstr("| tg3 x2 |"));
    EXPECT_EQ(minfer_says({"bench", model, "-npl", "0"}).code, 2);
}

TEST_F(Bench, PrintsATable) {
    const auto outcome = minfer_says({"bench", model, "-p", "8", "-n", "0", "-r", "1"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("| pp8 |"));
    EXPECT_THAT(outcome.out, HasSubstr("| F32 |"));
    EXPECT_THAT(outcome.out, HasSubstr("build: "));
}

TEST_F(Bench, WritesLinesToo) {
    const auto lines =
        minfer_says({"bench", model, "-p", "4-8+2", "-n", "0", "-r", "1", "-o", "jsonl"}).out;
    EXPECT_EQ(std::ranges::count(lines, '\n'), 3);
    const auto csv =
        minfer_says({"bench", model, "-p", "4", "-n", "2", "-r", "1", "-o", "csv"}).out;
    EXPECT_EQ(std::ranges::count(csv, '\n'), 3);
    EXPECT_THAT(csv, testing::StartsWith("\"build_commit\","));
}

TEST_F(Bench, RefusesTestsLongerThanTheModelWasTrainedFor) {
    const auto outcome = minfer_says({"bench", model, "-p", "200", "-n", "0", "-d", "100"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(error_line(outcome), HasSubstr("test pp200 @ d100 needs 300 tokens"));
}

}  // namespace
}  // namespace minfer

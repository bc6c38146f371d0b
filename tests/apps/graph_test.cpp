#include <fstream>
#include <nlohmann/json.hpp>

#include "apps/program.h"

namespace minfer {
namespace {

using nlohmann::json;
using testing::HasSubstr;

using GraphCommand = WithModel;

std::string content(const std::filesystem::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(GraphCommand, ExportsWhatRuns) {
    const auto outcome = minfer_says({"graph", model, "--phase", "decode", "--format", "json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto graph = json::parse(outcome.out);
    EXPECT_EQ(graph["kind"], "decode");
    size_t fused = 0;
    for (const auto& node : graph["nodes"]) {
        fused += node["op"] == "SwiGlu";
        EXPECT_EQ(node["backend"], "cpu") << node;
    }
    EXPECT_EQ(fused, 2u);
    EXPECT_THAT(minfer_says({"graph", model}).out, testing::StartsWith("digraph"));
}

TEST_F(GraphCommand, WritesTheFileWholeOrNotAtAll) {
    const auto path = dir.path() / "graph.json";
    ASSERT_EQ(minfer_says({"graph", model, "--tokens", "7", "--format", "json", "-o", path}).code,
              0);
    EXPECT_EQ(json::parse(content(path))["kind"], "prefill");
    // Nothing but the model and the result is left in the folder.
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 2);
    const auto link = dir.path() / "link";
    std::filesystem::create_symlink(path, link);
    std::filesystem::resize_file(path, 0);
    ASSERT_EQ(minfer_says({"graph", model, "-o", link.string()}).code, 0);
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_GT(std::filesystem::file_size(path), 0u);
    const auto nowhere = minfer_says({"graph", model, "-o", (dir.path() / "no" / "g").string()});
    EXPECT_EQ(nowhere.code, 1);
    EXPECT_THAT(error_line(nowhere), HasSubstr("cannot be written"));
}

TEST_F(GraphCommand, RefusesMoreTokensThanTheContextHolds) {
    const auto outcome = minfer_says({"graph", model, "--tokens", "300"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(error_line(outcome), HasSubstr("--tokens 300: the context holds 256"));
}

}  // namespace
}  // namespace minfer

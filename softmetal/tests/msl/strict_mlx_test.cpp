// Kernels that Apple's compiler takes: the strict check has nothing to say of MLX's.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "softmetal/msl/process.h"
#include "softmetal/msl/stages.h"
#include "softmetal/msl/strict/strict.h"

namespace softmetal::msl::test {
namespace {

namespace fs = std::filesystem;

class StrictAcceptsMlx : public testing::TestWithParam<std::string> {};

TEST_P(StrictAcceptsMlx, WithoutAComplaint) {
    const auto path = fs::path(SOFTMETAL_TEST_FOLDER) / "mlx" / (GetParam() + ".metal");
    const auto source = read_file(path);
    ASSERT_TRUE(source) << source.error();
    CompileOptions options;
    options.include_folders.emplace_back(SOFTMETAL_MLX_INCLUDE);
    const auto read = preprocess(*source, path.string(), path.parent_path(), options);
    ASSERT_TRUE(read) << read.error();
    auto check = strict::Check::start(Toolchain::configured(), read->text, *source, path.string());
    ASSERT_TRUE(check) << check.error();
    const auto done = check->finish();
    EXPECT_TRUE(done) << done.error();
}

std::vector<std::string> families() {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(fs::path(SOFTMETAL_TEST_FOLDER) / "mlx"))
        if (entry.path().extension() == ".metal") out.push_back(entry.path().stem().string());
    std::sort(out.begin(), out.end());
    return out;
}

INSTANTIATE_TEST_SUITE_P(Families, StrictAcceptsMlx, testing::ValuesIn(families()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace softmetal::msl::test

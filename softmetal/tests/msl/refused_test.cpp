// Wrong programs, each refused with the right message at the right line. The folder refused/ holds
// one program a rule; `// error: text` stands at the line that is to be blamed, `// error 0: text`
// where no line is known.
#include <filesystem>
#include <optional>

#include "softmetal/msl/process.h"
#include "softmetal/tests/msl/kernel_runner.h"

namespace softmetal::msl::test {
namespace {

namespace fs = std::filesystem;

struct Expectation {
    size_t line = 0;
    std::string message;
};

std::optional<Expectation> expectation_in(const std::string& source) {
    size_t line = 1;
    for (size_t at = 0; at < source.size(); ++line) {
        const size_t end = std::min(source.find('\n', at), source.size());
        const auto text = source.substr(at, end - at);
        if (const size_t mark = text.find("// error: "); mark != std::string::npos)
            return Expectation{line, text.substr(mark + 10)};
        if (const size_t mark = text.find("// error 0: "); mark != std::string::npos)
            return Expectation{0, text.substr(mark + 12)};
        at = end + 1;
    }
    return std::nullopt;
}

class Refused : public testing::TestWithParam<std::string> {};

TEST_P(Refused, WithTheRightMessageAtTheRightLine) {
    const auto path = fs::path(SOFTMETAL_TEST_FOLDER) / "refused" / (GetParam() + ".metal");
    const auto source = read_file(path);
    ASSERT_TRUE(source) << source.error();
    const auto expected = expectation_in(*source);
    ASSERT_TRUE(expected) << "the file names no error";
    const auto unit = compile(*source, "program_source", "", {.checked = false, .cache = false});
    ASSERT_FALSE(unit) << "it compiled";
    const auto place = expected->line == 0 ? "" : ":" + std::to_string(expected->line) + ":";
    const size_t found = unit.error().find("program_source" + place);
    ASSERT_NE(found, std::string::npos) << unit.error();
    const auto first_line = unit.error().substr(found, unit.error().find('\n', found) - found);
    EXPECT_NE(first_line.find(": error: " + expected->message), std::string::npos) << unit.error();
    EXPECT_EQ(unit.error().find("sm_"), std::string::npos) << "names of ours show:\n"
                                                           << unit.error();
}

std::vector<std::string> programs() {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(fs::path(SOFTMETAL_TEST_FOLDER) / "refused"))
        out.push_back(entry.path().stem().string());
    std::sort(out.begin(), out.end());
    return out;
}

INSTANTIATE_TEST_SUITE_P(Programs, Refused, testing::ValuesIn(programs()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace softmetal::msl::test

// What `--strict` refuses and what it must not. strict/refused/ holds wrong programs: each line
// marked `// error: text` is blamed with that text, once, and no other line is. strict/accepted/
// holds programs as they are written for Apple's compiler.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "softmetal/msl/compiler.h"
#include "softmetal/msl/process.h"
#include "softmetal/msl/stages.h"
#include "softmetal/msl/strict/strict.h"
#include "softmetal/msl/toolchain.h"
#include "softmetal/msl/translate/tokens.h"

namespace softmetal::msl::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> programs(const std::string& folder) {
    std::vector<std::string> out;
    for (const auto& entry :
         fs::directory_iterator(fs::path(SOFTMETAL_TEST_FOLDER) / "strict" / folder))
        out.push_back(entry.path().stem().string());
    std::sort(out.begin(), out.end());
    return out;
}

std::string program(const std::string& folder, const std::string& name) {
    const auto path = fs::path(SOFTMETAL_TEST_FOLDER) / "strict" / folder / (name + ".metal");
    const auto text = read_file(path);
    EXPECT_TRUE(text) << text.error();
    return text ? *text : "";
}

// The log of the check alone; "" when it has nothing to say.
std::string log_of_check(const std::string& source) {
    const auto read = preprocess(source, "program_source", "", {});
    if (!read) return read.error();
    auto check =
        strict::Check::start(Toolchain::configured(), read->text, source, "program_source");
    if (!check) return check.error();
    const auto done = check->finish();
    return done ? "" : done.error();
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> out;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        out.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return out;
}

// Line number to message.
std::multimap<size_t, std::string> errors_marked(const std::string& source) {
    std::multimap<size_t, std::string> out;
    size_t number = 0;
    for (const auto& line : lines_of(source)) {
        ++number;
        const size_t mark = line.find("// error: ");
        if (mark != std::string::npos) out.emplace(number, line.substr(mark + 10));
    }
    return out;
}

std::multimap<size_t, std::string> errors_said(const std::string& log) {
    const std::string name = "program_source:";
    std::multimap<size_t, std::string> out;
    for (const auto& line : lines_of(log)) {
        const size_t error = line.find(": error: ");
        if (line.starts_with(name) && error != std::string::npos)
            out.emplace(std::stoul(line.substr(name.size())), line.substr(error + 9));
    }
    return out;
}

class StrictRefuses : public testing::TestWithParam<std::string> {};

TEST_P(StrictRefuses, EachWrongLineOnceAndNoOther) {
    const auto source = program("refused", GetParam());
    const auto marked = errors_marked(source);
    ASSERT_FALSE(marked.empty()) << "the file names no error";
    const auto log = log_of_check(source);
    const auto said = errors_said(log);
    for (const auto& [line, message] : marked) {
        EXPECT_EQ(said.count(line), 1u) << "line " << line << " is to say: " << message;
        const auto found = said.find(line);
        if (found == said.end()) continue;
        EXPECT_NE(found->second.find(message), std::string::npos)
            << "line " << line << " says: " << found->second << "\nand not: " << message;
    }
    for (const auto& [line, message] : said)
        EXPECT_TRUE(marked.contains(line)) << "line " << line << " is right, but: " << message;
    EXPECT_EQ(log.find("sm_"), std::string::npos) << "names of ours show:\n" << log;
    EXPECT_EQ(log.find("OpenCL"), std::string::npos) << log;
    EXPECT_EQ(log.find("__private"), std::string::npos) << log;
}

INSTANTIATE_TEST_SUITE_P(Programs, StrictRefuses, testing::ValuesIn(programs("refused")),
                         [](const auto& info) { return info.param; });

class StrictAccepts : public testing::TestWithParam<std::string> {};

TEST_P(StrictAccepts, WhatApplesCompilerDoes) {
    EXPECT_EQ(log_of_check(program("accepted", GetParam())), "");
}

INSTANTIATE_TEST_SUITE_P(Programs, StrictAccepts, testing::ValuesIn(programs("accepted")),
                         [](const auto& info) { return info.param; });

// Whatever is missing or doubled, the check reads it in an orderly way or leaves it alone.
TEST_P(StrictAccepts, MissingAndDoubledTokensWithoutBreaking) {
    const auto source = program("accepted", GetParam());
    const auto tokens = tokenize(source);
    for (size_t i = 0; i < tokens.size(); ++i) {
        const size_t begin = tokens.offset(i), end = tokens.end_offset(i);
        for (const auto& changed :
             {source.substr(0, begin), source.substr(0, begin) + source.substr(end),
              source.substr(0, end) + " " + source.substr(begin)}) {
            const auto reading = strict::read(changed);
            ASSERT_EQ(reading.has_value(), tokenize(changed).balanced) << changed;
            if (reading)
                ASSERT_EQ(lines_of(reading->prepared).size(), lines_of(changed).size()) << changed;
        }
    }
}

constexpr const char* kMixedSpaces = R"(#include <metal_stdlib>
using namespace metal;
float first(device const float* p) { return p[0]; }
kernel void k(constant float* in [[buffer(0)]], device float* out [[buffer(1)]]) {
    out[0] = first(in);
}
)";

std::string log_of_compile(const std::string& source, const CompileOptions& options) {
    const auto unit = compile(source, "program_source", "", options);
    return unit ? "" : unit.error();
}

TEST(Strict, IsAChoiceOfTheCaller) {
    EXPECT_EQ(log_of_compile(kMixedSpaces, {.checked = false, .cache = false}), "");
    const auto log =
        log_of_compile(kMixedSpaces, {.strict = true, .checked = false, .cache = false});
    EXPECT_NE(log.find("program_source:5:14: error: no matching function for call to 'first'\n"
                       "    out[0] = first(in);\n"
                       "             ^\n"),
              std::string::npos)
        << log;
    EXPECT_NE(log.find("program_source:3:7: note: candidate function not viable"),
              std::string::npos)
        << log;
}

TEST(Strict, LeavesBracketsThatDoNotMatchToTheCompilation) {
    const std::string source =
        "kernel void k(device int* o [[buffer(0)]]) { if (o[0]) { o[0] = 1; }\n";
    const auto log = log_of_compile(source, {.strict = true, .checked = false, .cache = false});
    EXPECT_NE(log.find("program_source:1:69: error: expected '}'\n"), std::string::npos) << log;
}

TEST(Strict, RefusesBracketsNestedTooDeepBeforeReadingThem) {
    const auto nested = [](std::string_view open, std::string_view close, size_t depth) {
        std::string out = "kernel void k(device int* o [[buffer(0)]]) {} ";
        for (size_t i = 0; i < depth; ++i) out += open;
        for (size_t i = 0; i < depth; ++i) out += close;
        return out + '\n';
    };
    EXPECT_TRUE(strict::read(nested("namespace a {", "}", kDeepestBracket)));
    for (const size_t depth : {kDeepestBracket + 1, size_t{300'000}})
        for (const auto close : {"}", ""}) {
            const auto source = nested("namespace a {", close, depth);
            EXPECT_FALSE(strict::read(source));
            const auto log =
                log_of_compile(source, {.strict = true, .checked = false, .cache = false});
            EXPECT_NE(log.find(": error: brackets are nested more than 1000 deep\n"),
                      std::string::npos)
                << log.substr(0, 300);
        }
}

// Without address spaces both programs are translated to the same text.
TEST(Strict, IsNotSatisfiedByACachedCompilation) {
    std::string source = kMixedSpaces;
    const size_t at = source.find("constant float* in");
    const auto right = source.replace(at, 8, "device const");
    EXPECT_EQ(log_of_compile(right, {.strict = true, .checked = false}), "");
    EXPECT_NE(log_of_compile(kMixedSpaces, {.strict = true, .checked = false}), "");
}

}  // namespace
}  // namespace softmetal::msl::test

// The compiler's log speaks of the user's source: its lines, its columns, its names.
#include <gmock/gmock.h>

#include "softmetal/msl/log.h"
#include "softmetal/msl/process.h"
#include "softmetal/tests/msl/kernel_runner.h"

namespace softmetal::msl::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Diagnostics, QuoteTheLineAndPointAtTheColumn) {
    const auto log = refusal(
        "#include <metal_stdlib>\n"
        "using namespace metal;\n"
        "kernel void f(device   float*  x [[buffer(0)]],   uint id   [[thread_position_in_grid]]) "
        "{\n"
        "\tx[id]   =   0.5 *   missing;\n"
        "}\n");
    EXPECT_EQ(log,
              "program_source:4:22: error: use of undeclared identifier 'missing'\n"
              "\tx[id]   =   0.5 *   missing;\n"
              "\t                    ^\n");
}

TEST(Diagnostics, PointAtTheMacroThatExpandsToTheFault) {
    const auto log = refusal(
        "#define TWICE(v) ((v) + (v))\n"
        "kernel void f(device float* x) { x[0] = TWICE( nothing ); }\n");
    EXPECT_THAT(log,
                HasSubstr("program_source:2:48: error: use of undeclared identifier 'nothing'"));
}

TEST(Diagnostics, UseTheNamesOfMsl) {
    const auto log = refusal(
        "#include <metal_stdlib>\nusing namespace metal;\n"
        "kernel void f(device half* x) { half3 v = float4(1); bfloat2 w = half3(1); x[0] = v + w; "
        "}\n");
    EXPECT_THAT(log, HasSubstr("'float4'"));
    EXPECT_THAT(log, HasSubstr("'half3'"));
    EXPECT_THAT(log, HasSubstr("'bfloat2'"));
    EXPECT_THAT(log, Not(HasSubstr("vec<")));
    EXPECT_THAT(log, Not(HasSubstr("_Float16")));
}

TEST(Diagnostics, SpellOurTypesAsMsl) {
    EXPECT_EQ(
        in_msl_words("no match for 'metal::vec<unsigned int, 3>' and 'packed_vec<_Float16, 2>'"),
        "no match for 'uint3' and 'packed_half2'");
    EXPECT_EQ(in_msl_words("'float4' (aka 'metal::vec<float, 4>') is not 'matrix<float, 4, 2>'"),
              "'float4' is not 'float4x2'");
    EXPECT_EQ(in_msl_words("unknown 'vec<T, N>' and 'my_vec<float, 4>'"),
              "unknown 'vec<T, N>' and 'my_vec<float, 4>'");
}

TEST(Diagnostics, KeepTheWayToATemplate) {
    const auto log = refusal(
        "template <typename T> void put(device T* p) { p->nothing = 1; }\n"
        "kernel void f(device float* x) {\n"
        "    put(x);\n"
        "}\n");
    EXPECT_THAT(log, HasSubstr("program_source:1:48: error: member reference base type 'float'"));
    EXPECT_THAT(log, HasSubstr("program_source:3:5: note: in instantiation of function template "
                               "specialization 'put<float>' requested here"));
}

TEST(Diagnostics, NameIncludedFilesAndTheirLines) {
    const auto folder = std::filesystem::temp_directory_path() / "softmetal-diagnostics-test";
    std::filesystem::create_directories(folder);
    ASSERT_TRUE(write_file(folder / "helper.h",
                           "#pragma once\nfloat half_of(float x) { return x * hlaf; }\n"));
    const auto unit =
        compile("#include \"helper.h\"\nkernel void f(device float* x) { x[0] = half_of(x[1]); }\n",
                "main.metal", folder, {.checked = false, .cache = false});
    ASSERT_FALSE(unit);
    EXPECT_THAT(unit.error(), HasSubstr((folder / "helper.h").string() +
                                        ":2:37: error: use of undeclared identifier 'hlaf'\n"
                                        "float half_of(float x) { return x * hlaf; }\n"));
    std::filesystem::remove_all(folder);
}

TEST(Diagnostics, FollowLineDirectives) {
    EXPECT_THAT(refusal("#line 70 \"shader.metal\"\nkernel void f() { undeclared(); }\n"),
                HasSubstr("shader.metal:70:"));
}

TEST(Diagnostics, ReportEveryFaultOnce) {
    const auto log = refusal(
        "template <typename T> [[kernel]] void f(device T* x [[buffer(0)]], float y "
        "[[thread_position_in_grid]]) {}\n"
        "template [[host_name(\"a\")]] [[kernel]] void f<float>(device float*, float);\n"
        "template [[host_name(\"b\")]] [[kernel]] void f<int>(device int*, float);\n"
        "kernel void g(uint a, uint b) {}\n");
    size_t errors = 0;
    for (size_t at = log.find(": error: "); at != std::string::npos;
         at = log.find(": error: ", at + 1))
        ++errors;
    EXPECT_EQ(errors, 2u) << log;
    EXPECT_THAT(log, HasSubstr("parameter 'a' of kernel 'g' needs"));
    EXPECT_THAT(log, HasSubstr("parameter 'b' of kernel 'g' needs"));
}

TEST(Diagnostics, WarnWithoutRefusing) {
    const auto unit = compile("kernel void f(device int* x [[buffer(0)]]) { int y; x[0] = y; }\n",
                              "program_source", "", {.checked = false, .cache = false});
    ASSERT_TRUE(unit) << unit.error();
    EXPECT_THAT(
        unit->warnings,
        HasSubstr("program_source:1:60: warning: variable 'y' is uninitialized when used here"));
}

TEST(Diagnostics, PassWarningsOfThePreprocessorOn) {
    const auto unit = compile("\xef\xbb\xbf#warning mind the gap\nkernel void f() {}\n",
                              "program_source", "", {.checked = false, .cache = false});
    ASSERT_TRUE(unit) << unit.error();
    EXPECT_THAT(unit->warnings, HasSubstr("program_source:1:2: warning: mind the gap"));
}

TEST(Diagnostics, SayWhatIsMissingWhenTheCompilerIs) {
    ASSERT_EQ(setenv("SOFTMETAL_CLANG", "/nowhere/clang++", 1), 0);
    const auto log = refusal("kernel void f() {}\n");
    unsetenv("SOFTMETAL_CLANG");
    EXPECT_THAT(log, HasSubstr("'/nowhere/clang++' does not run"));
    EXPECT_THAT(log, HasSubstr("SOFTMETAL_CLANG"));
}

TEST(Diagnostics, SayWhichProgramIsNoCompiler) {
    const auto with = [](const char* clang) {
        EXPECT_EQ(setenv("SOFTMETAL_CLANG", clang, 1), 0);
        auto log = refusal("kernel void f() {}\n");
        unsetenv("SOFTMETAL_CLANG");
        return log;
    };
    EXPECT_EQ(with("/bin/false"),
              "SOFTMETAL_CLANG is '/bin/false', which failed with status 1 when asked for its "
              "version");
    EXPECT_EQ(with("/bin/true"), "SOFTMETAL_CLANG is '/bin/true', which is not clang 19 or newer");
}

TEST(Diagnostics, QuoteALongLineAroundTheFault) {
    const auto log = refusal("kernel void f(device int* x) { " + std::string(5000, ' ') +
                             "x[0] = missing; " + std::string(5000, ' ') + "}\n");
    const size_t first = log.find('\n') + 1, second = log.find('\n', first) + 1;
    const auto line = log.substr(first, second - first - 1);
    const auto caret = log.substr(second, log.size() - second - 1);
    EXPECT_THAT(log, testing::StartsWith("program_source:1:5039: error: "));
    EXPECT_LE(line.size(), 206u);
    ASSERT_LT(caret.size(), line.size());
    EXPECT_EQ(line.substr(caret.size() - 1, 7), "missing");
}

}  // namespace
}  // namespace softmetal::msl::test

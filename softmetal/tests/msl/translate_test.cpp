// The translator alone: what becomes of MSL's constructs, without running a compiler.
#include "softmetal/msl/translate/translate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "softmetal/msl/translate/tokens.h"

namespace softmetal::msl {
namespace {

using testing::HasSubstr;
using testing::Not;

// The translated source without the table, runs of blanks as one.
std::string translated(std::string_view source, Target target = Target::Native) {
    const auto translation = translate("# 1 \"t.metal\"\n" + std::string(source), target);
    EXPECT_TRUE(translation.errors.empty()) << translation.errors.front().message;
    const auto text = std::string_view(translation.text);
    const size_t n_lines = 1 + static_cast<size_t>(std::count(source.begin(), source.end(), '\n'));
    std::string out;
    size_t line = 0;
    for (size_t i = text.find('\n') + 1; i < text.size() && line < n_lines; ++i) {
        if (text[i] == '\n') ++line;
        const bool is_first =
            out.empty() || std::string_view(" \n(<").find(out.back()) != std::string_view::npos;
        if (text[i] == ' ' && is_first) continue;
        out += text[i];
    }
    while (out.ends_with('\n') || out.ends_with(' ')) out.pop_back();
    return out;
}

TEST(Tokens, KnowTheirLinesAndBrackets) {
    const auto tokens =
        tokenize("# 7 \"a.h\" 1\nfoo(bar[1], { 2.5e-3f, \"x)\" });\n#pragma unroll\n  ::b>>c\n");
    ASSERT_TRUE(tokens.balanced);
    EXPECT_EQ(tokens[0].text, "foo");
    EXPECT_EQ(tokens[0].line, 7u);
    EXPECT_EQ(tokens.files[tokens[0].file], "a.h");
    EXPECT_EQ(tokens[tokens.partner[1]].text, ")");
    EXPECT_EQ(tokens[tokens.partner[3]].text, "]");
    EXPECT_EQ(tokens[8].text, "2.5e-3f");
    EXPECT_EQ(tokens[10].text, "\"x)\"");
    ASSERT_EQ(tokens.pragmas.size(), 1u);
    EXPECT_EQ(tokens.pragmas[0].line, 8u);
    const auto last = tokens.size() - 1;
    EXPECT_EQ(tokens[last].line, 9u);
    EXPECT_EQ(tokens[last - 1].text, ">");
    EXPECT_EQ(tokens[last - 2].text, ">") << "two tokens, so that template argument lists close";
}

TEST(Tokens, ReadRawStringsAndSeparators) {
    const auto tokens = tokenize("R\"x(a)\"\nb)x\" 1'000 u8\"q\" L'c' next");
    ASSERT_EQ(tokens.size(), 5u);
    EXPECT_EQ(tokens[0].text, "R\"x(a)\"\nb)x\"");
    EXPECT_EQ(tokens[1].text, "1'000");
    EXPECT_EQ(tokens[4].line, 2u);
}

TEST(Tokens, NoticeBracketsWithoutPartners) {
    EXPECT_FALSE(tokenize("{ ( }").balanced);
    EXPECT_FALSE(tokenize("{").balanced);
    EXPECT_FALSE(tokenize(")").balanced);
}

TEST(Translate, StripsAddressSpaces) {
    EXPECT_EQ(translated("void f(device float* a, const threadgroup T& b, thread int* thread* c);"),
              "void f(float* a, const T& b, int* * c);");
    EXPECT_EQ(translated("float g(constant float* t) { return *(constant float*)(t + 1); }"),
              "inline float g(const float* t) { return *(const float*)(t + 1); }");
    EXPECT_EQ(translated("void h(volatile coherent(system) device uint* x);"),
              "void h(volatile uint* x);");
}

TEST(Translate, MakesConstantsConst) {
    EXPECT_EQ(translated("constant float table[2] = {1.0, 2};"),
              "const float table[2] = {1.0f, 2};");
    EXPECT_EQ(translated("static constant constexpr int n = 3;"),
              "static const constexpr int n = 3;");
    EXPECT_EQ(translated("struct L { static const constant float x = f(); };"),
              "struct L { static const constexpr float x = f(); };");
}

TEST(Translate, FloatsWithoutSuffixAreFloats) {
    EXPECT_EQ(
        translated(
            "auto x = 1.0 + 1e3 + .5 + 2.f + 0x1p-3 + 3 + 0x1f + 1.5h + 2.0bf + 1.0f16 + 1.L;"),
        "auto x = 1.0f + 1e3f + .5f + 2.f + 0x1p-3f + 3 + 0x1f + (half(1.5f)) + (bfloat(2.0f)) + "
        "1.0f16 + 1.L;");
}

TEST(Translate, StripsMslAttributesAndKeepsThoseOfCpp) {
    EXPECT_EQ(
        translated("struct [[nodiscard]] S { float4 p [[position]]; int n [[maybe_unused]]; };"),
        "struct [[nodiscard]] S { float4 p ; int n [[maybe_unused]]; };");
}

TEST(Translate, KeepsOneOfOverloadsThatDifferInAddressSpace) {
    EXPECT_EQ(translated("float f(device float* a) { return *a; }\n"
                         "float f(threadgroup float* b) { return *b; }\n"
                         "float f(constant float* b) { return *b; }\n"
                         "float f(const device float* b) { return *b; }\n"
                         "float f(device int* a) { return *a; }"),
              "inline float f(float* a) { return *a; }\n\n"
              "inline float f(const float* b) { return *b; }\n\n"
              "inline float f(int* a) { return *a; }");
}

TEST(Translate, ComparesTemplatesWhateverTheirParametersAreCalled) {
    EXPECT_EQ(translated("template <typename T, int N = 2> T g(device T* a) { return a[N]; }\n"
                         "template <typename U, int M> U g(threadgroup U* x) { return x[M]; }\n"
                         "template <typename U> U g(threadgroup U* x) { return x[0]; }"),
              "template <typename T, int N = 2> T g(T* a) { return a[N]; }\n\n"
              "template <typename U> U g(U* x) { return x[0]; }");
}

TEST(Translate, KeepsDeclarationAndDefinition) {
    EXPECT_EQ(translated("float f(device float* a);\nfloat f(thread float* a);\nfloat f(device "
                         "float* a) { return 1; }"),
              "float f(float* a);\n\ninline float f(float* a) { return 1; }");
}

TEST(Translate, MergesMembersThatDifferInAddressSpace) {
    EXPECT_EQ(translated("template <typename T> struct C {\n"
                         "  C(T x) thread : x(x) {}\n"
                         "  C(T x) device : x(x) {}\n"
                         "  C(T x) constant : x{x}, y() {}\n"
                         "  operator T() const thread { return x; }\n"
                         "  operator T() const device { return x; }\n"
                         "  T get() constant { return x; }\n"
                         "  T x, y;\n"
                         "};"),
              "template <typename T> struct C {\n"
              "C(T x) : x(x) {}\n\n\n"
              "operator T() const { return x; }\n\n"
              "T get() const { return x; }\n"
              "T x, y;\n"
              "};");
}

TEST(Translate, MergesSpecialisationsThatDifferInAddressSpace) {
    EXPECT_EQ(translated("template <typename T> struct P;\n"
                         "template <typename T> struct P<device T*> { using type = T; };\n"
                         "template <typename T> struct P<thread T*> { using type = T; };\n"
                         "template <typename T> constexpr constant bool v<device T*> = true;\n"
                         "template <typename T> constexpr constant bool v<thread T*> = true;"),
              "template <typename T> struct P;\n"
              "template <typename T> struct P<T*> { using type = T; };\n\n"
              "template <typename T> constexpr const bool v<T*> = true;");
}

TEST(Translate, ReadsLessThanInTemplateHeaders) {
    EXPECT_EQ(
        translated(
            "template <typename T, enable_if_t<sizeof(T) < 8, bool> = true> T f(device T* x);\n"
            "template <typename T, enable_if_t<(N > 2), bool> = true> T f(thread T* x);"),
        "template <typename T, enable_if_t<sizeof(T) <8, bool> = true> T f(T* x);\n"
        "template <typename T, enable_if_t<(N > 2), bool> = true> T f(T* x);");
}

TEST(Translate, TurnsKernelsIntoFunctionsWithAPrologue) {
    EXPECT_EQ(translated("kernel void f(device float* x [[buffer(0)]], constant Args& args) {\n  "
                         "x[0] = args.n;\n}"),
              "static void f(float* x , const Args* sm_at_args) { SM_KERNEL_PROLOGUE((0)) auto& "
              "args = *sm_at_args;\n"
              "x[0] = args.n;\n}");
    EXPECT_EQ(
        translated(
            "template <int N> [[kernel, max_total_threads_per_threadgroup(N * 32)]] void g() {}"),
        "template <int N> static void g() { SM_KERNEL_PROLOGUE((N*32))}");
}

TEST(Translate, GivesThreadgroupVariablesTheirStorage) {
    EXPECT_EQ(translated("kernel void f() {\n"
                         "  threadgroup float a[4][N], b;\n"
                         "  threadgroup vec<T, 4>* p = a;\n"
                         "  const threadgroup typename A<T>::B c;\n"
                         "}"),
              "static void f() { SM_KERNEL_PROLOGUE((0))\n"
              "typedef float sm_type_a[4][N]; SM_THREADGROUP_VARIABLE(a) typedef float sm_type_b; "
              "SM_THREADGROUP_VARIABLE(b);\n"
              "vec<T, 4>* p = a;\n"
              "typedef const typename A<T>::B sm_type_c; SM_THREADGROUP_VARIABLE(c);\n"
              "}");
}

TEST(Translate, LoadsFunctionConstantsBeforeWhatDependsOnThem) {
    const auto text = translated(
        "constant bool on [[function_constant(3)]];\n"
        "constant constexpr int n = is_function_constant_defined(on) ? 1 : 2;\n"
        "constant constexpr int m = n + 1;\n"
        "constant constexpr int k = 5;");
    EXPECT_THAT(text, HasSubstr("static const bool on = SM_FUNCTION_CONSTANT(on, (3), \"on\"); "
                                "static const bool sm_is_defined_on ="));
    EXPECT_THAT(text, HasSubstr("const int n = (sm_is_defined_on) ? 1 : 2;\nconst int m = n + "
                                "1;\nconst constexpr int k = 5;"));
}

TEST(Translate, NamesKernelsAsTheHostDoes) {
    const auto kernels = [](std::string_view source) { return translate(source).kernels; };
    EXPECT_EQ(kernels("kernel void f() {} namespace a { namespace { kernel void g() {} } } "
                      "[[host_name(\"h\" \"ost\")]] kernel void h() {}"),
              (std::vector<std::string>{"f", "a::g", "host"}));
    EXPECT_EQ(
        kernels("namespace n { template <typename T> kernel void f(device T* x) {} }\n"
                "template [[host_name(\"f_float\")]] [[kernel]] void n::f<float>(device float*);\n"
                "template [[host_name(\"f_half\")]] kernel decltype(n::f<half>) n::f<half>;\n"
                "template void n::f<int>(device int*);"),
        (std::vector<std::string>{"f_float", "f_half"}));
}

TEST(Translate, SpellsSwizzlesOutInTemplates) {
    EXPECT_EQ(
        translated("template <typename T> void f(device T* p) { p[1].xy += g(2); v.x *= a + "
                   "b; h(q).x += 1; u.w = 1; }"),
        "template <typename T> void f(T* p) { p[1].xy = p [ 1 ] . get_xy() + (g(2)); v.x = v . x "
        "* (a + b); h(q).x += 1; u.w = 1; }");
    EXPECT_EQ(translated("void f(device float4* p) { p[1].xy += g(2); }"),
              "inline void f(float4* p) { p[1].xy += g(2); }");
    EXPECT_EQ(
        translated("template <typename V> V f(V v, thread V* p) { v.zx = v.xz; return v.xyz * "
                   "2 - p->bgr; }"),
        "template <typename V> V f(V v, V* p) { v.zx = v.get_xz(); return v.get_xyz() * 2 - "
        "p->get_zyx(); }");
    EXPECT_EQ(translated("struct S { int ab; }; template <typename T> int f(T s) { return s.ab; }"),
              "struct S { int ab; }; template <typename T> int f(T s) { return s.ab; }")
        << "a member of the program's own";
}

TEST(Translate, TurnsPragmasOfMetalIntoThoseOfClang) {
    EXPECT_EQ(
        translated("#pragma METAL fp contract(off)\n#pragma METAL fp math_mode(safe)\n#pragma "
                   "METAL internals : enable\n#pragma unroll(4)"),
        "#pragma clang fp contract(off)\n#pragma clang fp contract(off)\n\n#pragma unroll(4)");
}

TEST(Translate, KeepsLinesWhateverItTakesOut) {
    const auto text = translated(
        "float f(device float* a) {\n  return *a;\n}\nfloat f(threadgroup float* a)\n{\n  return\n "
        "*a;\n}\nint last;");
    EXPECT_THAT(text, testing::EndsWith("\n\n\n\n\n\nint last;"));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 8);
}

TEST(Translate, LeavesUnbalancedSourcesToTheCompiler) {
    EXPECT_EQ(translated("kernel void f(device float* x) {"), "void f(float* x) {");
}

TEST(Translate, NumbersArgumentsThatHaveNoIndex) {
    const auto translation = translate(
        "kernel void f(device int* a, device int* b [[buffer(0)]], device int* c, threadgroup int* "
        "d) {}");
    EXPECT_THAT(translation.text,
                HasSubstr("sm_glue::buffer<(1)>, sm_glue::buffer<(0)>, sm_glue::buffer<(2)>, "
                          "sm_glue::threadgroup_memory<(0)>"));
}

TEST(Translate, GivesGpusConstantsInMemoryAndEntriesWithParameters) {
    const auto translation = translate(
        "constant bool on [[function_constant(3)]];\n"
        "constant int n = on ? 1 : 2;\n"
        "kernel void f(device int* a, constant int& b, threadgroup int* c, uint i "
        "[[thread_position_in_grid]]) { a[i] = b + n; }",
        Target::Nvptx);
    EXPECT_THAT(translation.text, HasSubstr("__attribute__((constant)) bool  on;"));
    EXPECT_THAT(translation.text, HasSubstr("static int sm_derived_n() { return ("));
    EXPECT_THAT(translation.text, HasSubstr("b + sm_derived_n();"));
    EXPECT_THAT(translation.text, HasSubstr("__attribute__((global)) void sm_kernel_0("));
    EXPECT_THAT(translation.text, Not(HasSubstr("SM_MODULE")));
}

TEST(Translate, RefusesBracketsNestedTooDeep) {
    const std::string open(kDeepestBracket + 1, '{'), close(kDeepestBracket + 1, '}');
    const std::string head = "kernel void k(device int* o) ";
    EXPECT_TRUE(translate(head + open.substr(1) + close.substr(1)).errors.empty());
    for (const auto& source : {head + open + close, head + open}) {
        const auto translation = translate(source);
        ASSERT_EQ(translation.errors.size(), 1u);
        EXPECT_EQ(translation.errors[0].message, "brackets are nested more than 1000 deep");
    }
}

// Sources come from anywhere: whatever is missing or doubled, the translator ends in an orderly
// way.
TEST(Translate, SurvivesMissingAndDoubledTokens) {
    const std::string source = R"(
constant bool on [[function_constant(0)]];
constant constexpr int n = is_function_constant_defined(on) ? 1 : 2;
namespace a { template <typename T, int N = 2> struct S : B<T> { S(T x) thread : B<T>{x}, y(x) {} operator T() const device { return y; } T y; };
template <typename T> [[kernel, max_total_threads_per_threadgroup(32)]] void f(device T* x [[buffer(0)]], constant S<T>& s [[buffer(n), function_constant(on)]],
    threadgroup T* t [[threadgroup(0)]], uint i [[thread_position_in_grid]]) { threadgroup vec<T, 4> v[2], w; v[i].xy += w.zw * 0.5h; { const threadgroup T* p = t; x[i] = p[0]; } }
template [[host_name("f" "1")]] [[kernel]] void f<float>(device float*, constant S<float>&, threadgroup float*, uint); }
typedef decltype(a::f<half>) f_t; template [[host_name("f2")]] kernel f_t a::f<half>;
)";
    const auto tokens = tokenize(source);
    for (size_t i = 0; i < tokens.size(); ++i) {
        const size_t begin = tokens.offset(i), end = tokens.end_offset(i);
        for (const auto& changed :
             {source.substr(0, begin), source.substr(0, begin) + source.substr(end),
              source.substr(0, end) + " " + source.substr(begin)})
            for (const auto target : {Target::Native, Target::Nvptx})
                EXPECT_FALSE(translate(changed, target).text.empty());
    }
}

}  // namespace
}  // namespace softmetal::msl

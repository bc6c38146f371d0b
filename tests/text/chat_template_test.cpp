#include "text/chat_template.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "support/golden.h"

namespace minfer {
namespace {

using Json = nlohmann::ordered_json;

Json read_json(const std::filesystem::path& path) {
    std::ifstream in(path);
    EXPECT_TRUE(in.good()) << path;
    return Json::parse(in);
}

std::tm golden_time() {  // as in make_template_golden.py: Sunday, 2025-03-09 14:05:07
    std::tm t{};
    t.tm_year = 125, t.tm_mon = 2, t.tm_mday = 9;
    t.tm_hour = 14, t.tm_min = 5, t.tm_sec = 7;
    t.tm_wday = 0, t.tm_yday = 67;
    return t;
}

// All variables go through `extra`, where null is none, as in Python.
Result<std::string> render(std::string_view source, const Json& variables,
                           const ChatTemplate::Limits& limits = {}) {
    const auto compiled = MINFER_TRY(ChatTemplate::compile(source));
    ChatTemplate::Input input;
    input.extra = variables;
    input.now = golden_time();
    return compiled.render(input, limits);
}

Result<std::string> render(std::string_view source) { return render(source, Json::object()); }

std::string error_of(const Result<std::string>& result) {
    return result ? "rendered: " + *result : result.error().what;
}

void expect_as_golden(const Result<std::string>& got, const Json& golden) {
    if (golden.contains("expected")) {
        const auto wanted = golden["expected"].get<std::string>();
        if (got)
            EXPECT_EQ(*got, wanted);
        else
            ADD_FAILURE() << "error: " << got.error().what << "\nwanted: " << wanted;
    } else if (golden.contains("raised")) {
        EXPECT_EQ(error_of(got), golden["raised"].get<std::string>());
    } else {
        EXPECT_FALSE(got) << "rendered '" << *got << "', Python: " << golden["python_error"];
        if (!got) EXPECT_NE(got.error().what, "");
    }
}

TEST(ChatTemplate, RendersEveryConstructAsPythonDoes) {
    const auto golden = read_json(golden_path("template_cases.json"));
    ASSERT_GT(golden["cases"].size(), 900u);
    for (const auto& test : golden["cases"]) {
        const auto source = test["source"].get<std::string>();
        SCOPED_TRACE(source);
        expect_as_golden(render(source, golden["variables"]), test);
    }
}

TEST(ChatTemplate, RendersThePublishedTemplatesAsPythonDoes) {
    const char* data = std::getenv("MINFER_TEST_DATA");
    if (!data) {
        std::cerr << "left out: published chat templates (MINFER_TEST_DATA is not set)\n";
        return;
    }
    const auto golden = read_json(golden_path("template_models.json"));
    ASSERT_GT(golden.size(), 60u);
    for (const auto& test : golden) {
        const auto model = test["model"].get<std::string>();
        SCOPED_TRACE(model + " " + test["name"].get<std::string>());
        const auto config = read_json(std::filesystem::path(data) / (model + "-tokenizer") /
                                      "tokenizer_config.json");
        expect_as_golden(render(config["chat_template"].get<std::string>(), test["variables"]),
                         test);
    }
}

TEST(ChatTemplate, PassesTheInputsFields) {
    const auto compiled = ChatTemplate::compile(
        "{{ messages[0].content }}|{{ tools is defined }}|{{ add_generation_prompt }}|"
        "{{ bos_token }}|{{ eos_token is defined }}|{{ enable_thinking is defined }}|{{ more }}");
    ASSERT_TRUE(compiled);
    ChatTemplate::Input input;
    input.messages = Json::parse(R"([{"role": "user", "content": "hi"}])");
    input.bos_token = "<s>";
    EXPECT_EQ(error_of(compiled->render(input)), "rendered: hi|False|True|<s>|False|False|");
    input.tools = Json::array();
    input.eos_token = "</s>";
    input.enable_thinking = false;
    input.extra = {{"more", 1}, {"add_generation_prompt", "own"}};
    EXPECT_EQ(error_of(compiled->render(input)), "rendered: hi|True|own|<s>|True|True|1");
}

TEST(ChatTemplate, ChatMlIsTheTemplateOfFilesWithoutOne) {
    ChatTemplate::Input input;
    input.messages =
        Json::parse(R"([{"role": "system", "content": "s"}, {"role": "user", "content": "u"}])");
    EXPECT_EQ(error_of(ChatTemplate::chatml().render(input)),
              "rendered: <|im_start|>system\ns<|im_end|>\n<|im_start|>user\nu<|im_end|>\n"
              "<|im_start|>assistant\n");
    input.add_generation_prompt = false;
    EXPECT_EQ(error_of(ChatTemplate::chatml().render(input)),
              "rendered: <|im_start|>system\ns<|im_end|>\n<|im_start|>user\nu<|im_end|>\n");
}

TEST(ChatTemplate, RefusesWhatItDoesNotRunWithItsLine) {
    const std::pair<const char*, const char*> cases[] = {
        {"{% include 'x' %}", "tag 'include'"},
        {"{% import 'x' as y %}", "tag 'import'"},
        {"{% from 'x' import y %}", "tag 'from'"},
        {"{% extends 'x' %}", "tag 'extends'"},
        {"{% block a %}{% endblock %}", "tag 'block'"},
        {"{% call f() %}{% endcall %}", "tag 'call'"},
        {"{% filter upper %}{% endfilter %}", "tag 'filter'"},
        {"{% autoescape true %}{% endautoescape %}", "tag 'autoescape'"},
        {"{% with %}{% endwith %}", "tag 'with'"},
        {"{% do x %}", "tag 'do'"},
        {"{% generation %}{% endgeneration %}", "tag 'generation'"},
        {"{% set x | upper %}{% endset %}", "a set block with a filter"},
        {"{% for x in y recursive %}{% endfor %}", "a recursive loop"},
        {"{{ x | urlencode }}", "filter 'urlencode'"},
        {"{{ x | map('wordcount') }}", "filter 'wordcount'"},
        {"{{ x | selectattr('a', 'sameas', 1) }}", "test 'sameas'"},
        {"{{ x is sameas y }}", "test 'sameas'"},
        {"{{ x.zfill(3) }}", "method 'zfill'"},
        {"{{ f(*x) }}", "unpacking arguments with *"},
        {"{{ f(**x) }}", "unpacking arguments with *"},
        {"{{ x[1, 2] }}", "a subscript with a comma"},
        {"{{ caller() }}", "'caller'"},
        {"{{ cycler(1) }}", "'cycler'"},
        {"{{ super() }}", "'super'"},
    };
    for (const auto& [source, construct] : cases) {
        SCOPED_TRACE(source);
        const auto compiled = ChatTemplate::compile(std::string("one\ntwo\n") + source);
        ASSERT_FALSE(compiled);
        EXPECT_EQ(compiled.error().fault, Fault::Unsupported);
        EXPECT_EQ(compiled.error().what,
                  std::string("template line 3: ") + construct + " is not supported");
    }
}

TEST(ChatTemplate, MistakesInASourceAreBadInputWithTheirLine) {
    for (const char* source : {"a\n{% if x %}", "a\n{{ x", "a\n{{ 'x }}", "a\n{% nosuch %}",
                               "a\n{# x", "a\n{{ $ }}", "a\n{{ x) }}"}) {
        SCOPED_TRACE(source);
        const auto compiled = ChatTemplate::compile(source);
        ASSERT_FALSE(compiled);
        EXPECT_EQ(compiled.error().fault, Fault::BadInput);
        EXPECT_TRUE(compiled.error().what.starts_with("template line 2: "))
            << compiled.error().what;
    }
}

TEST(ChatTemplate, FailuresWhileRenderingNameTheLine) {
    EXPECT_EQ(error_of(render("a\n{{ x.y.z }}")), "template line 2: 'x' is undefined");
    EXPECT_EQ(error_of(render("a\n\n{{ {'a': 1}.b.c }}")),
              "template line 3: 'dict object' has no attribute 'b'");
    EXPECT_EQ(error_of(render("{% macro m() %}\n{{ 1 / 0 }}{% endmacro %}\n{{ m() }}")),
              "template line 2: division by zero");
}

TEST(ChatTemplate, TheTextOfRaiseExceptionIsTheWholeError) {
    const auto result =
        render("\n\n{% macro m() %}{{ raise_exception('No!') }}{% endmacro %}{{ m() }}");
    EXPECT_EQ(error_of(result), "No!");
    EXPECT_EQ(result.error().fault, Fault::BadInput);
}

TEST(ChatTemplate, KeepsUnsigned64BitNumbers) {
    EXPECT_EQ(error_of(render("{{ x|tojson }}", Json::parse(R"({"x": 18446744073709551615})"))),
              "rendered: 18446744073709551615");
}

TEST(ChatTemplate, RefusesTextThatIsNotUtf8) {
    EXPECT_EQ(ChatTemplate::compile("ab\xff").error().what,
              "the chat template is not UTF-8 at byte 2");
    Json variables;
    variables["x"] = "a\xc3";
    EXPECT_EQ(error_of(render("{{ x }}", variables)),
              "x: a text in the request is not UTF-8 at byte 1");
}

// What a hostile template or request can ask for ends in an error, not in a crash or a hang.
TEST(ChatTemplate, BoundsStepsMemoryOutputAndDepth) {
    constexpr ChatTemplate::Limits kSmall{
        .steps = 100'000, .memory_bytes = 1 << 20, .output_bytes = 1 << 16};
    const char* const hostile[] = {
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{% set ns = namespace(x='ab') %}{% for a in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% "
        "endfor %}",
        "{% set ns = namespace(x=[1]) %}{% for a in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% "
        "endfor %}{{ ns.x }}",
        "{% set ns = namespace(x=[1], y=[1]) %}{% for a in range(99) %}{% set ns.x = [ns.x, ns.x] "
        "%}"
        "{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x == ns.y }}",
        "{% set ns = namespace(x=[]) %}{% for a in range(9999) %}{% set ns.x = [ns.x] %}{% endfor "
        "%}",
        "{% set ns = namespace(x=[]) %}{% for a in range(9999) %}{% set ns.x = {'a': ns.x} %}{% "
        "endfor %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% macro m(x=m()) %}{{ x }}{% endmacro %}{{ m() }}",
        "{{ 'x' * 1000000000000 }}",
        "{{ [0] * 1000000000000 }}",
        "{{ '%999999999d' % 1 }}",
        "{{ '{:999999999}'.format(1) }}",
        "{{ 'ab'.replace('', 'x' * 100000) }}",
        "{{ 'a' * 1000000 }}",
        "{{ 2 ** 1000000 }}",
        "{% for a in range(5000) %}{{ 'aaaaaaaaaaaaaaaaaaaa' }}{% endfor %}",
        "{{ ([[1] * 1000] * 1000)|tojson(indent=64) }}",
        "{{ range(100000)|map('string')|join('aaaaaaaaaaaaaaaaaa') }}",
    };
    for (const char* source : hostile) {
        SCOPED_TRACE(source);
        const auto result = render(source, Json::object(), kSmall);
        EXPECT_FALSE(result);
    }
}

TEST(ChatTemplate, BoundsTheNestingOfASource) {
    const auto repeat = [](std::string_view piece, int times) {
        std::string out;
        for (int i = 0; i < times; ++i) out += piece;
        return out;
    };
    constexpr int kMany = 20'000;
    const std::string hostile[] = {
        "{{ " + repeat("(", kMany),
        "{{ " + repeat("[", kMany),
        "{{ " + repeat("{1:", kMany),
        "{{ " + repeat("-", kMany) + "1 }}",
        "{{ " + repeat("not ", kMany) + "1 }}",
        "{{ 1" + repeat("+1", kMany) + " }}",
        "{{ 1" + repeat("**1", kMany) + " }}",
        "{{ 1" + repeat(" or 1", kMany) + " }}",
        "{{ x" + repeat(".x", kMany) + " }}",
        "{{ x" + repeat("[0]", kMany) + " }}",
        "{{ x" + repeat("()", kMany) + " }}",
        "{{ x" + repeat("|list", kMany) + " }}",
        "{{ x" + repeat(" if x else x", kMany) + " }}",
        "{{ f(" + repeat("f(", kMany),
        repeat("{% if x %}", kMany),
        repeat("{% for x in x %}", kMany),
        "{% set " + repeat("(", kMany),
        "{{ 99999999999999999999999999999999999999999999 }}",
    };
    for (const auto& source : hostile) EXPECT_FALSE(ChatTemplate::compile(source));
    EXPECT_FALSE(ChatTemplate::compile(std::string(size_t{2} << 20, 'x')));
    // Wide is not deep.
    EXPECT_TRUE(render("{{ 1" + repeat(" ~ 1", 1000) + " }}"));
    EXPECT_TRUE(render("{{ [1" + repeat(", 1", 1000) + "] }}"));
    EXPECT_TRUE(render("{% if 0 %}" + repeat("{% elif 0 %}", 1000) + "{% endif %}"));
}

TEST(ChatTemplate, RefusesRequestsThatNestTooDeep) {
    Json deep = 1;
    for (int i = 0; i < 1000; ++i) deep = Json::array({deep});
    EXPECT_FALSE(render("{{ x }}", {{"x", deep}}));
}

TEST(ChatTemplate, EveryPrefixOfATemplateCompilesOrFailsPolitely) {
    constexpr std::string_view kSource =
        "{%- set ns = namespace(a=1) -%}{# c #}{% raw %}x{% endraw %}{% macro m(a, b='x') %}{{ a ~ "
        "b }}"
        "{% endmacro %}{% for k, v in d.items() if k %}{{ m(k, b=v[::-1]) | upper }}{% else %}"
        "{{ 'a\\u00e9' if x is not none else [1, {'a': 2.5e3}] }}{% endfor %}{% set y %}z{% endset "
        "%}";
    ASSERT_TRUE(ChatTemplate::compile(kSource));
    for (size_t size = 0; size < kSource.size(); ++size) {
        const auto compiled = ChatTemplate::compile(kSource.substr(0, size));
        if (!compiled) EXPECT_NE(compiled.error().what, "");
    }
}

}  // namespace
}  // namespace minfer

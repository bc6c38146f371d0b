#include "text/template/unicode.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/golden.h"

namespace minfer::jinja {
namespace {

TEST(TemplateUnicode, KnowsCharactersAsPythonDoes) {
    std::ifstream in(golden_path("template_cases.json"));
    const auto golden = nlohmann::json::parse(in);
    uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, as in make_template_golden.py
    for (char32_t c = 0; c < 0x110000; ++c) {
        if (c >= 0xd800 && c <= 0xdfff) continue;
        if (c >= 0x20000 && c % 64 != 0) continue;
        std::string text;
        append_point(text, c);
        const std::string facts = to_upper(text) + to_lower(text) + to_title(text) +
                                  to_capitalized(text) + (is_printable(c) ? "1" : "0") +
                                  (is_space(c) ? "1" : "0");
        for (const char byte : facts)
            hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    }
    EXPECT_EQ(std::to_string(hash), golden["unicode_hash"].get<std::string>());
}

TEST(TemplateUnicode, FindsTheFirstByteThatIsNotUtf8) {
    constexpr auto kNone = std::string_view::npos;
    EXPECT_EQ(find_invalid_utf8("a\u00e9\u4e16\U0001f600"), kNone);
    EXPECT_EQ(find_invalid_utf8("\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf"), kNone);
    for (const std::string_view bad :
         {"\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe4\xb8", "\xff"})
        EXPECT_EQ(find_invalid_utf8(std::string("ab") + std::string(bad)), 2u);
}

}  // namespace
}  // namespace minfer::jinja

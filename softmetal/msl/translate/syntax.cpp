#include "softmetal/msl/translate/syntax.h"

#include <algorithm>
#include <array>

namespace softmetal::msl {
namespace {

template <size_t N>
bool one_of(std::string_view text, const std::array<std::string_view, N>& words) {
    return std::find(words.begin(), words.end(), text) != words.end();
}

}  // namespace

bool is_address_space(const Token& token) {
    constexpr std::array<std::string_view, 7> kWords = {
        "device",      "constant", "threadgroup", "thread", "threadgroup_imageblock",
        "object_data", "ray_data"};
    return token.is_word() && one_of(token.text, kWords);
}

bool is_specifier(const Token& token) {
    constexpr std::array<std::string_view, 11> kWords = {
        "inline", "static", "constexpr", "friend",   "virtual",  "explicit",
        "extern", "kernel", "typename",  "volatile", "consteval"};
    return token.is_word() && one_of(token.text, kWords);
}

bool is_keyword(std::string_view word) {
    constexpr std::array<std::string_view, 92> kWords = {
        "alignas",       "alignof",     "and",
        "and_eq",        "asm",         "auto",
        "bitand",        "bitor",       "bool",
        "break",         "case",        "catch",
        "char",          "char8_t",     "char16_t",
        "char32_t",      "class",       "compl",
        "concept",       "const",       "const_cast",
        "consteval",     "constexpr",   "constinit",
        "continue",      "co_await",    "co_return",
        "co_yield",      "decltype",    "default",
        "delete",        "do",          "double",
        "dynamic_cast",  "else",        "enum",
        "explicit",      "export",      "extern",
        "false",         "float",       "for",
        "friend",        "goto",        "if",
        "inline",        "int",         "long",
        "mutable",       "namespace",   "new",
        "noexcept",      "not",         "not_eq",
        "nullptr",       "operator",    "or",
        "or_eq",         "private",     "protected",
        "public",        "register",    "reinterpret_cast",
        "requires",      "return",      "short",
        "signed",        "sizeof",      "static",
        "static_assert", "static_cast", "struct",
        "switch",        "template",    "this",
        "thread_local",  "throw",       "true",
        "try",           "typedef",     "typeid",
        "typename",      "union",       "unsigned",
        "using",         "virtual",     "void",
        "volatile",      "wchar_t",     "while",
        "xor",           "xor_eq"};
    return one_of(word, kWords);
}

bool is_builtin_type_word(const Token& token) {
    constexpr std::array<std::string_view, 14> kWords = {
        "void",   "bool",  "char",   "short", "int",    "long", "unsigned",
        "signed", "float", "double", "half",  "bfloat", "auto", "size_t"};
    return token.is_word() && one_of(token.text, kWords);
}

bool starts_attribute(const Tokens& tokens, size_t i) {
    return i + 1 < tokens.size() && tokens[i].is("[") && tokens[i + 1].is("[") &&
           tokens.partner[i] != kNoPartner;
}

size_t skip_bracket(const Tokens& tokens, size_t i) {
    const uint32_t partner = tokens.partner[i];
    return partner != kNoPartner && partner > i ? partner + 1 : i + 1;
}

size_t skip_angles(const Tokens& tokens, size_t i, size_t end) {
    // A nested `<` after a name opens a list too, unless that leaves the outer one open:
    // `A<N < 4>` is read a second time with it as less-than.
    for (const bool nested : {true, false}) {
        size_t depth = 0;
        for (size_t k = i; k < end;) {
            const auto& token = tokens[k];
            if (token.is("<") && (k == i || (nested && tokens[k - 1].is_word()))) ++depth;
            if (token.is(">") && --depth == 0) return k + 1;
            if (token.is(";") || token.is("}")) break;
            k = skip_bracket(tokens, k);
        }
    }
    return kNowhere;
}

size_t open_angle(const Tokens& tokens, size_t begin, size_t i) {
    size_t depth = 0;
    for (size_t k = i + 1; k-- > begin;) {
        const auto& token = tokens[k];
        const uint32_t partner = tokens.partner[k];
        if (partner != kNoPartner && partner < k) {
            k = partner;
            continue;
        }
        if (token.is(">")) ++depth;
        if (token.is("<") && --depth == 0) return k;
        if (token.is(";") || token.is("{")) break;
    }
    return kNowhere;
}

size_t skip_attribute_like(const Tokens& tokens, size_t i, size_t end) {
    if (i >= end) return i;
    if (starts_attribute(tokens, i)) return skip_bracket(tokens, i);
    const bool takes_parentheses = tokens[i].is("__attribute__") || tokens[i].is("alignas") ||
                                   tokens[i].is("decltype") || tokens[i].is("__declspec") ||
                                   tokens[i].is("noexcept");
    if (takes_parentheses && i + 1 < end && tokens[i + 1].is("("))
        return skip_bracket(tokens, i + 1);
    return i;
}

size_t skip_type(const Tokens& tokens, size_t i, size_t end) {
    bool has_name = false;
    while (i < end) {
        const auto& token = tokens[i];
        if (const size_t next = skip_attribute_like(tokens, i, end); next != i) {
            has_name |= token.is("decltype");
            i = next;
            continue;
        }
        if (token.is("const") || token.is("volatile") || is_address_space(token) ||
            is_specifier(token)) {
            ++i;
            continue;
        }
        if (token.is("struct") || token.is("class") || token.is("enum") || token.is("union")) {
            ++i;
            continue;
        }
        if (is_builtin_type_word(token)) {
            has_name = true;
            ++i;
            continue;
        }
        if (has_name) return i;
        if (!token.is_word() && !token.is("::")) return kNowhere;
        // A possibly qualified name with template arguments.
        while (i < end) {
            if (tokens[i].is("::") || tokens[i].is("template")) {
                ++i;
                continue;
            }
            if (!tokens[i].is_word()) return kNowhere;
            ++i;
            if (i < end && tokens[i].is("<")) {
                i = skip_angles(tokens, i, end);
                if (i == kNowhere) return kNowhere;
            }
            if (i >= end || !tokens[i].is("::")) break;
        }
        has_name = true;
    }
    return has_name ? i : kNowhere;
}

size_t find_outside(const Tokens& tokens, Range range, std::string_view what) {
    for (size_t i = range.begin; i < range.end;) {
        const auto& token = tokens[i];
        if (token.is(what)) return i;
        if (token.is("<") && i > range.begin && tokens[i - 1].is_word() &&
            !tokens[i - 1].is("operator")) {
            if (const size_t next = skip_angles(tokens, i, range.end); next != kNowhere) {
                i = next;
                continue;
            }
        }
        i = skip_bracket(tokens, i);
    }
    return kNowhere;
}

std::vector<Range> split_commas(const Tokens& tokens, Range range) {
    std::vector<Range> parts;
    if (range.empty()) return parts;
    while (true) {
        const size_t comma = find_outside(tokens, range, ",");
        parts.push_back({range.begin, comma == kNowhere ? range.end : comma});
        if (comma == kNowhere) return parts;
        range.begin = comma + 1;
    }
}

std::string join(const Tokens& tokens, Range range) {
    std::string out;
    for (size_t i = range.begin; i < range.end; ++i) {
        const auto& token = tokens[i];
        if (i > range.begin) {
            const auto& before = tokens[i - 1];
            const bool words = before.kind != TokenKind::Mark && token.kind != TokenKind::Mark;
            const bool after_type = before.is(">") && token.is_word();
            const bool after_star = (before.is("*") || before.is("&")) && token.is_word();
            if (words || after_type || after_star || before.is(",")) out += ' ';
        }
        out += token.text;
    }
    return out;
}

std::string flat_text(const Tokens& tokens, Range range) {
    std::string out;
    for (size_t i = range.begin; i < range.end; ++i) {
        if (tokens[i].is("constant"))
            out += "const ";
        else if (!is_address_space(tokens[i]))
            out += std::string(tokens[i].text) + " ";
    }
    if (!out.empty()) out.pop_back();
    return out;
}

size_t last_word(const Tokens& tokens, Range range) {
    size_t found = kNowhere;
    for (size_t i = range.begin; i < range.end;) {
        if (starts_attribute(tokens, i)) {
            i = skip_bracket(tokens, i);
            continue;
        }
        if (tokens[i].is_word()) found = i;
        ++i;
    }
    return found;
}

}  // namespace softmetal::msl

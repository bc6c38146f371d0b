#include "softmetal/msl/translate/words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>

#include "softmetal/msl/translate/kernels.h"
#include "softmetal/msl/translate/syntax.h"

namespace softmetal::msl {
namespace {

// Well-formed sequences; which characters a name may hold is the compiler's to say.
bool is_utf8(std::string_view text) {
    for (size_t i = 0; i < text.size();) {
        const auto first = static_cast<unsigned char>(text[i++]);
        int more = 0;
        if (first >= 0xc2 && first <= 0xdf)
            more = 1;
        else if (first >= 0xe0 && first <= 0xef)
            more = 2;
        else if (first >= 0xf0 && first <= 0xf4)
            more = 3;
        else if (first >= 0x80)
            return false;
        for (; more > 0; --more, ++i)
            if (i == text.size() || (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80)
                return false;
    }
    return true;
}

class Words {
  public:
    Words(const Tokens& tokens, Edits& edits, std::vector<Diagnostic>& errors)
        : tokens_(tokens), edits_(edits), errors_(errors) {}

    void run() {
        collect_classes();
        for (size_t i = 0; i < tokens_.size();) {
            if (starts_attribute(tokens_, i)) {
                attribute(i);
                i = skip_bracket(tokens_, i);
                continue;
            }
            const auto& token = tokens_[i];
            if (token.kind == TokenKind::Number)
                number(i);
            else if (token.is_word())
                i = word(i);
            ++i;
        }
        for (const auto& pragma : tokens_.pragmas) metal_pragma(pragma);
    }

  private:
    void replace(size_t i, std::string text) {
        edits_.replace(tokens_.offset(i), tokens_.end_offset(i), std::move(text));
    }
    bool at(size_t i, std::string_view what) const {
        return i < tokens_.size() && tokens_[i].is(what);
    }

    void collect_classes() {
        for (size_t i = 0; i + 1 < tokens_.size(); ++i)
            if ((tokens_[i].is("struct") || tokens_[i].is("class")) && tokens_[i + 1].is_word())
                classes_.insert(tokens_[i + 1].text);
    }

    // Returns the last token dealt with.
    size_t word(size_t i) {
        const auto& token = tokens_[i];
        if (!is_utf8(token.text))
            errors_.push_back(error_at(tokens_, i, "a name that is not valid UTF-8"));
        if (token.is("constant")) {
            constant(i);
        } else if (is_address_space(token) || token.is("kernel")) {
            replace(i, "");
        } else if (token.is("coherent") && i + 1 < tokens_.size() &&
                   (tokens_[i + 1].is("(") || is_address_space(tokens_[i + 1]))) {
            replace(i, "");
            if (tokens_[i + 1].is("(")) {  // coherent(device)
                for (size_t k = i + 1; k <= tokens_.partner[i + 1]; ++k) replace(k, "");
                return tokens_.partner[i + 1];
            }
        } else if (token.is("is_function_constant_defined") && at(i + 1, "(")) {
            is_defined(i);
        } else if ((token.is("vertex") || token.is("fragment")) && i + 1 < tokens_.size() &&
                   tokens_[i + 1].is_word()) {
            errors_.push_back(
                error_at(tokens_, i,
                         std::string(token.text) +
                             " functions are not supported: softmetal runs compute kernels"));
        }
        return i;
    }

    // is_function_constant_defined(ns::x) -> (ns::sm_is_defined_x)
    void is_defined(size_t i) {
        const uint32_t close = tokens_.partner[i + 1];
        if (close == kNoPartner || close < i + 3 || !tokens_[close - 1].is_word()) return;
        replace(i, "");
        replace(close - 1, "sm_is_defined_" + std::string(tokens_[close - 1].text));
        if (i >= 2 && tokens_[i - 1].is("::") && tokens_[i - 2].is("metal")) {
            replace(i - 1, "");
            replace(i - 2, "");
        }
    }

    // As a type qualifier `constant` means const; after a parameter list it is the address space of
    // *this.
    void constant(size_t i) {
        if (is_method_qualifier(i)) {
            const bool is_const = tokens_[i - 1].is("const") || at(i + 1, "const");
            replace(i, is_const || is_constructor(i) ? "" : "const");
            return;
        }
        replace(i, is_class_constant(i) ? "constexpr" : "const");
    }

    bool is_method_qualifier(size_t i) const {
        size_t k = i;
        while (k > 0 && (tokens_[k - 1].is("const") || tokens_[k - 1].is("noexcept") ||
                         tokens_[k - 1].is("volatile")))
            --k;
        if (k == 0 || !tokens_[k - 1].is(")") || tokens_.partner[k - 1] == kNoPartner) return false;
        const uint32_t open = tokens_.partner[k - 1];
        return open > 0 && !tokens_[open - 1].is("__attribute__") &&
               !tokens_[open - 1].is("alignas") && !tokens_[open - 1].is("decltype") &&
               !(open > 1 && tokens_[open - 1].is("("));
    }

    bool is_constructor(size_t i) const {
        size_t k = i;
        while (!tokens_[k - 1].is(")")) --k;
        const uint32_t open = tokens_.partner[k - 1];
        if (open == 0 || !classes_.contains(tokens_[open - 1].text)) return false;
        return open < 2 || !tokens_[open - 2].is("operator");
    }

    // `static const constant T x = init;` in a class needs constexpr to have an initialiser there.
    bool is_class_constant(size_t i) const {
        bool is_static = false;
        for (size_t k = i; k > 0; --k) {
            const auto& before = tokens_[k - 1];
            if (before.is("static"))
                is_static = true;
            else if (before.is("constexpr"))
                return false;
            else if (!before.is("const") && !before.is("inline"))
                break;
        }
        if (!is_static) return false;
        for (size_t k = i + 1; k < tokens_.size();) {
            if (tokens_[k].is("constexpr")) return false;
            if (tokens_[k].is(";") || tokens_[k].is("*") || tokens_[k].is("&")) return false;
            if (tokens_[k].is("=")) return true;
            k = skip_bracket(tokens_, k);
        }
        return false;
    }

    // MSL has no double: an unmarked literal is a float. h and bf mark half and bfloat.
    void number(size_t i) {
        const auto text = tokens_[i].text;
        const bool hex = text.size() > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
        size_t at = hex ? 2 : 0;
        bool is_floating = false;
        const auto digits_of = [&](std::string_view more) {
            while (at < text.size() && (std::isdigit(static_cast<unsigned char>(text[at])) ||
                                        more.find(text[at]) != std::string_view::npos)) {
                is_floating |= text[at] == '.';
                ++at;
            }
        };
        digits_of(hex ? "abcdefABCDEF.'" : ".'");
        const std::string_view exponent = hex ? "pP" : "eE";
        if (at < text.size() && exponent.find(text[at]) != std::string_view::npos) {
            is_floating = true;
            ++at;
            if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
            digits_of("'");
        }
        if (!is_floating) return;
        const auto suffix = text.substr(at);
        const auto digits = std::string(text.substr(0, text.size() - suffix.size()));
        if (suffix.empty())
            replace(i, digits + "f");
        else if (suffix == "h" || suffix == "H")
            replace(i, "(half(" + digits + "f))");
        else if (suffix == "bf" || suffix == "BF")
            replace(i, "(bfloat(" + digits + "f))");
    }

    void attribute(size_t i) {
        constexpr std::array<std::string_view, 8> kCpp = {
            "maybe_unused", "nodiscard", "fallthrough", "likely",
            "unlikely",     "noreturn",  "deprecated",  "no_unique_address"};
        bool keep = true;
        for (const auto& attribute : read_attributes(tokens_, i))
            keep &= attribute.name.find("::") != std::string::npos ||
                    std::find(kCpp.begin(), kCpp.end(), attribute.name) != kCpp.end();
        if (keep) return;
        edits_.blank(tokens_.offset(i), tokens_.end_offset(tokens_.partner[i]));
    }

    // #pragma METAL fp contract(off), math_mode(safe); other METAL pragmas say nothing to us.
    void metal_pragma(const Pragma& pragma) {
        const auto text = pragma.text;
        const size_t metal = text.find("METAL");
        if (metal == std::string_view::npos ||
            text.find_first_not_of(" \t", text.find("pragma") + 6) != metal)
            return;
        const size_t begin = static_cast<size_t>(text.data() - tokens_.text.data());
        std::string out;
        if (text.find("contract(off)") != std::string_view::npos ||
            text.find("math_mode(safe)") != std::string_view::npos)
            out = "#pragma clang fp contract(off)";
        else if (text.find("contract(on)") != std::string_view::npos)
            out = "#pragma clang fp contract(on)";
        else if (text.find("contract(fast)") != std::string_view::npos ||
                 text.find("math_mode(fast)") != std::string_view::npos)
            out = "#pragma clang fp contract(fast)";
        edits_.replace(begin, begin + text.size(), out);
    }

    const Tokens& tokens_;
    Edits& edits_;
    std::vector<Diagnostic>& errors_;
    std::set<std::string_view> classes_;
};

}  // namespace

void replace_words(const Tokens& tokens, Edits& edits, std::vector<Diagnostic>& errors) {
    Words(tokens, edits, errors).run();
}

}  // namespace softmetal::msl

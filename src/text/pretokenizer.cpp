#include "text/pretokenizer.h"

#include "base/utf8.h"
#include "text/unicode.h"

namespace minfer {
namespace {

// What the pattern sees at one place: a character or, valid == false, a bad byte or the end.
struct Char {
    char32_t value;
    CharClass kind;
    bool valid;
    size_t end;  // where the next one begins

    bool is_newline() const { return valid && kind == CharClass::Newline; }
    bool is_space() const { return valid && (kind == CharClass::Space || is_newline()); }
    bool is_number() const { return valid && kind == CharClass::Number; }
};

Char char_at(std::string_view text, size_t at) {
    if (at >= text.size()) return {0, CharClass::Other, false, at};
    const auto point = code_point_at(text, at);
    if (point.value == kBadByte) return {0, CharClass::Other, false, at + 1};
    return {point.value, char_class(point.value), true, at + point.n_bytes};
}

class Scanner {
  public:
    Scanner(PreTokenizer rules, std::string_view text)
        : text_(text), marks_are_letters_(rules == PreTokenizer::Qwen35) {}

    size_t piece_end(size_t begin) const {
        const auto first = char_at(text_, begin);
        if (!first.valid) return first.end;
        if (first.value == '\'') {
            if (const size_t end = contraction_end(first.end)) return end;
        }
        if (in_word(first)) return word_end(first.end);
        if (first.is_number()) return first.end;
        const auto second = char_at(text_, first.end);
        if (!first.is_newline() && in_word(second)) return word_end(second.end);
        if (is_symbol(first)) return symbols_end(first.end);
        if (first.value == ' ' && is_symbol(second)) return symbols_end(second.end);
        return space_end(first);
    }

  private:
    bool in_word(const Char& c) const {
        return c.valid &&
               (c.kind == CharClass::Letter || (marks_are_letters_ && c.kind == CharClass::Mark));
    }
    bool is_symbol(const Char& c) const {
        return c.valid && !c.is_space() && !c.is_number() && !in_word(c);
    }

    // After an apostrophe; 0 if there is no contraction.
    size_t contraction_end(size_t at) const {
        const auto lower = [](const Char& c) -> char32_t {
            if (c.value == 0x17F) return 's';  // long s folds to it
            return c.value >= 'A' && c.value <= 'Z' ? c.value + ('a' - 'A') : c.value;
        };
        const auto first = char_at(text_, at);
        switch (lower(first)) {
            case 's':
            case 't':
            case 'm':
            case 'd':
                return first.end;
            case 'r':
            case 'v':
            case 'l':
                break;
            default:
                return 0;
        }
        const auto second = char_at(text_, first.end);
        return lower(second) == (lower(first) == 'l' ? 'l' : 'e') ? second.end : 0;
    }

    size_t word_end(size_t at) const {
        for (auto c = char_at(text_, at); in_word(c); c = char_at(text_, at)) at = c.end;
        return at;
    }

    size_t symbols_end(size_t at) const {
        auto c = char_at(text_, at);
        for (; is_symbol(c); c = char_at(text_, at)) at = c.end;
        for (; c.is_newline(); c = char_at(text_, at)) at = c.end;
        return at;
    }

    // A run of white space up to its last line break; without one all of it at the end of the
    // text, and else all but the last character, which the next piece may want.
    size_t space_end(const Char& first) const {
        size_t at = first.end;
        size_t last_begin = 0;  // of the last of at least two characters
        size_t newline_end = first.is_newline() ? at : 0;
        for (auto c = char_at(text_, at); c.is_space(); c = char_at(text_, at)) {
            last_begin = at;
            at = c.end;
            if (c.is_newline()) newline_end = at;
        }
        if (newline_end != 0) return newline_end;
        if (at == text_.size() || last_begin == 0) return at;
        return last_begin;
    }

    std::string_view text_;
    bool marks_are_letters_;
};

}  // namespace

size_t piece_end(PreTokenizer rules, std::string_view text, size_t begin) {
    return Scanner(rules, text).piece_end(begin);
}

}  // namespace minfer

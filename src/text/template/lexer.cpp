#include "text/template/lexer.h"

#include <algorithm>
#include <array>
#include <optional>

#include "text/template/string_literal.h"
#include "text/template/unicode.h"

namespace minfer::jinja {
namespace {

using Kind = Token::Kind;

constexpr std::string_view kOperators[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                           "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                           ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_char(char c) {
    return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// One kind of line break, and without the last one: what Jinja does before it looks at anything.
std::string normalise_newlines(std::string_view source) {
    std::string out;
    out.reserve(source.size());
    for (size_t i = 0; i < source.size(); ++i) {
        if (source[i] == '\r') {
            out.push_back('\n');
            if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
        } else {
            out.push_back(source[i]);
        }
    }
    if (out.ends_with('\n')) out.pop_back();
    return out;
}

class Lexer {
  public:
    explicit Lexer(std::string_view source) : source_(normalise_newlines(source)) {}

    Result<std::vector<Token>> run() {
        while (at_ < source_.size()) MINFER_TRY(root());
        push(Kind::End);
        return std::move(tokens_);
    }

  private:
    std::string_view rest() const { return std::string_view(source_).substr(at_); }
    bool starts(std::string_view text) const { return rest().starts_with(text); }

    void advance(size_t bytes) {
        line_ += static_cast<int>(std::ranges::count(rest().substr(0, bytes), '\n'));
        at_ += bytes;
    }
    void skip_space() { advance(rest().size() - strip_left(rest()).size()); }
    void push(Kind kind, std::string text = {}) {
        tokens_.push_back({.kind = kind, .line = line_, .text = std::move(text)});
    }

    // A tag's closing bracket at `at_`: "-%}" eats the white space after it, "%}" one newline if
    // `trim`, "+%}" nothing (blocks and comments only).
    bool close(std::string_view bracket, bool trim, bool plus) {
        const std::string dashed = "-" + std::string(bracket), plussed = "+" + std::string(bracket);
        if (starts(dashed)) {
            advance(dashed.size());
            skip_space();
        } else if (plus && starts(plussed)) {
            advance(plussed.size());
        } else if (starts(bracket)) {
            advance(bracket.size());
            if (trim && starts("\n")) advance(1);
        } else {
            return false;
        }
        line_starting_ = source_[at_ - 1] == '\n';
        return true;
    }

    // Text before a tag, less what the tag's sign or lstrip_blocks removes.
    void push_data(std::string_view text, char sign, bool is_variable) {
        const int line = line_;
        std::string_view kept = text;
        if (sign == '-') {
            kept = strip_right(text);
        } else if (sign != '+' && !is_variable) {
            const size_t newline = text.rfind('\n');
            const size_t start = newline == std::string_view::npos ? 0 : newline + 1;
            if ((start > 0 || line_starting_) && strip_left(text.substr(start)).empty())
                kept = text.substr(0, start);
        }
        if (kept.empty()) return;
        tokens_.push_back({.kind = Kind::Data, .line = line, .text = std::string(kept)});
    }

    static char sign_at(std::string_view text, size_t at) {
        return at < text.size() && (text[at] == '-' || text[at] == '+') ? text[at] : 0;
    }

    Result<> root() {
        const auto text = rest();
        size_t tag = 0;
        while ((tag = text.find('{', tag)) != std::string_view::npos) {
            const char next = tag + 1 < text.size() ? text[tag + 1] : 0;
            if (next == '%' || next == '{' || next == '#') break;
            ++tag;
        }
        if (tag == std::string_view::npos) {
            push(Kind::Data, std::string(text));
            advance(text.size());
            return {};
        }
        const char type = text[tag + 1];
        const char sign = sign_at(text, tag + 2);
        push_data(text.substr(0, tag), sign, type == '{');
        advance(tag);
        if (type == '%')
            if (const size_t bytes = raw_begin()) return raw(bytes);
        const size_t opening = sign ? 3 : 2;
        if (type == '#') return comment(opening);
        push(type == '%' ? Kind::BlockBegin : Kind::VariableBegin);
        advance(opening);
        return type == '%' ? tag_body("%}", true) : tag_body("}}", false);
    }

    Result<> comment(size_t opening) {
        const int line = line_;
        advance(opening);
        const size_t end = rest().find("#}");
        if (end == std::string_view::npos)
            return fail(Fault::BadInput, "template line {}: missing end of comment tag", line);
        // The sign belongs to the closing bracket, also right after the opening one.
        const bool has_sign = end > 0 && sign_at(rest(), end - 1);
        advance(has_sign ? end - 1 : end);
        close("#}", true, true);
        return {};
    }

    // The length of "{% raw %}" at `at_`, 0 if something else is there.
    size_t raw_begin() const {
        auto text = rest().substr(2);
        if (sign_at(text, 0)) text.remove_prefix(1);
        text = strip_left(text);
        if (!text.starts_with("raw")) return 0;
        text = strip_left(text.substr(3));
        if (text.starts_with("-%}"))
            text = strip_left(text.substr(3));
        else if (text.starts_with("%}"))
            text.remove_prefix(2);
        else
            return 0;
        return rest().size() - text.size();
    }

    Result<> raw(size_t bytes) {
        const int line = line_;
        advance(bytes);
        line_starting_ = source_[at_ - 1] == '\n';
        const auto text = rest();
        for (size_t tag = text.find("{%"); tag != std::string_view::npos;
             tag = text.find("{%", tag + 1)) {
            const char sign = sign_at(text, tag + 2);
            auto inside = strip_left(text.substr(tag + (sign ? 3 : 2)));
            if (!inside.starts_with("endraw")) continue;
            inside = strip_left(inside.substr(6));
            if (!inside.starts_with("%}") && !inside.starts_with("-%}") &&
                !inside.starts_with("+%}"))
                continue;
            push_data(text.substr(0, tag), sign, false);
            advance(text.size() - inside.size());
            close("%}", true, true);
            return {};
        }
        return fail(Fault::BadInput, "template line {}: missing end of raw directive", line);
    }

    Result<> tag_body(std::string_view bracket, bool is_block) {
        std::vector<char> open;
        while (true) {
            if (open.empty()) {
                const int line = line_;
                if (close(bracket, is_block, is_block)) {
                    push(is_block ? Kind::BlockEnd : Kind::VariableEnd);
                    tokens_.back().line = line;
                    return {};
                }
            }
            if (at_ == source_.size()) return {};  // the parser knows what it was waiting for
            const size_t before = at_;
            skip_space();
            if (at_ != before) continue;
            const char c = source_[at_];
            if (is_digit(c)) {
                MINFER_TRY(number());
            } else if (is_name_char(c)) {
                const auto text = rest();
                const size_t end = static_cast<size_t>(
                    std::ranges::find_if_not(text, is_name_char) - text.begin());
                push(Kind::Name, std::string(text.substr(0, end)));
                advance(end);
            } else if (c == '"' || c == '\'') {
                MINFER_TRY(string(c));
            } else {
                MINFER_TRY(op(open));
            }
        }
    }

    Result<> string(char quote) {
        const auto text = rest();
        size_t end = 1;
        while (end < text.size() && text[end] != quote) end += text[end] == '\\' ? 2 : 1;
        if (end >= text.size())
            return fail(Fault::BadInput, "template line {}: a string does not end", line_);
        auto value = unescape_literal(text.substr(1, end - 1));
        if (!value) return at(fmt::format("template line {}", line_), value.error());
        push(Kind::String, *std::move(value));
        advance(end + 1);
        return {};
    }

    Result<> op(std::vector<char>& open) {
        const auto found = std::ranges::find_if(kOperators, [&](auto o) { return starts(o); });
        if (found == std::end(kOperators)) {
            size_t i = 0;
            std::string shown;
            append_point(shown, next_point(rest(), i));
            const bool letter = static_cast<unsigned char>(shown[0]) >= 0x80;
            return fail(letter ? Fault::Unsupported : Fault::BadInput,
                        "template line {}: unexpected character '{}'", line_, shown);
        }
        const char c = (*found)[0];
        if (c == '(' || c == '[' || c == '{') open.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
        if (c == ')' || c == ']' || c == '}') {
            if (open.empty())
                return fail(Fault::BadInput, "template line {}: unexpected '{}'", line_, c);
            if (open.back() != c)
                return fail(Fault::BadInput, "template line {}: unexpected '{}', expected '{}'",
                            line_, c, open.back());
            open.pop_back();
        }
        push(Kind::Operator, std::string(*found));
        advance(found->size());
        return {};
    }

    // Digits with single underscores between them, from `at`; the byte after them.
    template <class Allowed>
    size_t digits(size_t at, Allowed allowed) const {
        const auto text = rest();
        if (at >= text.size() || !allowed(text[at])) return at;
        while (at < text.size()) {
            if (allowed(text[at]))
                ++at;
            else if (text[at] == '_' && at + 1 < text.size() && allowed(text[at + 1]))
                at += 2;
            else
                break;
        }
        return at;
    }

    Result<> number() {
        const auto text = rest();
        const size_t whole = digits(0, is_digit);
        size_t end = whole;
        // A number right after a dot is an index (x.0.1), never a fraction.
        if (at_ == 0 || source_[at_ - 1] != '.') {
            if (end + 1 < text.size() && text[end] == '.') {
                const size_t fraction = digits(end + 1, is_digit);
                if (fraction > end + 1) end = fraction;
            }
            if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
                size_t from = end + 1;
                if (from < text.size() && (text[from] == '+' || text[from] == '-')) ++from;
                const size_t exponent = digits(from, is_digit);
                if (exponent > from) end = exponent;
            }
        }
        if (end > whole) return real(end);
        return integer();
    }

    std::string without_underscores(size_t end) const {
        std::string out(rest().substr(0, end));
        std::erase(out, '_');
        return out;
    }

    Result<> real(size_t end) {
        const auto shown = without_underscores(end);
        push(Kind::Float, shown);
        tokens_.back().number = parse_decimal(shown).value_or(0);
        advance(end);
        return {};
    }

    Result<> integer() {
        const auto text = rest();
        int base = 10;
        size_t from = 0;
        if (text.size() > 2 && text[0] == '0') {
            const char x = text[1];
            base = x == 'x' || x == 'X'   ? 16
                   : x == 'o' || x == 'O' ? 8
                   : x == 'b' || x == 'B' ? 2
                                          : 10;
            if (base != 10) from = text[2] == '_' ? 3 : 2;
        }
        const auto allowed = [&](char c) {
            const int value = digit_value(c);
            return value >= 0 && value < base;
        };
        size_t end = digits(from, allowed);
        if (base != 10 && end == from) base = 10, end = 1;  // "0x" is a 0 and a name
        if (base == 10 && text[0] == '0') end = digits(0, [](char c) { return c == '0'; });
        const auto shown = without_underscores(end);
        const auto value = parse_integer(base == 10 ? shown : shown.substr(2), base);
        if (!value)
            return fail(Fault::BadInput, "template line {}: integer {} is too large", line_, shown);
        push(Kind::Integer, shown);
        tokens_.back().integer = *value;
        advance(end);
        return {};
    }

    std::string source_;
    size_t at_ = 0;
    int line_ = 1;
    bool line_starting_ = true;
    std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source) { return Lexer(source).run(); }

std::string describe(const Token& token) {
    switch (token.kind) {
        case Kind::Data:
            return "template text";
        case Kind::VariableBegin:
            return "begin of print statement";
        case Kind::VariableEnd:
            return "end of print statement";
        case Kind::BlockBegin:
            return "begin of statement block";
        case Kind::BlockEnd:
            return "end of statement block";
        case Kind::String:
            return "string";
        case Kind::Integer:
            return "integer";
        case Kind::Float:
            return "float";
        case Kind::End:
            return "end of template";
        case Kind::Name:
        case Kind::Operator:
            return token.text;
    }
    std::unreachable();
}

}  // namespace minfer::jinja

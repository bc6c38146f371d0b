// The lexer of preprocessed source: no comments, no macros, but line markers and pragmas.
#include "softmetal/msl/translate/tokens.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace softmetal::msl {
namespace {

bool starts_word(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || (c & 0x80);
}
bool continues_word(char c) {
    return starts_word(c) || std::isdigit(static_cast<unsigned char>(c));
}
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

// Longest first. No mark longer than one character begins with `>`.
constexpr std::array<std::string_view, 24> kMarks = {
    "<<=", "...", "->*", "<=>", "::", "->", "++", "--", "<<", "<=", "==", "!=",
    "&&",  "||",  "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^=", ".*", "##"};

class Lexer {
  public:
    explicit Lexer(std::string_view text) : text_(text) { out_.text = text; }

    Tokens run() {
        file_ = file_index("");
        while (at_ < text_.size()) step();
        pair_brackets();
        return std::move(out_);
    }

  private:
    void step() {
        const char c = text_[at_];
        if (c == '\n') {
            ++at_;
            ++line_;
            line_start_ = true;
            return;
        }
        if (c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f') {
            ++at_;
            return;
        }
        if (c == '#' && line_start_) return directive();
        line_start_ = false;
        if (starts_word(c)) return word();
        if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
        if (c == '"' || c == '\'') return quoted(at_);
        mark();
    }

    char peek(size_t ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

    void add(TokenKind kind, size_t begin, size_t end) {
        out_.tokens.push_back({kind, text_.substr(begin, end - begin), line_, file_});
        at_ = end;
    }

    void word() {
        size_t end = at_ + 1;
        while (end < text_.size() && continues_word(text_[end])) ++end;
        const auto prefix = text_.substr(at_, end - at_);
        const char next = end < text_.size() ? text_[end] : '\0';
        if (next == '"' && prefix.ends_with('R') && prefix.size() <= 3) return raw_string(end);
        if ((next == '"' || next == '\'') &&
            (prefix == "u8" || prefix == "u" || prefix == "U" || prefix == "L"))
            return quoted(end);
        add(TokenKind::Word, at_, end);
    }

    void number() {
        size_t end = at_ + 1;
        while (end < text_.size()) {
            const char c = text_[end];
            const char before = text_[end - 1];
            const bool hex =
                at_ + 1 < text_.size() && (text_[at_ + 1] == 'x' || text_[at_ + 1] == 'X');
            const bool exponent =
                hex ? before == 'p' || before == 'P' : before == 'e' || before == 'E';
            const bool sign = (c == '+' || c == '-') && exponent;
            const bool separator =
                c == '\'' && end + 1 < text_.size() && continues_word(text_[end + 1]);
            if (!continues_word(c) && c != '.' && !sign && !separator) break;
            ++end;
        }
        add(TokenKind::Number, at_, end);
    }

    void quoted(size_t quote_at) {
        const char quote = text_[quote_at];
        size_t end = quote_at + 1;
        while (end < text_.size() && text_[end] != quote && text_[end] != '\n')
            end += text_[end] == '\\' ? 2 : 1;
        if (end < text_.size() && text_[end] == quote) ++end;
        add(TokenKind::Text, at_, std::min(end, text_.size()));
    }

    void raw_string(size_t quote_at) {
        const size_t open = text_.find('(', quote_at);
        if (open == std::string_view::npos) return quoted(quote_at);
        const std::string close =
            ")" + std::string(text_.substr(quote_at + 1, open - quote_at - 1)) + "\"";
        const size_t found = text_.find(close, open);
        const size_t end = found == std::string_view::npos ? text_.size() : found + close.size();
        const auto newlines = std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(end), '\n');
        add(TokenKind::Text, at_, end);
        line_ += static_cast<uint32_t>(newlines);
    }

    void mark() {
        const auto rest = text_.substr(at_);
        for (const auto candidate : kMarks)
            if (rest.starts_with(candidate))
                return add(TokenKind::Mark, at_, at_ + candidate.size());
        add(TokenKind::Mark, at_, at_ + 1);
    }

    // `# 12 "file" flags` sets the position of the next line; `#pragma` is kept for the translator.
    void directive() {
        const size_t end = std::min(text_.find('\n', at_), text_.size());
        const auto whole = text_.substr(at_, end - at_);
        size_t i = 1;
        while (i < whole.size() && whole[i] == ' ') ++i;
        if (whole.substr(i).starts_with("line ")) i += 5;
        if (i < whole.size() && is_digit(whole[i])) {
            uint32_t line = 0;
            for (; i < whole.size() && is_digit(whole[i]); ++i)
                line = line * 10 + static_cast<uint32_t>(whole[i] - '0');
            const size_t open = whole.find('"', i);
            const size_t close = whole.find('"', open + 1);
            if (open != std::string_view::npos && close != std::string_view::npos)
                file_ = file_index(unescape(whole.substr(open + 1, close - open - 1)));
            line_ = line - 1;  // the newline that ends this directive counts up to it
        } else if (whole.substr(i).starts_with("pragma")) {
            out_.pragmas.push_back({whole, line_, file_});
        }
        at_ = end;
    }

    static std::string unescape(std::string_view quoted) {
        std::string out;
        for (size_t i = 0; i < quoted.size(); ++i) {
            if (quoted[i] == '\\' && i + 1 < quoted.size()) ++i;
            out += quoted[i];
        }
        return out;
    }

    uint32_t file_index(const std::string& name) {
        const auto found = std::find(out_.files.begin(), out_.files.end(), name);
        if (found == out_.files.end()) {
            out_.files.push_back(name);
            return static_cast<uint32_t>(out_.files.size() - 1);
        }
        return static_cast<uint32_t>(found - out_.files.begin());
    }

    void pair_brackets() {
        out_.partner.assign(out_.size(), kNoPartner);
        std::vector<uint32_t> open;
        for (uint32_t i = 0; i < out_.size(); ++i) {
            const auto& token = out_[i];
            if (token.kind != TokenKind::Mark || token.text.size() != 1) continue;
            const char c = token.text[0];
            if (c == '(' || c == '[' || c == '{') {
                open.push_back(i);
                if (open.size() > kDeepestBracket && out_.too_deep == kNoPartner) out_.too_deep = i;
            }
            if (c != ')' && c != ']' && c != '}') continue;
            const char opener = c == ')' ? '(' : c == ']' ? '[' : '{';
            if (open.empty() || out_[open.back()].text[0] != opener) {
                out_.balanced = false;
                continue;
            }
            out_.partner[i] = open.back();
            out_.partner[open.back()] = i;
            open.pop_back();
        }
        if (!open.empty()) out_.balanced = false;
    }

    std::string_view text_;
    size_t at_ = 0;
    uint32_t line_ = 1;
    uint32_t file_ = 0;
    bool line_start_ = true;
    Tokens out_;
};

}  // namespace

Tokens tokenize(std::string_view text) { return Lexer(text).run(); }

}  // namespace softmetal::msl

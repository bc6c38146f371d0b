#pragma once
// A place in the tokens, and errors at it.

#include <string_view>
#include <vector>

#include "text/template/lexer.h"

namespace minfer::jinja {

class TokenStream {
  public:
    explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

    const Token& current() const { return tokens_[at_]; }
    const Token& following() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
    Token take() {
        Token token = tokens_[at_];
        if (at_ + 1 < tokens_.size()) ++at_;
        return token;
    }
    int line() const { return current().line; }

    bool is(Token::Kind kind) const { return current().kind == kind; }
    bool is_op(std::string_view text) const {
        return is(Token::Kind::Operator) && current().text == text;
    }
    bool is_name(std::string_view text) const {
        return is(Token::Kind::Name) && current().text == text;
    }
    bool skip_op(std::string_view text) { return is_op(text) && (take(), true); }
    bool skip_name(std::string_view text) { return is_name(text) && (take(), true); }

    Result<> expect_op(std::string_view text) {
        return skip_op(text) ? Result<>() : Result<>(expected(text));
    }
    Result<> expect_name(std::string_view text) {
        return skip_name(text) ? Result<>() : Result<>(expected(text));
    }
    Result<std::string> expect_any_name() {
        if (!is(Token::Kind::Name)) return expected("a name");
        return take().text;
    }

    std::unexpected<Error> expected(std::string_view what) const {
        return fail(Fault::BadInput, "template line {}: expected {}, found {}", line(), what,
                    describe(current()));
    }

  private:
    std::vector<Token> tokens_;  // ends with Kind::End
    size_t at_ = 0;
};

inline std::unexpected<Error> unsupported(int line, std::string_view construct) {
    return fail(Fault::Unsupported, "template line {}: {} is not supported", line, construct);
}

// How deep templates may nest: parentheses and brackets, tags, and the resulting tree (a + b + c
// is two deep), which bounds the stack of every later walk.
inline constexpr int kMaxNesting = 64, kMaxTreeDepth = 200;

}  // namespace minfer::jinja

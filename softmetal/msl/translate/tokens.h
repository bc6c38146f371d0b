// Preprocessed source as tokens. Every token points into the text, so that whatever the translator
// does not touch reaches the compiler byte for byte, on its own line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace softmetal::msl {

enum class TokenKind : uint8_t { Word, Number, Text, Mark };  // Text: string and character literals

struct Token {
    TokenKind kind = TokenKind::Mark;
    std::string_view text;
    uint32_t line = 0;  // in the user's file, after line markers
    uint32_t file = 0;  // index into Tokens::files

    bool is(std::string_view what) const { return text == what; }
    bool is_word() const { return kind == TokenKind::Word; }
};

// `#pragma ...`, up to the end of its line.
struct Pragma {
    std::string_view text;
    uint32_t line = 0;
    uint32_t file = 0;
};

constexpr uint32_t kNoPartner = UINT32_MAX;

// Declarations are walked by recursion. Clang takes 256 levels of each kind of bracket.
constexpr size_t kDeepestBracket = 1000;

struct Tokens {
    std::string_view text;
    std::vector<Token> tokens;
    std::vector<uint32_t> partner;  // of ( ) [ ] { }: the index of the other one, or kNoPartner
    std::vector<Pragma> pragmas;
    std::vector<std::string> files;
    bool balanced = true;            // every bracket has its partner
    uint32_t too_deep = kNoPartner;  // the first bracket deeper than kDeepestBracket, or kNoPartner

    // Whoever follows brackets relies on it: each has its partner and is not too deep.
    bool can_be_walked() const { return balanced && too_deep == kNoPartner; }

    size_t size() const { return tokens.size(); }
    const Token& operator[](size_t i) const { return tokens[i]; }
    size_t offset(size_t i) const {
        return static_cast<size_t>(tokens[i].text.data() - text.data());
    }
    size_t end_offset(size_t i) const { return offset(i) + tokens[i].text.size(); }
};

// `text` is what `clang -E` wrote and must outlive the result. `>` is always a token of its own, so
// that the end of a template argument list is.
Tokens tokenize(std::string_view text);

}  // namespace softmetal::msl

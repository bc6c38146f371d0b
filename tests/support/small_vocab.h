#pragma once
// A vocabulary of the 256 bytes and whatever a test adds, written as a GGUF file writes it.

#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "text/tokenizer.h"

namespace minfer {

struct SmallVocab {
    std::vector<std::string> tokens;  // token b is byte b for b < 256
    std::vector<int32_t> kinds;
    std::vector<std::string> merges = {"a b"};

    SmallVocab() {
        char32_t next_free = 0x100;
        for (char32_t b = 0; b < 256; ++b) {
            const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b != 0xAD);
            std::string text;
            append_utf8(text, printable ? b : next_free++);
            add(text);
        }
    }

    TokenId add(std::string text, TokenKind kind = TokenKind::Normal) {
        tokens.push_back(std::move(text));
        kinds.push_back(static_cast<int32_t>(kind));
        return TokenId{static_cast<int32_t>(tokens.size() - 1)};
    }

    // Valid while this object lives and is not changed.
    VocabSource source() const {
        return {.model = "gpt2",
                .pre = "qwen2",
                .tokens = {tokens.begin(), tokens.end()},
                .kinds = kinds,
                .merges = {merges.begin(), merges.end()}};
    }

    Tokenizer tokenizer() const {
        auto made = Tokenizer::create(source());
        MINFER_ASSERT(made.has_value());
        return *std::move(made);
    }
};

inline std::vector<int> numbers(const std::vector<TokenId>& ids) {
    std::vector<int> out;
    for (const auto id : ids) out.push_back(static_cast<int>(id));
    return out;
}

}  // namespace minfer

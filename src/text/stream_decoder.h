#pragma once
// Tokens in, readable text out, while the model is still writing: never half a character.

#include <string>

#include "base/utf8.h"
#include "text/tokenizer.h"

namespace minfer {

class StreamDecoder {
  public:
    // The tokenizer outlives this object.
    explicit StreamDecoder(const Tokenizer& tokenizer, DecodeOptions options = {})
        : tokenizer_(&tokenizer), options_(options) {}

    // Text that is complete with this token; often nothing in the middle of a character. Ids
    // outside the vocabulary print nothing.
    std::string push(TokenId id) { return joiner_.push(tokenizer_->piece(id, options_)); }

    // At the end of the text: U+FFFD if a character was left unfinished, else nothing.
    std::string flush() { return joiner_.flush(); }

  private:
    const Tokenizer* tokenizer_;
    DecodeOptions options_;
    Utf8Joiner joiner_;
};

}  // namespace minfer

#pragma once
// Text to token ids and back: byte-level BPE as Qwen uses it.
//
// Encoding: the texts of special tokens are cut out first (earliest, then longest, no trimming
// around them), what lies between is cut into pieces by the pre-tokenizer, and the bytes of each
// piece are merged. Text is not normalised. Every byte string has an encoding, and
// decode(encode(x)) == x with parse_special off (with it on, control tokens must be shown).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/bpe.h"
#include "text/special_tokens.h"
#include "text/token_id.h"
#include "text/vocab.h"

namespace minfer {

struct EncodeOptions {
    bool parse_special = true;  // control tokens written in the text become their ids
    bool add_bos = true;  // if the file asks for it, and unless the text already begins with it
};

struct DecodeOptions {
    bool show_control = false;  // print control tokens as their literal text
};

class Tokenizer {
  public:
    // Refuses, naming key and value: another model or pre-tokenizer, arrays of different lengths,
    // unknown kinds, malformed or missing merges, a byte without a token, ids outside the
    // vocabulary. Copies what it keeps.
    static Result<Tokenizer> create(const VocabSource& source);

    // A byte that is not part of valid UTF-8 becomes its byte token. Safe to call from several
    // threads. Texts are shorter than 4 GiB.
    std::vector<TokenId> encode(std::string_view text, EncodeOptions options = {}) const;

    // Raw bytes: a run of ids may end inside a character (see StreamDecoder). An id outside the
    // vocabulary is an error.
    Result<std::string> decode(std::span<const TokenId> ids, DecodeOptions options = {}) const;

    // The bytes that one token prints, valid while this object lives; nothing for hidden and
    // unused tokens and for ids outside the vocabulary (weights may have more rows than it).
    std::string_view piece(TokenId id, DecodeOptions options = {}) const;

    // The token that stands for exactly these bytes: a special one before an ordinary one.
    std::optional<TokenId> find(std::string_view bytes) const;

    // Generation stops at these: eos, eot, and Qwen's ending texts. Ascending.
    const std::vector<TokenId>& end_tokens() const { return ends_; }
    bool is_end(TokenId id) const;

    size_t size() const { return kinds_.size(); }
    bool contains(TokenId id) const { return static_cast<size_t>(id) < size(); }
    TokenKind kind(TokenId id) const;  // the id lies in the vocabulary
    PreTokenizer pre_tokenizer() const { return pre_; }
    std::optional<TokenId> bos() const { return bos_; }
    std::optional<TokenId> eos() const { return eos_; }
    bool adds_bos() const { return add_bos_; }

  private:
    Tokenizer() = default;

    PreTokenizer pre_ = PreTokenizer::Qwen2;
    std::string bytes_;              // what every token stands for, one after the other
    std::vector<uint32_t> offsets_;  // token i is bytes_[offsets_[i], offsets_[i + 1])
    std::vector<TokenKind> kinds_;
    SpecialTokens specials_;
    BytePairEncoder pairs_;
    std::optional<TokenId> bos_, eos_;
    bool add_bos_ = false;
    std::vector<TokenId> ends_;
};

}  // namespace minfer

#pragma once
// Merges the bytes of one piece of text into tokens: always the pair with the lowest rank,
// leftmost first. Works on symbols: byte strings that the vocabulary has as ordinary tokens or
// that a merge can make. A symbol that is no token ends up as the tokens of its bytes.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "text/token_id.h"

namespace minfer {

class BytePairEncoder {
  public:
    // Buffers that a caller keeps from piece to piece, and a count of the work done.
    struct Workspace {
        struct Node {
            uint32_t symbol;
            uint32_t rank;  // of the pair (this, next); kNone: no such merge
            uint32_t previous, next;
        };
        std::vector<Node> nodes;
        std::vector<uint64_t> heap;  // rank, then position
        size_t steps = 0;            // pairs put into and taken from the heap
    };

    // tokens[i]: the bytes of token i, empty if it is not an ordinary one; of equal tokens the
    // first counts. byte_tokens[b]: the token of the single byte b. merges: pairs of byte strings,
    // lowest rank first; of equal pairs the first counts. Fewer than 2^30 of each. Borrows nothing.
    static BytePairEncoder build(
        std::span<const std::string_view> tokens, const std::array<TokenId, 256>& byte_tokens,
        std::span<const std::pair<std::string_view, std::string_view>> merges);

    // Appends the tokens of the piece. At most about 3 n heap entries for n bytes, whatever they
    // are.
    void encode(std::string_view piece, Workspace& work, std::vector<TokenId>& out) const;

    TokenId byte_token(uint8_t byte) const { return byte_tokens_[byte]; }

  private:
    static constexpr uint32_t kNone = UINT32_MAX;
    struct Slot {
        uint32_t left = kNone, right = kNone;  // symbols
        uint32_t rank = kNone, merged = kNone;
    };
    struct Span {
        uint32_t begin, size;
    };

    const Slot* find(uint32_t left, uint32_t right) const;
    void insert(const Slot& slot);

    std::array<TokenId, 256> byte_tokens_{};
    std::array<uint32_t, 256> byte_symbols_{};
    std::vector<TokenId> symbol_tokens_;  // [symbol]; negative: no token
    std::vector<Span> symbol_bytes_;      // [symbol], into bytes_; empty where it has a token
    std::vector<char> bytes_;
    std::vector<Slot> slots_;  // open addressing, a power of two, at most half full
};

}  // namespace minfer

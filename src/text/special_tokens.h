#pragma once
// Finds the literal texts of special tokens in raw text.

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/token_id.h"

namespace minfer {

class SpecialTokens {
  public:
    struct Entry {
        std::string text;
        TokenId id;
        bool control;
    };
    struct Match {
        size_t begin, end;  // bytes of the text
        TokenId id;
    };

    SpecialTokens() = default;
    // An empty text is never found; of two equal texts the lower id counts.
    explicit SpecialTokens(std::vector<Entry> entries);

    // The earliest match at or after `from`, the longest of those. Control tokens take part only
    // with parse_control.
    std::optional<Match> find(std::string_view text, size_t from, bool parse_control) const;

  private:
    const Entry* longest_prefix(std::string_view text, bool parse_control) const;

    std::vector<Entry> entries_;  // ascending by text
    std::bitset<256> first_bytes_;
};

}  // namespace minfer

#pragma once
// Finds the literal texts of special tokens in raw text.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/token_id.h"

namespace minfer {

class SpecialTokens {
  public:
    struct Match {
        size_t begin, end;  // bytes of the text
        TokenId id;
    };

    // An empty text is never found; of two equal texts the first added wins.
    void add(std::string_view text, TokenId id, bool control);

    // The earliest match at or after `from`, the longest of those. Control tokens take part only
    // with parse_control.
    std::optional<Match> find(std::string_view text, size_t from, bool parse_control) const;

  private:
    struct Entry {
        std::string text;
        TokenId id;
        bool control;
    };
    std::array<std::vector<Entry>, 256> by_first_byte_;  // longest first
};

}  // namespace minfer

#pragma once
// Which rows that were computed before are those of a prompt's first tokens.

#include <algorithm>
#include <span>

#include "runtime/kv_cache.h"

namespace minfer {

struct PrefixMatch {
    SeqId seq{};
    size_t rows = 0;  // 0: nothing in common
};

// Positions of `known` that are those of `tokens`: equal ids, exact rows.
inline size_t common_prefix(const KvTokens& known, std::span<const TokenId> tokens) {
    const auto exact = std::span(known.ids).first(known.exact);
    return static_cast<size_t>(std::ranges::mismatch(exact, tokens).in1 - exact.begin());
}

// The sequence that has most of them.
inline PrefixMatch longest_prefix(const KvCache& cache, std::span<const TokenId> tokens) {
    PrefixMatch best;
    for (const auto& [seq, known] : cache.tokens())
        if (const auto rows = common_prefix(known, tokens); rows > best.rows) best = {seq, rows};
    return best;
}

}  // namespace minfer

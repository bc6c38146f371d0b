#pragma once
// Random operations on sequences of a KV cache, as data: the same script runs on the bookkeeping
// alone and on whole engines, and a script that fails is cut down to what it takes to fail.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace minfer::test {

struct KvOp {
    enum Kind : uint8_t {
        Reserve,
        ReserveOrCompact,
        Release,
        Append,
        Truncate,
        SetCapacity,
        Share,
        Copy,
        MakeOwn,
        Remove,
        Compact,
        kCount,
    };
    Kind kind = Append;
    uint32_t seq = 0, other = 0;
    size_t a = 0, b = 0;  // sizes; what they mean is the kind's business
};

using KvScript = std::vector<KvOp>;

// `n` operations on `n_seq` sequences. Sizes go up to `largest`, appended tokens to `most_tokens`.
// Tokens are appended more often than anything else, and before a prefix is taken there is mostly a
// new sequence to take it.
inline KvScript random_script(uint64_t seed, size_t n, uint32_t n_seq, size_t largest,
                              size_t most_tokens) {
    auto random = std::mt19937_64(seed);
    const auto below = [&](size_t limit) { return static_cast<size_t>(random() % limit); };
    KvScript script;
    while (script.size() < n) {
        auto op = KvOp{
            .kind = below(3) == 0 ? KvOp::Append : static_cast<KvOp::Kind>(below(KvOp::kCount)),
            .seq = static_cast<uint32_t>(below(n_seq)),
            .other = static_cast<uint32_t>(below(n_seq)),
            .a = below(largest + 1),
            .b = below(largest + 1)};
        if (op.kind == KvOp::Append) op.a = 1 + below(most_tokens);
        if (op.kind == KvOp::Remove) {
            op.a = below(2 * most_tokens);
            op.b = 1 + below(most_tokens);
        }
        if (op.kind == KvOp::Share || op.kind == KvOp::Copy) {
            op.a = 1 + below(most_tokens);
            if (below(4) > 0) {
                script.push_back({.kind = KvOp::Release, .seq = op.other});
                script.push_back({.kind = KvOp::ReserveOrCompact, .seq = op.other, .a = op.b});
            }
        }
        script.push_back(op);
    }
    script.resize(n);
    return script;
}

inline std::string describe(const KvScript& script) {
    constexpr const char* kNames[] = {
        "reserve", "reserve_or_compact", "release", "append", "truncate", "set_capacity", "share",
        "copy",    "make_own",           "remove",  "compact"};
    std::string text;
    for (const auto& op : script)
        text += fmt::format("  {} seq {} other {} a {} b {}\n", kNames[op.kind], op.seq, op.other,
                            op.a, op.b);
    return text;
}

// The shortest script found that still fails: ever smaller pieces are left out while it does.
inline KvScript shrink(KvScript script, const std::function<bool(const KvScript&)>& fails) {
    for (auto piece = script.size() / 2; piece > 0; piece /= 2)
        for (size_t begin = 0; begin < script.size();) {
            auto shorter = script;
            const auto at = shorter.begin() + static_cast<ptrdiff_t>(begin);
            shorter.erase(at, at + static_cast<ptrdiff_t>(std::min(piece, shorter.size() - begin)));
            if (fails(shorter))
                script = std::move(shorter);
            else
                begin += piece;
        }
    return script;
}

}  // namespace minfer::test

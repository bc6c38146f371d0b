#include "text/bpe.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <functional>
#include <string>

#include "base/result.h"

namespace minfer {
namespace {

constexpr auto kNoToken = TokenId{-1};
constexpr uint32_t kPositionBits = 32;

// Multiplication mixes upwards only, so the table index is taken from the high bits.
size_t hash_pair(uint32_t left, uint32_t right, size_t table_size) {
    const uint64_t key = uint64_t{left} << 32 | right;
    const uint64_t mixed = (key ^ (key >> 29)) * 0x9E3779B97F4A7C15;
    return mixed >> (64 - std::countr_zero(table_size));
}

// Gives every byte string a number. Half of the time it takes to open a model's vocabulary is
// spent here, on cache misses: hence open addressing with the hash beside the number.
class SymbolNames {
  public:
    explicit SymbolNames(size_t n_expected) : slots_(std::bit_ceil(2 * n_expected + 2)) {
        names_.reserve(n_expected);
    }

    // `bytes` outlives this object, or is kept.
    enum class Storage : uint8_t { Borrow, Copy };
    uint32_t intern(std::string_view bytes, Storage storage) {
        const auto hash = static_cast<uint32_t>(std::hash<std::string_view>()(bytes));
        size_t i = hash & (slots_.size() - 1);
        for (; slots_[i].symbol != kFree; i = (i + 1) & (slots_.size() - 1)) {
            if (slots_[i].hash == hash && names_[slots_[i].symbol] == bytes) {
                return slots_[i].symbol;
            }
        }
        const auto symbol = static_cast<uint32_t>(names_.size());
        if (storage == Storage::Copy) bytes = copies_.emplace_back(bytes);
        names_.push_back(bytes);
        slots_[i] = {hash, symbol};
        if (2 * names_.size() > slots_.size()) grow();
        return symbol;
    }
    const std::vector<std::string_view>& names() const { return names_; }

  private:
    static constexpr uint32_t kFree = UINT32_MAX;
    struct Slot {
        uint32_t hash = 0, symbol = kFree;
    };

    void grow() {
        std::vector<Slot> larger(2 * slots_.size());
        for (const auto& slot : slots_) {
            if (slot.symbol == kFree) continue;
            size_t i = slot.hash & (larger.size() - 1);
            while (larger[i].symbol != kFree) i = (i + 1) & (larger.size() - 1);
            larger[i] = slot;
        }
        slots_ = std::move(larger);
    }

    std::vector<Slot> slots_;  // a power of two, at most half full
    std::vector<std::string_view> names_;
    std::deque<std::string> copies_;  // a deque, so that views into it stay valid
};

}  // namespace

BytePairEncoder BytePairEncoder::build(
    std::span<const std::string_view> tokens, const std::array<TokenId, 256>& byte_tokens,
    std::span<const std::pair<std::string_view, std::string_view>> merges) {
    BytePairEncoder out;
    out.byte_tokens_ = byte_tokens;
    SymbolNames symbols(tokens.size() + 256);
    using enum SymbolNames::Storage;
    const auto give_token = [&](std::string_view bytes, TokenId token,
                                SymbolNames::Storage storage) {
        const auto symbol = symbols.intern(bytes, storage);
        if (out.symbol_tokens_.size() <= symbol) out.symbol_tokens_.resize(symbol + 1, kNoToken);
        if (out.symbol_tokens_[symbol] == kNoToken) out.symbol_tokens_[symbol] = token;
        return symbol;
    };
    for (size_t b = 0; b < 256; ++b) {
        const char byte = static_cast<char>(b);
        out.byte_symbols_[b] = give_token({&byte, 1}, byte_tokens[b], Copy);
    }
    for (size_t i = 0; i < tokens.size(); ++i) {
        if (!tokens[i].empty()) give_token(tokens[i], TokenId{static_cast<int32_t>(i)}, Borrow);
    }
    out.slots_.resize(std::bit_ceil(2 * merges.size() + 1));
    std::string merged;
    for (size_t rank = 0; rank < merges.size(); ++rank) {
        const auto& [left, right] = merges[rank];
        merged.assign(left).append(right);
        out.insert({symbols.intern(left, Borrow), symbols.intern(right, Borrow),
                    static_cast<uint32_t>(rank), symbols.intern(merged, Copy)});
    }
    out.symbol_tokens_.resize(symbols.names().size(), kNoToken);
    out.symbol_bytes_.resize(symbols.names().size());
    for (size_t s = 0; s < symbols.names().size(); ++s) {
        if (out.symbol_tokens_[s] != kNoToken) continue;
        const auto& name = symbols.names()[s];
        out.symbol_bytes_[s] = {static_cast<uint32_t>(out.bytes_.size()),
                                static_cast<uint32_t>(name.size())};
        out.bytes_.insert(out.bytes_.end(), name.begin(), name.end());
    }
    return out;
}

void BytePairEncoder::insert(const Slot& slot) {
    size_t i = hash_pair(slot.left, slot.right, slots_.size());
    while (slots_[i].rank != kNone) {
        if (slots_[i].left == slot.left && slots_[i].right == slot.right) return;
        i = (i + 1) & (slots_.size() - 1);
    }
    slots_[i] = slot;
}

const BytePairEncoder::Slot* BytePairEncoder::find(uint32_t left, uint32_t right) const {
    size_t i = hash_pair(left, right, slots_.size());
    while (slots_[i].rank != kNone) {
        if (slots_[i].left == left && slots_[i].right == right) return &slots_[i];
        i = (i + 1) & (slots_.size() - 1);
    }
    return nullptr;
}

// The symbols are a linked list over the bytes of the piece: a merge keeps the left node and
// drops the right one. The heap holds (rank, position of the left node); an entry whose node has
// meanwhile another rank, or is gone, is out of date and skipped.
void BytePairEncoder::encode(std::string_view piece, Workspace& work,
                             std::vector<TokenId>& out) const {
    MINFER_ASSERT(piece.size() < kNone);
    auto& [nodes, heap, steps] = work;
    const auto n = static_cast<uint32_t>(piece.size());
    const auto rate = [&](uint32_t i) {
        auto& node = nodes[i];
        const auto* merge = node.next < n ? find(node.symbol, nodes[node.next].symbol) : nullptr;
        node.rank = merge ? merge->rank : kNone;
        return merge != nullptr;
    };
    const auto key = [&](uint32_t i) { return uint64_t{nodes[i].rank} << kPositionBits | i; };
    const auto push = [&](uint32_t i) {
        heap.push_back(key(i));
        std::ranges::push_heap(heap, std::greater{});
        ++steps;
    };

    nodes.resize(n);
    heap.clear();
    for (uint32_t i = 0; i < n; ++i) {
        nodes[i] = {byte_symbols_[static_cast<uint8_t>(piece[i])], kNone, i - 1, i + 1};
    }
    for (uint32_t i = 0; i < n; ++i) {
        if (rate(i)) heap.push_back(key(i));
    }
    steps += heap.size();
    std::ranges::make_heap(heap, std::greater{});
    while (!heap.empty()) {
        const uint64_t top = heap.front();
        std::ranges::pop_heap(heap, std::greater{});
        heap.pop_back();
        ++steps;
        const auto left = static_cast<uint32_t>(top);
        if (key(left) != top) continue;
        const uint32_t right = nodes[left].next;
        nodes[left].symbol = find(nodes[left].symbol, nodes[right].symbol)->merged;
        nodes[left].next = nodes[right].next;
        nodes[right].rank = kNone;
        if (nodes[left].next < n) nodes[nodes[left].next].previous = left;
        if (rate(left)) push(left);
        if (left != 0 && rate(nodes[left].previous)) push(nodes[left].previous);
    }
    for (uint32_t i = 0; i < n; i = nodes[i].next) {
        const uint32_t symbol = nodes[i].symbol;
        if (symbol_tokens_[symbol] != kNoToken) {
            out.push_back(symbol_tokens_[symbol]);
            continue;
        }
        const auto [begin, size] = symbol_bytes_[symbol];
        for (const char byte : std::span(bytes_).subspan(begin, size)) {
            out.push_back(byte_token(static_cast<uint8_t>(byte)));
        }
    }
}

}  // namespace minfer

#include "runtime/kv_cache.h"

#include <algorithm>
#include <utility>

#include "runtime/turn_keys.h"

namespace minfer {

KvCache::KvCache(size_t n_ctx, KvLayout layout, op::Rope rope, std::vector<Layer> layers)
    : store_(n_ctx), layout_(layout), rope_(rope), layers_(std::move(layers)) {}

Result<> KvCache::reserve(SeqId seq, size_t capacity) {
    MINFER_TRY(carry_out(store_.reserve_or_compact(seq, capacity)));
    make_room_for_tokens(seq);
    return {};
}

Result<> KvCache::set_capacity(SeqId seq, size_t capacity) {
    MINFER_TRY(carry_out(store_.set_capacity(seq, capacity)));
    make_room_for_tokens(seq);
    return {};
}

// So that appending allocates nothing.
void KvCache::make_room_for_tokens(SeqId seq) {
    tokens_[seq].ids.reserve(store_.find(seq)->capacity());
}

void KvCache::release(SeqId seq) {
    store_.release(seq);
    tokens_.erase(seq);
}

Result<> KvCache::truncate(SeqId seq, size_t n) {
    MINFER_TRY(store_.truncate(seq, n));
    auto& tokens = tokens_[seq];
    tokens.ids.resize(n);
    tokens.exact = std::min(tokens.exact, n);
    return {};
}

void KvCache::append(SeqId seq, std::span<const TokenId> tokens) {
    store_.append(seq, tokens.size());
    auto& known = tokens_[seq];
    if (known.exact == known.ids.size()) known.exact += tokens.size();
    known.ids.insert(known.ids.end(), tokens.begin(), tokens.end());
}

void KvCache::take_prefix(SeqId from, SeqId to, size_t rows) {
    const auto& donor = tokens_[from];
    make_room_for_tokens(to);
    auto& tokens = tokens_[to];
    tokens.ids.assign(donor.ids.begin(), donor.ids.begin() + static_cast<ptrdiff_t>(rows));
    tokens.exact = std::min(donor.exact, rows);
}

Result<> KvCache::share_prefix(SeqId from, SeqId to, size_t rows) {
    MINFER_TRY(store_.share_prefix(from, to, rows));
    take_prefix(from, to, rows);
    return {};
}

Result<> KvCache::copy_prefix(SeqId from, SeqId to, size_t rows) {
    MINFER_TRY(carry_out(store_.copy_prefix(from, to, rows)));
    take_prefix(from, to, rows);
    return {};
}

Result<> KvCache::make_own(SeqId seq, size_t first) {
    return carry_out(store_.make_own(seq, first));
}

Result<> KvCache::remove(SeqId seq, size_t first, size_t rows) {
    MINFER_TRY(carry_out(store_.remove(seq, first, rows)));
    auto& tokens = tokens_[seq];
    const auto begin = tokens.ids.begin() + static_cast<ptrdiff_t>(first);
    tokens.ids.erase(begin, begin + static_cast<ptrdiff_t>(rows));
    if (rows > 0) tokens.exact = std::min(tokens.exact, first);
    return {};
}

void KvCache::replace(KvStore store, std::map<SeqId, KvTokens> tokens) {
    store_ = std::move(store);
    tokens_ = std::move(tokens);
    for (const auto& [seq, sequence] : store_.sequences())
        tokens_[seq].ids.reserve(sequence.capacity());
}

Result<> KvCache::compact(size_t need) { return carry_out(store_.compact(need)); }

BufRef KvCache::region(size_t layer, Part part) const {
    const auto& regions = layers_[layer].regions;
    return part == Part::Keys ? regions.k : regions.v;
}

Result<> KvCache::carry_out(Result<KvChange> change) {
    if (!change) return std::unexpected(std::move(change).error());
    auto moved = move_rows(*change);
    if (moved) {
        store_ = std::move(change->state);
        return {};
    }
    const auto before = store_;
    std::string lost;
    for (const auto& [seq, sequence] : before.sequences()) {
        if (!change->overwrites(before, seq)) continue;
        release(seq);
        lost += fmt::format("{}{}", lost.empty() ? "" : ", ", std::to_underlying(seq));
    }
    if (!lost.empty()) moved.error().what += fmt::format("; lost are the sequences {}", lost);
    return moved;
}

Result<> KvCache::move_rows(const KvChange& change) {
    if (change.moves.empty() && !change.rotation) return {};
    std::vector<std::byte> keys(change.rotation ? change.rotation->cells.rows * layout_.row_bytes
                                                : 0);
    for (size_t layer = 0; layer < layers_.size(); ++layer)
        for (const auto& move : change.moves)
            for (const auto part : kParts)
                MINFER_TRY(layers_[layer].backend->copy_cells(
                    region(layer, part), move.to, move.from, move.rows, layout_.row_bytes));
    // Until then the moves may only be on their way.
    Backend* last = nullptr;
    for (const auto& layer : layers_)
        if (std::exchange(last, layer.backend) != layer.backend)
            MINFER_TRY(layer.backend->synchronize());
    if (!change.rotation) return {};
    const auto& [cells, position, by] = *change.rotation;
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
        MINFER_TRY(read(layer, Part::Keys, cells.cell, keys));
        turn_keys_back(keys, layout_, rope_, position, by);
        MINFER_TRY(write(layer, Part::Keys, cells.cell, keys));
    }
    return {};
}

Result<> KvCache::read(size_t layer, Part part, size_t first_cell, std::span<std::byte> to) {
    MINFER_ASSERT(layer < layers_.size());
    MINFER_TRY(layers_[layer].backend->synchronize());
    return layers_[layer].backend->read_cells(region(layer, part), layout_, first_cell, to);
}

Result<> KvCache::write(size_t layer, Part part, size_t first_cell,
                        std::span<const std::byte> from) {
    MINFER_ASSERT(layer < layers_.size());
    MINFER_TRY(layers_[layer].backend->synchronize());
    return layers_[layer].backend->write_cells(region(layer, part), layout_, first_cell, from);
}

}  // namespace minfer

// Where a request's cells come from: rows of an equal prefix, the room of who is idle.
#include <algorithm>
#include <utility>

#include "runtime/prefix_match.h"
#include "runtime/scheduler.h"

namespace minfer {

void Scheduler::admit() {
    while (running_.size() < options_.n_slots && !waiting_.empty() && !is_full_) {
        auto placed = place(waiting_.front().request);
        if (!placed) lost_ = placed.error();
        is_full_ = placed && !*placed && !running_.empty();
        if (is_full_) return;
        auto [id, request] = std::move(waiting_.front());
        waiting_.pop_front();
        if (placed && !*placed)
            placed = fail(Fault::OutOfMemory, "no room for a prompt of {} tokens in {} cells",
                          request.prompt.size(), engine_.n_ctx());
        if (!placed) {
            request.done(std::unexpected(std::move(placed).error()));
            continue;
        }
        const auto reused = engine_.n_past(**placed);
        const auto result = RequestResult{.n_prompt = request.prompt.size(), .n_reused = reused};
        auto pending = std::vector<TokenId>(request.prompt.begin() + static_cast<ptrdiff_t>(reused),
                                            request.prompt.end());
        running_.push_back({.id = id,
                            .request = std::move(request),
                            .seq = **placed,
                            .pending = std::move(pending),
                            .result = result});
    }
}

Result<std::optional<SeqId>> Scheduler::place(const Request& request) {
    const auto n_ctx = engine_.n_ctx(), n_prompt = request.prompt.size();
    // An answer of no known length starts with its share of the arena, and grows.
    const auto answer = request.max_tokens < n_ctx - n_prompt
                            ? std::max<size_t>(request.max_tokens, 1)
                            : std::max(n_ctx / options_.n_slots, n_prompt + 1) - n_prompt;
    const auto capacity = n_prompt + answer;
    // The last token is evaluated in any case: its logits are wanted.
    const auto prompt = std::span(request.prompt).first(n_prompt - 1);
    auto& cache = engine_.cache();
    const auto match = options_.reuse ? longest_prefix(cache, prompt) : PrefixMatch{};
    if (const auto seq = MINFER_TRY(place_saved(prompt, match.rows, capacity))) return seq;
    if (match.rows > 0)
        if (const auto seq = MINFER_TRY(place_on(match.seq, match.rows, capacity))) return seq;
    const auto seq = new_sequence();
    if (!MINFER_TRY(reserve(seq, capacity, std::nullopt))) return std::nullopt;
    return seq;
}

// On rows that had to leave the arena, if more of them are of use than `resident`.
Result<std::optional<SeqId>> Scheduler::place_saved(std::span<const TokenId> prompt,
                                                    size_t resident, size_t capacity) {
    const auto rows = [&](const SavedSequence& saved) {
        return common_prefix(saved.tokens, prompt);
    };
    const auto best = std::ranges::max_element(saved_, {}, rows);
    if (best == saved_.end() || rows(*best) <= resident) return std::nullopt;
    auto saved = std::move(*best);  // making room may drop what is saved
    saved_.erase(best);
    const auto seq = new_sequence();
    if (MINFER_TRY(reserve(seq, capacity, std::nullopt))) {
        auto restored = restore_sequence(engine_.cache(), saved, seq, rows(saved));
        if (restored) return seq;
        engine_.cache().release(seq);
        return std::unexpected(std::move(restored).error());
    }
    saved_.push_back(std::move(saved));
    return std::nullopt;
}

Result<std::optional<SeqId>> Scheduler::place_on(SeqId donor, size_t rows, size_t capacity) {
    auto& cache = engine_.cache();
    const auto idle = std::ranges::find(idle_, donor);
    // Mostly a conversation that goes on: its sequence goes on as well.
    if (idle != idle_.end() && 2 * rows >= engine_.n_past(donor)) {
        idle_.erase(idle);
        MINFER_TRY(cache.truncate(donor, rows));
        for (;;) {
            const auto grown = cache.set_capacity(donor, capacity);
            if (grown) return donor;
            if (grown.error().fault != Fault::OutOfMemory) {
                cache.release(donor);
                return std::unexpected(grown.error());
            }
            if (!evict(std::nullopt)) break;
        }
        idle_.push_back(donor);
        return std::nullopt;
    }
    const auto seq = new_sequence();
    if (options_.share && MINFER_TRY(reserve(seq, capacity - rows, donor))) {
        if (cache.share_prefix(donor, seq, rows)) return seq;
        cache.release(seq);  // it would lie in too many runs
    }
    if (MINFER_TRY(reserve(seq, capacity, donor))) {
        auto copied = cache.copy_prefix(donor, seq, rows);
        if (copied) return seq;
        cache.release(seq);
        return std::unexpected(std::move(copied).error());
    }
    return std::nullopt;
}

Result<bool> Scheduler::reserve(SeqId seq, size_t capacity, std::optional<SeqId> keep) {
    for (;;) {
        auto reserved = engine_.cache().reserve(seq, capacity);
        if (reserved) return true;
        if (reserved.error().fault != Fault::OutOfMemory)
            return std::unexpected(std::move(reserved).error());
        if (!evict(keep)) return false;
    }
}

// By half, so that an answer of any length moves seldom; by less where there is not so much room.
Result<bool> Scheduler::grow(SeqId seq) {
    auto& cache = engine_.cache();
    const auto capacity = cache.store().find(seq)->capacity(), n_ctx = engine_.n_ctx();
    if (capacity == n_ctx) return false;
    do {
        for (auto more = std::max<size_t>(capacity / 2, 1); more > 0; more /= 2) {
            const auto grown = cache.set_capacity(seq, std::min(capacity + more, n_ctx));
            if (grown) return true;
            if (grown.error().fault == Fault::OutOfMemory) continue;
            lost_ = grown.error();
            return std::unexpected(grown.error());
        }
    } while (evict(std::nullopt));
    return false;
}

bool Scheduler::evict(std::optional<SeqId> keep) {
    std::erase_if(idle_, [&](SeqId seq) { return is_lost(seq); });
    const auto oldest = std::ranges::find_if(idle_, [&](SeqId seq) { return seq != keep; });
    if (oldest == idle_.end()) return false;
    const auto seq = *oldest;
    idle_.erase(oldest);
    if (options_.saved_bytes > 0)
        if (auto saved = save_sequence(engine_.cache(), seq)) {
            size_t bytes = saved->bytes();
            for (const auto& other : saved_) bytes += other.bytes();
            while (bytes > options_.saved_bytes && !saved_.empty()) {
                bytes -= saved_.front().bytes();
                saved_.pop_front();
            }
            if (bytes <= options_.saved_bytes) saved_.push_back(*std::move(saved));
        }
    engine_.cache().release(seq);
    return true;
}

}  // namespace minfer

#include "runtime/scheduler.h"

#include <algorithm>
#include <utility>

#include "runtime/context_shift.h"

namespace minfer {

Scheduler::Scheduler(Engine& engine, SchedulerOptions options)
    : engine_(engine), options_(options) {
    const auto most = engine.options().n_ubatch;
    options_.n_slots = std::max<size_t>(options_.n_slots, 1);
    options_.prompt_chunk = std::clamp<size_t>(options_.prompt_chunk, 1, most);
    // A token of a step is left for prompts, or they would wait for the end of an answer.
    options_.decode_batch =
        std::clamp<size_t>(options_.decode_batch, 1, std::max<size_t>(most, 2) - 1);
    if (most == 1) options_.batch = false;
}

Result<RequestId> Scheduler::submit(Request request) {
    if (request.prompt.empty() || request.prompt.size() >= engine_.n_ctx())
        return fail(Fault::BadInput,
                    "a prompt of {} tokens, at least 1 and at most {} are allowed in a context "
                    "of {}",
                    request.prompt.size(), engine_.n_ctx() - 1, engine_.n_ctx());
    const auto id = RequestId{++last_id_};
    waiting_.push_back({.id = id, .request = std::move(request)});
    return id;
}

void Scheduler::cancel(RequestId id) { cancelled_.insert(id); }

bool Scheduler::step() {
    drop_cancelled();
    drop_lost();
    admit();
    drop_lost();
    choose();
    if (!pieces_.empty()) run();
    return !running_.empty() || !waiting_.empty();
}

void Scheduler::drop_cancelled() {
    for (const auto id : std::exchange(cancelled_, {})) {
        const auto running = std::ranges::find(running_, id, &Running::id);
        if (running != running_.end()) {
            running->result.end = RequestEnd::Cancelled;
            finish(*running, running->result);
            continue;
        }
        const auto waiting = std::ranges::find(waiting_, id, &Waiting::id);
        if (waiting == waiting_.end()) continue;
        const auto request = std::move(waiting->request);
        waiting_.erase(waiting);
        request.done(
            RequestResult{.end = RequestEnd::Cancelled, .n_prompt = request.prompt.size()});
    }
}

void Scheduler::drop_lost() {
    std::erase_if(idle_, [&](SeqId seq) { return is_lost(seq); });
    for (auto it = running_.begin(); it != running_.end();) {
        auto& running = *it++;
        if (is_lost(running.seq)) finish(running, std::unexpected(lost_));
    }
}

// Decoding first, so that a long prompt delays no answer by more than a chunk of it. Whoever had
// its turn goes to the end of the line.
void Scheduler::choose() {
    pieces_.clear();
    size_t prompt_room = options_.prompt_chunk;
    const auto add = [&](Running& running, size_t n) {
        pieces_.push_back({.running = &running, .n_tokens = n});
    };
    const auto add_prompt = [&](Running& running) {
        const auto n = std::min(running.pending.size(), prompt_room);
        if (n > 0) add(running, n);
        prompt_room -= n;
    };
    if (!options_.batch) {
        if (!running_.empty()) add_prompt(running_.front());
    } else {
        for (auto& running : running_)
            if (!running.is_prompt() && pieces_.size() < options_.decode_batch) add(running, 1);
        prompt_room = std::min(prompt_room, engine_.options().n_ubatch - pieces_.size());
        for (auto& running : running_)
            if (running.is_prompt()) add_prompt(running);
    }
    for (const auto& piece : pieces_)
        running_.splice(running_.end(), running_,
                        std::ranges::find(running_, piece.running->id, &Running::id));
}

void Scheduler::run() {
    parts_.clear();
    for (const auto& [running, n] : pieces_)
        parts_.push_back({.seq = running->seq, .tokens = std::span(running->pending).first(n)});
    const auto logits = engine_.step(parts_);
    if (!logits) {
        for (const auto& [running, n] : pieces_) finish(*running, std::unexpected(logits.error()));
        return;
    }
    const auto n_vocab = engine_.model().hparams().n_vocab;
    for (size_t i = 0; i < pieces_.size(); ++i) {
        auto& running = *pieces_[i].running;
        const auto begin = running.pending.begin();
        running.pending.erase(begin, begin + static_cast<ptrdiff_t>(pieces_[i].n_tokens));
        // Room that an earlier one asked for may have cost this one its cells.
        if (is_lost(running.seq))
            finish(running, std::unexpected(lost_));
        else if (running.pending.empty())
            advance(running, logits->subspan(i * n_vocab, n_vocab));
    }
}

void Scheduler::advance(Running& running, std::span<const float> logits) {
    auto& result = running.result;
    const auto end = [&](RequestEnd reason) {
        result.end = reason;
        finish(running, result);
    };
    if (running.request.max_tokens == 0) return end(RequestEnd::TokenLimit);
    const auto token = running.request.next(logits);
    if (!token) return finish(running, std::unexpected(token.error()));
    if (!*token) return end(RequestEnd::Stopped);
    ++result.n_generated;
    running.pending.push_back(**token);
    if (result.n_generated >= running.request.max_tokens) return end(RequestEnd::TokenLimit);
    const auto* const sequence = engine_.cache().store().find(running.seq);
    if (sequence->written < sequence->capacity()) return;
    const auto grown = grow(running.seq);
    if (!grown) return finish(running, std::unexpected(grown.error()));
    if (*grown) return;
    if (!running.request.shift_keep) return end(RequestEnd::ContextFull);
    const auto shifted = shift_context(engine_.cache(), running.seq, *running.request.shift_keep);
    if (!shifted) {
        lost_ = shifted.error();
        return finish(running, std::unexpected(shifted.error()));
    }
    result.n_shifted += *shifted;
}

// What the request evaluated stays for others to reuse, unless a failure may have spoiled it.
void Scheduler::finish(Running& running, const Result<RequestResult>& result) {
    auto& cache = engine_.cache();
    const auto seq = running.seq;
    const auto written = engine_.n_past(seq);
    if (result && options_.reuse && written > 0) {
        MINFER_ASSERT(cache.set_capacity(seq, written));  // giving back needs no move
        idle_.push_back(seq);
    } else {
        cache.release(seq);
    }
    is_full_ = false;
    const auto request = std::move(running.request);
    running_.erase(std::ranges::find(running_, running.id, &Running::id));
    request.done(result);
}

}  // namespace minfer

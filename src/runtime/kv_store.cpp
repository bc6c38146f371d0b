#include "runtime/kv_store.h"

#include <algorithm>
#include <utility>

namespace minfer {
namespace {

bool overlap(const CellRun& a, const CellRun& b) {
    return a.rows > 0 && b.rows > 0 && a.cell < b.end() && b.cell < a.end();
}

bool inside(const CellRun& run, size_t n_ctx) {
    return run.cell <= n_ctx && run.rows <= n_ctx - run.cell;
}

// Sorted, those that overlap joined.
std::vector<CellRun> joined(std::vector<CellRun> runs) {
    std::ranges::sort(runs, {}, &CellRun::cell);
    std::vector<CellRun> result;
    for (const auto& run : runs) {
        if (run.rows == 0) continue;
        if (!result.empty() && overlap(result.back(), run))
            result.back().rows = std::max(result.back().end(), run.end()) - result.back().cell;
        else
            result.push_back(run);
    }
    return result;
}

}  // namespace

std::vector<CellRun> first_rows(std::span<const CellRun> runs, size_t rows) {
    std::vector<CellRun> result;
    for (const auto& run : runs) {
        const auto taken = std::min(run.rows, rows);
        append_run(result, {.cell = run.cell, .rows = taken});
        rows -= taken;
    }
    return result;
}

void append_run(std::vector<CellRun>& runs, const CellRun& run) {
    if (run.rows == 0) return;
    if (!runs.empty() && runs.back().end() == run.cell)
        runs.back().rows += run.rows;
    else
        runs.push_back(run);
}

size_t KvSequence::shared_rows() const {
    size_t rows = 0;
    for (const auto& run : shared) rows += run.rows;
    return rows;
}

const KvSequence* KvStore::find(SeqId seq) const {
    const auto it = sequences_.find(seq);
    return it == sequences_.end() ? nullptr : &it->second;
}

const KvSequence& KvStore::at(SeqId seq) const {
    const auto* const found = find(seq);
    MINFER_ASSERT(found);
    return *found;
}

KvSequence& KvStore::at(SeqId seq) { return const_cast<KvSequence&>(std::as_const(*this).at(seq)); }

Result<> KvStore::check_known(SeqId seq) const {
    if (find(seq)) return {};
    return fail(Fault::BadInput, "sequence {} has no cells reserved", std::to_underlying(seq));
}

std::vector<CellRun> KvStore::shared_groups() const {
    std::vector<CellRun> runs;
    for (const auto& [id, sequence] : sequences_)
        runs.insert(runs.end(), sequence.shared.begin(), sequence.shared.end());
    return joined(std::move(runs));
}

std::vector<CellRun> KvStore::gaps() const {
    auto taken = shared_groups();
    for (const auto& [id, sequence] : sequences_)
        if (sequence.own.rows > 0) taken.push_back(sequence.own);
    std::ranges::sort(taken, {}, &CellRun::cell);
    std::vector<CellRun> result;
    size_t end = 0;
    for (const auto& run : taken) {
        append_run(result, {.cell = end, .rows = run.cell - end});
        end = run.end();
    }
    append_run(result, {.cell = end, .rows = n_ctx_ - end});
    return result;
}

KvUsage KvStore::usage() const {
    auto usage = KvUsage{.n_ctx = n_ctx_, .sequences = sequences_.size()};
    for (const auto& [id, sequence] : sequences_) {
        usage.reserved += sequence.own.rows;
        usage.written += sequence.own_written();
    }
    for (const auto& group : shared_groups()) usage.shared += group.rows;
    usage.written += usage.shared;
    for (const auto& gap : gaps()) {
        usage.free += gap.rows;
        ++usage.free_runs;
        usage.largest_free_run = std::max(usage.largest_free_run, gap.rows);
    }
    return usage;
}

Result<> KvStore::reserve(SeqId seq, size_t capacity) {
    if (capacity == 0)
        return fail(Fault::BadInput, "sequence {}: room for 0 positions, at least 1 is allowed",
                    std::to_underlying(seq));
    if (const auto* const found = find(seq)) {
        if (found->capacity() >= capacity) return {};
        return fail(Fault::BadInput, "sequence {} has room for {} positions, {} are wanted",
                    std::to_underlying(seq), found->capacity(), capacity);
    }
    const auto free = gaps();
    const auto gap = std::ranges::find_if(free, [&](auto& run) { return run.rows >= capacity; });
    if (gap == free.end())
        return fail(Fault::OutOfMemory,
                    "sequence {}: no {} cells in a row are free; {} of {} are free, {} in a row",
                    std::to_underlying(seq), capacity, usage().free, n_ctx_,
                    usage().largest_free_run);
    sequences_[seq].own = {.cell = gap->cell, .rows = capacity};
    return {};
}

Result<KvChange> KvStore::reserve_or_compact(SeqId seq, size_t capacity) const {
    auto change = KvChange{.state = *this};
    auto reserved = change.state.reserve(seq, capacity);
    if (reserved) return change;
    if (reserved.error().fault != Fault::OutOfMemory || usage().free < capacity)
        return std::unexpected(std::move(reserved).error());
    change = compact(capacity);
    MINFER_TRY(change.state.reserve(seq, capacity));
    return change;
}

void KvStore::release(SeqId seq) {
    sequences_.erase(seq);
    settle();
}

Result<> KvStore::truncate(SeqId seq, size_t n) {
    MINFER_TRY(check_known(seq));
    auto& sequence = at(seq);
    if (n > sequence.written)
        return fail(Fault::BadInput, "sequence {} has {} positions, cannot be cut to {}",
                    std::to_underlying(seq), sequence.written, n);
    sequence.written = n;
    sequence.shared = first_rows(sequence.shared, std::min(n, sequence.shared_rows()));
    settle();
    return {};
}

Result<> KvStore::check_append(SeqId seq, size_t n) const {
    MINFER_TRY(check_known(seq));
    const auto& sequence = at(seq);
    if (n <= sequence.capacity() - sequence.written) return {};
    return fail(Fault::BadInput,
                "sequence {}: {} tokens after the {} already evaluated do not fit its room for {}",
                std::to_underlying(seq), n, sequence.written, sequence.capacity());
}

void KvStore::append(SeqId seq, size_t n) {
    auto& sequence = at(seq);
    MINFER_ASSERT(n <= sequence.capacity() - sequence.written);
    sequence.written += n;
}

size_t KvStore::cell(SeqId seq, size_t position) const {
    const auto& sequence = at(seq);
    for (const auto& run : sequence.shared) {
        if (position < run.rows) return run.cell + position;
        position -= run.rows;
    }
    MINFER_ASSERT(position < sequence.own.rows);
    return sequence.own.cell + position;
}

std::vector<CellRun> KvStore::runs(SeqId seq, size_t n) const {
    std::vector<CellRun> result;
    runs(seq, n, result);
    return result;
}

void KvStore::runs(SeqId seq, size_t n, std::vector<CellRun>& to) const {
    const auto& sequence = at(seq);
    MINFER_ASSERT(n > 0 && n <= sequence.capacity());
    to.clear();
    for (const auto& run : sequence.shared) {
        const auto taken = std::min(run.rows, n);
        append_run(to, {.cell = run.cell, .rows = taken});
        n -= taken;
    }
    append_run(to, {.cell = sequence.own.cell, .rows = n});
}

// Runs that became neighbours are one, and cells that only their last reader still shares are its
// own again when they lie before its own.
void KvStore::settle() {
    for (auto& [id, sequence] : sequences_) {
        std::vector<CellRun> shared;
        for (const auto& run : sequence.shared) append_run(shared, run);
        sequence.shared = std::move(shared);
        if (sequence.shared.empty()) continue;
        auto& last = sequence.shared.back();
        if (last.end() != sequence.own.cell) continue;
        auto read_until = last.cell;
        for (const auto& [other, reader] : sequences_)
            if (other != id)
                for (const auto& run : reader.shared)
                    if (overlap(run, last)) read_until = std::max(read_until, run.end());
        if (read_until >= last.end()) continue;
        const auto rows = last.end() - read_until;
        sequence.own = {.cell = read_until, .rows = sequence.own.rows + rows};
        last.rows -= rows;
        if (last.rows == 0) sequence.shared.pop_back();
    }
}

Result<> KvStore::check() const {
    for (const auto& [id, sequence] : sequences_) {
        const auto bad = [&](std::string_view what) {
            return fail(Fault::BadInput, "sequence {}: {}", std::to_underlying(id), what);
        };
        if (sequence.shared.size() >= kKvMapMaxSpans) return bad("too many shared runs of cells");
        auto runs = sequence.shared;
        runs.push_back(sequence.own);
        for (const auto& run : runs)
            if (!inside(run, n_ctx_)) return bad("a run of cells leaves the arena");
        for (const auto& run : sequence.shared)
            if (run.rows == 0) return bad("a shared run of no cells");
        for (size_t i = 0; i < runs.size(); ++i)
            for (size_t j = 0; j < i; ++j)
                if (overlap(runs[i], runs[j])) return bad("two of its runs have cells in common");
        if (sequence.written < sequence.shared_rows() || sequence.written > sequence.capacity())
            return bad("more or fewer positions written than its runs hold");
        for (const auto& [other, reader] : sequences_) {
            if (other == id) continue;
            if (overlap(sequence.own, reader.own)) return bad("its own cells are another's, too");
            for (const auto& run : reader.shared)
                if (overlap(sequence.own, run)) return bad("another reads its own cells");
        }
    }
    return {};
}

bool KvChange::overwrites(const KvStore& before, SeqId seq) const {
    const auto* const sequence = before.find(seq);
    if (!sequence || sequence->written == 0) return false;
    const auto runs = before.runs(seq, sequence->written);
    const auto reads = [&](const CellRun& cells) {
        return std::ranges::any_of(runs, [&](auto& run) { return overlap(run, cells); });
    };
    return (rotation && reads(rotation->cells)) || std::ranges::any_of(moves, [&](auto& move) {
               return reads({.cell = move.to, .rows = move.rows});
           });
}

Result<KvStore> KvStore::from_parts(size_t n_ctx, std::map<SeqId, KvSequence> sequences,
                                    KvCounters counters) {
    auto store = KvStore(n_ctx);
    store.sequences_ = std::move(sequences);
    store.counters_ = counters;
    MINFER_TRY(store.check());
    return store;
}

}  // namespace minfer

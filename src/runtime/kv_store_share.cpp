// Sharing and its undoing: which rows are read in place, which are copied, which slide down.
#include <algorithm>
#include <utility>

#include "runtime/kv_store.h"

namespace minfer {
namespace {

// What is left of the runs behind their first `rows` cells.
std::vector<CellRun> after_rows(std::span<const CellRun> runs, size_t rows) {
    std::vector<CellRun> result;
    for (const auto& run : runs) {
        const auto skipped = std::min(run.rows, rows);
        append_run(result, {.cell = run.cell + skipped, .rows = run.rows - skipped});
        rows -= skipped;
    }
    return result;
}

// Copies runs to cells that none of them touches.
void copy_runs(std::span<const CellRun> runs, size_t to, std::vector<CellMove>& moves) {
    for (const auto& run : runs) {
        moves.push_back({.to = to, .from = run.cell, .rows = run.rows});
        to += run.rows;
    }
}

void move_rows(size_t to, size_t from, size_t rows, std::vector<CellMove>& moves) {
    if (rows > 0 && to != from) moves.push_back({.to = to, .from = from, .rows = rows});
}

}  // namespace

Result<> KvStore::check_prefix(SeqId from, SeqId to, size_t rows) const {
    MINFER_TRY(check_known(from));
    MINFER_TRY(check_known(to));
    const auto from_id = std::to_underlying(from), to_id = std::to_underlying(to);
    if (from == to)
        return fail(Fault::BadInput, "sequence {} cannot take its prefix from itself", to_id);
    if (rows == 0 || rows > at(from).written)
        return fail(Fault::BadInput,
                    "a prefix of {} positions of sequence {}, which has {}; at least 1 is allowed",
                    rows, from_id, at(from).written);
    if (at(to).written > 0)
        return fail(Fault::BadInput,
                    "sequence {} has {} positions and cannot take a prefix of another", to_id,
                    at(to).written);
    return {};
}

Result<> KvStore::share_prefix(SeqId from, SeqId to, size_t rows) {
    MINFER_TRY(check_prefix(from, to, rows));
    auto& donor = at(from);
    auto donor_runs = donor.shared;
    // The part of the prefix that was the donor's own.
    const auto fresh = rows - std::min(rows, donor.shared_rows());
    append_run(donor_runs, {.cell = donor.own.cell, .rows = fresh});
    const auto reader_runs = first_rows(donor_runs, rows);
    constexpr auto kMost = kKvMapMaxSpans - 1;
    if (donor_runs.size() > kMost || reader_runs.size() > kMost)
        return fail(Fault::BadInput,
                    "sharing {} positions of sequence {} takes {} runs of cells, {} and the "
                    "reader's own are allowed",
                    rows, std::to_underlying(from), std::max(donor_runs.size(), reader_runs.size()),
                    kMost);
    donor.shared = std::move(donor_runs);
    donor.own = {.cell = donor.own.cell + fresh, .rows = donor.own.rows - fresh};
    auto& reader = at(to);
    reader.shared = reader_runs;
    reader.written = rows;
    return {};
}

Result<KvChange> KvStore::copy_prefix(SeqId from, SeqId to, size_t rows) const {
    MINFER_TRY(check_prefix(from, to, rows));
    if (rows > at(to).own.rows)
        return fail(Fault::OutOfMemory, "a prefix of {} positions, sequence {} has room for {}",
                    rows, std::to_underlying(to), at(to).own.rows);
    auto change = KvChange{.state = *this};
    copy_runs(runs(from, rows), at(to).own.cell, change.moves);
    change.state.at(to).written = rows;
    return change;
}

Result<KvChange> KvStore::make_own(SeqId seq, size_t first) const {
    MINFER_TRY(check_known(seq));
    const auto& before = at(seq);
    auto change = KvChange{.state = *this};
    if (first >= before.shared_rows()) return change;
    const auto rows = before.shared_rows() - first;
    if (before.own_written() + rows > before.own.rows)
        return fail(Fault::OutOfMemory,
                    "sequence {}: {} shared rows and {} own ones do not fit its {} own cells",
                    std::to_underlying(seq), rows, before.own_written(), before.own.rows);
    move_rows(before.own.cell + rows, before.own.cell, before.own_written(), change.moves);
    copy_runs(after_rows(before.shared, first), before.own.cell, change.moves);
    change.state.at(seq).shared = first_rows(before.shared, first);
    ++change.state.counters_.copies_on_write;
    change.state.counters_.rows_copied_on_write += rows;
    change.state.settle();
    return change;
}

Result<KvChange> KvStore::remove(SeqId seq, size_t first, size_t rows) const {
    MINFER_TRY(check_known(seq));
    const auto& before = at(seq);
    if (first > before.written || rows > before.written - first)
        return fail(Fault::BadInput, "positions [{}, {} + {}) of sequence {}, which has {}", first,
                    first, rows, std::to_underlying(seq), before.written);
    auto change = KvChange{.state = *this};
    if (rows == 0) return change;
    const auto end = first + rows, shared = before.shared_rows();
    const auto kept = std::min(first, shared);
    // Survivors behind the gap: what was shared is copied, what was the sequence's own moves.
    const auto copied = shared - std::min(end, shared);
    const auto moved_from = std::max(end, shared) - shared;  // within its own cells
    const auto moved = before.own_written() - moved_from;
    const auto to = first - kept;  // own row of the first survivor
    if (to + copied + moved > before.own.rows)
        return fail(Fault::OutOfMemory,
                    "sequence {}: {} rows that others read have to be copied, its {} own cells do "
                    "not hold them and {} more",
                    std::to_underlying(seq), copied, before.own.rows, to + moved);
    const auto own = before.own.cell;
    move_rows(own + to + copied, own + moved_from, moved, change.moves);
    copy_runs(after_rows(before.shared, end), own + to, change.moves);
    auto& after = change.state.at(seq);
    after.shared = first_rows(before.shared, kept);
    after.written = before.written - rows;
    if (copied + moved > 0)
        change.rotation = {
            .cells = {.cell = own + to, .rows = copied + moved}, .position = first, .by = rows};
    if (copied > 0) {
        ++change.state.counters_.copies_on_write;
        change.state.counters_.rows_copied_on_write += copied;
    }
    change.state.settle();
    return change;
}

}  // namespace minfer

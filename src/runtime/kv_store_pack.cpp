// Moving whole sequences: compaction, and growth that needs it.
#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/kv_store.h"

namespace minfer {

// What moves as one: a sequence's own cells, or shared cells with all who read them.
struct KvStore::Segment {
    CellRun cells;
    size_t live = 0;    // rows that hold something, the first ones
    KvSequence* owner;  // in the store that is being changed; null for shared cells
    size_t to = 0;      // where it goes
    size_t rows = 0;    // and how many cells it has there
};

std::vector<KvStore::Segment> KvStore::segments(KvStore& store) {
    std::vector<Segment> result;
    for (const auto& group : store.shared_groups())
        result.push_back(
            {.cells = group, .live = group.rows, .owner = nullptr, .rows = group.rows});
    for (auto& [id, sequence] : store.sequences_)
        result.push_back({.cells = sequence.own,
                          .live = sequence.own_written(),
                          .owner = &sequence,
                          .rows = sequence.own.rows});
    // An empty run goes with what lies before it.
    std::ranges::sort(result, {}, [](const Segment& segment) {
        return std::pair(segment.cells.cell, segment.cells.end());
    });
    return result;
}

// Segments that go up are moved first, the highest first, then those that go down, the lowest
// first: as none overtakes another, no move lands on rows that were not yet copied.
void KvStore::place(std::vector<Segment>& segments, KvChange& change) {
    const auto move = [&](const Segment& segment) {
        if (segment.live == 0) return;
        change.moves.push_back(
            {.to = segment.to, .from = segment.cells.cell, .rows = segment.live});
        change.state.counters_.cells_moved += segment.live;
    };
    for (auto it = segments.rbegin(); it != segments.rend(); ++it)
        if (it->to > it->cells.cell) move(*it);
    for (const auto& segment : segments)
        if (segment.to < segment.cells.cell) move(segment);
    for (auto& [id, sequence] : change.state.sequences_)
        for (auto& run : sequence.shared) {
            const auto group = std::ranges::find_if(segments, [&](const Segment& segment) {
                return !segment.owner && segment.cells.cell <= run.cell &&
                       run.end() <= segment.cells.end();
            });
            MINFER_ASSERT(group != segments.end());
            run.cell = group->to + (run.cell - group->cells.cell);
        }
    for (const auto& segment : segments)
        if (segment.owner) segment.owner->own = {.cell = segment.to, .rows = segment.rows};
    if (!change.moves.empty()) ++change.state.counters_.compactions;
    change.state.settle();
}

KvChange KvStore::compact(size_t need) const {
    auto change = KvChange{.state = *this};
    auto all = segments(change.state);
    size_t end = 0;
    bool open = false;
    for (auto& segment : all) {
        open = open || segment.cells.cell - std::min(end, segment.cells.cell) >= need;
        segment.to = open ? segment.cells.cell : end;
        end = segment.to + segment.rows;
    }
    place(all, change);
    return change;
}

Result<KvChange> KvStore::set_capacity(SeqId seq, size_t capacity) const {
    MINFER_TRY(check_known(seq));
    const auto& before = at(seq);
    if (capacity < before.written || capacity == 0)
        return fail(Fault::BadInput,
                    "sequence {}: room for {} positions, at least {} are allowed as so many are "
                    "written",
                    std::to_underlying(seq), capacity, std::max<size_t>(before.written, 1));
    auto change = KvChange{.state = *this};
    const auto rows = capacity - before.shared_rows();
    auto& own = change.state.at(seq).own;
    own.rows = 0;  // its cells count as free while a place is looked for
    const auto free = change.state.gaps();
    const auto holds = [&](const CellRun& gap) {
        return gap.cell <= before.own.cell && before.own.cell + rows <= gap.end();
    };
    if (rows <= before.own.rows || std::ranges::any_of(free, holds)) {
        own.rows = rows;
        change.state.settle();
        return change;
    }
    const auto gap = std::ranges::find_if(free, [&](auto& run) { return run.rows >= rows; });
    if (gap != free.end()) {
        own = {.cell = gap->cell, .rows = rows};
        if (before.own_written() > 0 && own.cell != before.own.cell)
            change.moves.push_back(
                {.to = own.cell, .from = before.own.cell, .rows = before.own_written()});
        change.state.counters_.cells_moved += before.own_written();
        change.state.settle();
        return change;
    }
    own = before.own;
    const auto other_cells = n_ctx_ - usage().free - before.own.rows;
    if (rows > n_ctx_ - other_cells)
        return fail(Fault::OutOfMemory,
                    "sequence {}: room for {} positions takes {} cells, {} of {} are not taken by "
                    "others",
                    std::to_underlying(seq), capacity, rows, n_ctx_ - other_cells, n_ctx_);
    auto all = segments(change.state);
    size_t end = 0;
    for (auto& segment : all) {
        if (segment.owner == &change.state.at(seq)) segment.rows = rows;
        segment.to = std::exchange(end, end + segment.rows);
    }
    place(all, change);
    return change;
}

}  // namespace minfer

#pragma once
// Which cell of the KV arena holds which position of which sequence: pure bookkeeping, one for all
// layers, that touches no memory of a device.
//
// A sequence's positions lie in up to four runs of cells: first those it shares, which nobody
// writes while anybody reads them, then its own, which nobody else reads. Sharing a prefix turns
// the donor's cells into shared ones for both sides; the donor then goes on like any other reader,
// and may be truncated, moved or released in any order. Cells are free when no run covers them.
//
// Whatever needs rows to be moved is asked for as a KvChange: the moves, and the store as it is
// once they are done. The caller moves the rows and then assigns the state; after a failure there
// is nothing to take back.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "graph/op.h"

namespace minfer {

enum class SeqId : uint32_t {};
constexpr SeqId kMainSequence{0};

// Cells [cell, cell + rows).
struct CellRun {
    size_t cell = 0, rows = 0;
    size_t end() const { return cell + rows; }
    bool operator==(const CellRun&) const = default;
};

// Rows to be copied within each layer's regions, with memmove semantics.
struct CellMove {
    size_t to = 0, from = 0, rows = 0;
    bool operator==(const CellMove&) const = default;
};

// The first `rows` cells of all these runs together.
std::vector<CellRun> first_rows(std::span<const CellRun> runs, size_t rows);
// Adds a run behind the others, as part of the last one where it goes on from there.
void append_run(std::vector<CellRun>& runs, const CellRun& run);

struct KvSequence {
    std::vector<CellRun> shared;  // the first positions, at most kKvMapMaxSpans - 1 runs
    CellRun own;                  // the positions behind them; `rows` is room, not all written
    size_t written = 0;           // positions that can be read, the shared ones among them

    size_t shared_rows() const;
    size_t own_written() const { return written - shared_rows(); }
    size_t capacity() const { return shared_rows() + own.rows; }  // positions there is room for
    bool operator==(const KvSequence&) const = default;
};

// What happened since the store was made; part of a session.
struct KvCounters {
    uint64_t compactions = 0, cells_moved = 0;
    uint64_t copies_on_write = 0, rows_copied_on_write = 0;
    bool operator==(const KvCounters&) const = default;
};

struct KvUsage {
    size_t n_ctx = 0, sequences = 0;
    size_t reserved = 0;  // cells that are some sequence's own
    size_t shared = 0;    // cells that are read through a shared run
    size_t written = 0;   // cells that hold a readable row
    size_t free = 0, free_runs = 0, largest_free_run = 0;
};

struct KvChange;

class KvStore {
  public:
    explicit KvStore(size_t n_ctx) : n_ctx_(n_ctx) {}

    size_t n_ctx() const { return n_ctx_; }
    const std::map<SeqId, KvSequence>& sequences() const { return sequences_; }
    const KvSequence* find(SeqId seq) const;  // null for one that has nothing reserved
    const KvCounters& counters() const { return counters_; }
    KvUsage usage() const;

    // Room for `capacity` positions in the lowest gap that has it. A sequence with as much room is
    // left alone, one with less is BadInput (set_capacity() grows). OutOfMemory, naming the largest
    // gap, when there is none; BadInput for a capacity of 0.
    Result<> reserve(SeqId seq, size_t capacity);
    // The same, after compacting as far as it takes.
    Result<KvChange> reserve_or_compact(SeqId seq, size_t capacity) const;

    // Forgets the sequence. Cells that others still read stay taken.
    void release(SeqId seq);

    // Forgets the positions from `n` on; BadInput when fewer are written.
    Result<> truncate(SeqId seq, size_t n);

    // Grows or shrinks the room for positions: in place, by moving the sequence to a gap, or by
    // packing all of them. Not below what is written (BadInput); OutOfMemory, naming need and
    // room, when the arena cannot hold it.
    Result<KvChange> set_capacity(SeqId seq, size_t capacity) const;

    // `to` reads the first `rows` positions of `from` in place. `to` must have room reserved and
    // nothing written; BadInput otherwise, for rows of 0 or more than are written, for a sequence
    // with itself, and when either side would need more than four runs.
    Result<> share_prefix(SeqId from, SeqId to, size_t rows);
    // The same by copying the rows into the room of `to`.
    Result<KvChange> copy_prefix(SeqId from, SeqId to, size_t rows) const;

    // Copies what the sequence shares from position `first` on into cells of its own, so that these
    // may be changed: copy-on-write. OutOfMemory when its room does not hold them.
    Result<KvChange> make_own(SeqId seq, size_t first) const;

    // Removes positions [first, first + rows); those behind slide down and are turned back.
    // BadInput unless all of the positions are written, OutOfMemory when survivors that were shared
    // do not fit.
    Result<KvChange> remove(SeqId seq, size_t first, size_t rows) const;

    // Moves everything down to cell 0, in order, rooms kept; with `need`, no further than until a
    // gap of so many cells is open. Positions do not change.
    KvChange compact(size_t need = SIZE_MAX) const;

    // `n` more positions can be written: BadInput naming the room, or that there is none.
    Result<> check_append(SeqId seq, size_t n) const;
    // They were: to be called after the step that wrote them succeeded.
    void append(SeqId seq, size_t n);

    // The cell of a position there is room for.
    size_t cell(SeqId seq, size_t position) const;
    // The cells of positions [0, n), in order, neighbours joined: 1 to kKvMapMaxSpans runs.
    // n of 1 up to the capacity.
    std::vector<CellRun> runs(SeqId seq, size_t n) const;
    // The same into `to`, which allocates nothing once it has had so many.
    void runs(SeqId seq, size_t n, std::vector<CellRun>& to) const;

    // BadInput naming the sequence unless everything above holds: runs inside the arena, own cells
    // nobody else's, no more written than there is room for.
    Result<> check() const;
    // A store of which check() holds, from what a session kept.
    static Result<KvStore> from_parts(size_t n_ctx, std::map<SeqId, KvSequence> sequences,
                                      KvCounters counters);

    bool operator==(const KvStore&) const = default;

  private:
    KvSequence& at(SeqId seq);
    const KvSequence& at(SeqId seq) const;
    Result<> check_known(SeqId seq) const;
    std::vector<CellRun> gaps() const;           // sorted
    std::vector<CellRun> shared_groups() const;  // sorted, those that overlap joined
    Result<> check_prefix(SeqId from, SeqId to, size_t rows) const;
    void settle();
    struct Segment;
    static std::vector<Segment> segments(KvStore& store);  // from cell 0 on
    static void place(std::vector<Segment>& segments, KvChange& change);

    size_t n_ctx_;
    std::map<SeqId, KvSequence> sequences_;
    KvCounters counters_;
};

// Cells whose keys were rotated for positions that are too high by `by`.
struct KvRotation {
    CellRun cells;
    size_t position = 0;  // of the first cell, as it is to be
    size_t by = 0;
};

struct KvChange {
    std::vector<CellMove> moves;         // in this order
    std::optional<KvRotation> rotation;  // after the moves
    KvStore state;                       // once that is done

    // Does carrying it out write to cells that `seq` can read before? After a failure they may hold
    // anything.
    bool overwrites(const KvStore& before, SeqId seq) const;
};

}  // namespace minfer

// The bookkeeping against a reference in which every sequence owns a cache of its own: random
// operations, the moves carried out on an arena of tags, and every readable row compared.
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "runtime/kv_store.h"
#include "support/kv_script.h"

namespace minfer::test {
namespace {

// A row: which append wrote it, and how many positions its key was turned back since.
struct Tag {
    uint64_t written = 0;
    int64_t turned = 0;
    bool operator==(const Tag&) const = default;
};

class World {
  public:
    explicit World(size_t n_ctx) : store_(n_ctx), arena_(n_ctx) {}

    // "" or what differs from the reference.
    std::string run(const KvOp& op) {
        const auto seq = SeqId{op.seq}, other = SeqId{op.other};
        const auto before = store_;
        const auto failed = !apply(op, seq, other);
        if (failed && store_ != before) return "a refused operation changed the store";
        if (!failed) ++done_[op.kind];
        return check();
    }

    // How often an operation of each kind was carried out.
    const std::array<size_t, KvOp::kCount>& done() const { return done_; }

  private:
    bool apply(const KvOp& op, SeqId seq, SeqId other) {
        auto& rows = reference_[op.seq];
        switch (op.kind) {
            case KvOp::Reserve:
                return store_.reserve(seq, op.a).has_value();
            case KvOp::ReserveOrCompact:
                return take(store_.reserve_or_compact(seq, op.a));
            case KvOp::Release:
                store_.release(seq);
                rows.clear();
                return true;
            case KvOp::Append:
                return append(seq, op.a);
            case KvOp::Truncate:
                if (!store_.truncate(seq, op.a)) return false;
                rows.resize(op.a);
                return true;
            case KvOp::SetCapacity:
                return take(store_.set_capacity(seq, op.a));
            case KvOp::Share:
                if (!store_.share_prefix(seq, other, op.a)) return false;
                reference_[op.other].assign(rows.begin(),
                                            rows.begin() + static_cast<ptrdiff_t>(op.a));
                return true;
            case KvOp::Copy:
                if (!take(store_.copy_prefix(seq, other, op.a))) return false;
                reference_[op.other].assign(rows.begin(),
                                            rows.begin() + static_cast<ptrdiff_t>(op.a));
                return true;
            case KvOp::MakeOwn:
                return take(store_.make_own(seq, op.a));
            case KvOp::Remove: {
                if (!take(store_.remove(seq, op.a, op.b))) return false;
                const auto first = rows.begin() + static_cast<ptrdiff_t>(op.a);
                rows.erase(first, first + static_cast<ptrdiff_t>(op.b));
                for (size_t i = op.a; i < rows.size(); ++i)
                    rows[i].turned += static_cast<int64_t>(op.b);
                return true;
            }
            case KvOp::Compact:
                return take(Result<KvChange>(store_.compact(op.a)));
            case KvOp::kCount:
                break;
        }
        return false;
    }

    bool append(SeqId seq, size_t n) {
        if (!store_.check_append(seq, n)) return false;
        const auto from = store_.find(seq)->written;
        for (size_t i = 0; i < n; ++i) {
            const auto tag = Tag{.written = ++last_};
            arena_[store_.cell(seq, from + i)] = tag;
            reference_[std::to_underlying(seq)].push_back(tag);
        }
        store_.append(seq, n);
        return true;
    }

    bool take(Result<KvChange> change) {
        if (!change) return false;
        for (const auto& move : change->moves) {
            const auto rows =
                std::vector<Tag>(arena_.begin() + static_cast<ptrdiff_t>(move.from),
                                 arena_.begin() + static_cast<ptrdiff_t>(move.from + move.rows));
            std::ranges::copy(rows, arena_.begin() + static_cast<ptrdiff_t>(move.to));
        }
        if (const auto& turned = change->rotation)
            for (auto cell = turned->cells.cell; cell < turned->cells.end(); ++cell)
                arena_[cell].turned += static_cast<int64_t>(turned->by);
        store_ = std::move(change->state);
        return true;
    }

    std::string check() const {
        if (const auto sound = store_.check(); !sound) return sound.error().what;
        for (const auto& [id, rows] : reference_) {
            const auto* const sequence = store_.find(SeqId{id});
            if ((sequence ? sequence->written : 0) != rows.size())
                return fmt::format("sequence {} has another number of rows", id);
            if (rows.empty()) continue;
            const auto runs = store_.runs(SeqId{id}, rows.size());
            if (runs.size() > kKvMapMaxSpans) return fmt::format("sequence {}: too many runs", id);
            size_t position = 0;
            for (const auto& run : runs)
                for (auto cell = run.cell; cell < run.end(); ++cell, ++position)
                    if (arena_[cell] != rows[position] || store_.cell(SeqId{id}, position) != cell)
                        return fmt::format("sequence {}, position {} is another row", id, position);
            if (position != rows.size()) return fmt::format("sequence {}: rows are missing", id);
        }
        const auto usage = store_.usage();
        if (usage.reserved + usage.shared + usage.free != usage.n_ctx)
            return "cells are neither free nor taken";
        return {};
    }

    KvStore store_;
    std::vector<Tag> arena_;
    std::map<uint32_t, std::vector<Tag>> reference_;
    uint64_t last_ = 0;
    std::array<size_t, KvOp::kCount> done_{};
};

TEST(KvStoreModel, RandomOperationsKeepEachSequenceWhatItsOwnCacheWouldBe) {
    constexpr size_t kSeeds = 20, kOps = 20000;
    std::array<size_t, KvOp::kCount> done{};
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
        const auto n_ctx = size_t{32} << (seed % 3);
        const auto run = [&](const KvScript& script) {
            auto world = World(n_ctx);
            for (const auto& op : script)
                if (const auto what = world.run(op); !what.empty()) return what;
            for (size_t kind = 0; kind < KvOp::kCount; ++kind) done[kind] += world.done()[kind];
            return std::string();
        };
        const auto script = random_script(seed, kOps, 6, n_ctx / 2, 8);
        const auto what = run(script);
        ASSERT_EQ(what, "") << "seed " << seed << ", cut down to\n"
                            << describe(shrink(script, [&](const KvScript& shorter) {
                                   return !run(shorter).empty();
                               }));
    }
    for (size_t kind = 0; kind < KvOp::kCount; ++kind)
        EXPECT_GT(done[kind], kSeeds * 20) << "operations of kind " << kind << " were refused";
}

}  // namespace
}  // namespace minfer::test

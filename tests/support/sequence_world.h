#pragma once
// Scripts of KV operations (kv_script.h) run on an engine with one arena for all sequences, and on
// one engine for each sequence whose cells are its own and dense: what every sequence answers must
// be the same.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/engine.h"
#include "runtime/turn_keys.h"
#include "support/kv_script.h"
#include "support/nmse.h"

namespace minfer::test {

class SequenceWorld {
  public:
    using Make = std::function<std::unique_ptr<Engine>()>;

    // `bar`: NMSE of logits against those of the sequence alone; 0 asks for equal bits.
    SequenceWorld(const Make& make, double bar) : make_(make), engine_(make()), bar_(bar) {}

    // Nothing, or what differs.
    std::string run(const KvOp& op) {
        const auto before = engine_->cache().store();
        const auto done = apply(op);
        if (!what_.empty()) return what_;
        if (!done && engine_->cache().store() != before)
            return "a refused operation changed the store";
        done_[op.kind] += done;
        if (const auto sound = engine_->cache().store().check(); !sound) return sound.error().what;
        for (const auto& [id, alone] : alone_)
            if (engine_->n_past(SeqId{id}) != alone->n_past())
                return fmt::format("sequence {} has {} positions, not {}", id,
                                   engine_->n_past(SeqId{id}), alone->n_past());
        for (const auto& [id, sequence] : engine_->cache().store().sequences())
            if (engine_->cache().tokens().at(id).ids.size() != sequence.written)
                return "tokens and positions do not agree";
        return {};
    }

    const std::array<size_t, KvOp::kCount>& done() const { return done_; }
    double worst_nmse() const { return worst_; }

  private:
    Engine& alone(uint32_t id) {
        auto& engine = alone_[id];
        if (!engine) engine = make_();
        return *engine;
    }

    bool apply(const KvOp& op) {
        auto& cache = engine_->cache();
        const auto seq = SeqId{op.seq}, other = SeqId{op.other};
        switch (op.kind) {
            case KvOp::Reserve:
            case KvOp::ReserveOrCompact:
                return cache.reserve(seq, op.a).has_value();
            case KvOp::Release:
                cache.release(seq);
                alone(op.seq).truncate(0);
                return true;
            case KvOp::Append:
                return append(op);
            case KvOp::Truncate:
                if (!cache.truncate(seq, op.a)) return false;
                alone(op.seq).truncate(op.a);
                return true;
            case KvOp::SetCapacity:
                return cache.set_capacity(seq, op.a).has_value();
            case KvOp::Share:
                if (!cache.share_prefix(seq, other, op.a)) return false;
                copy(alone(op.seq), alone(op.other), op.a);
                return true;
            case KvOp::Copy:
                if (!cache.copy_prefix(seq, other, op.a)) return false;
                copy(alone(op.seq), alone(op.other), op.a);
                return true;
            case KvOp::MakeOwn:
                return cache.make_own(seq, op.a).has_value();
            case KvOp::Remove:
                if (!cache.remove(seq, op.a, op.b)) return false;
                remove(alone(op.seq), op.a, op.b);
                return true;
            case KvOp::Compact:
                return cache.compact(op.a).has_value();
            case KvOp::kCount:
                break;
        }
        return false;
    }

    // One sequence's tokens; every other time with those of a second sequence in the same graph.
    bool append(const KvOp& op) {
        std::vector<std::vector<TokenId>> tokens = {next_tokens(op.a)};
        std::vector<uint32_t> ids = {op.seq};
        if (op.other != op.seq && op.b % 2) {
            tokens.push_back(next_tokens(1 + op.b % 8));
            ids.push_back(op.other);
        }
        std::vector<BatchPart> parts;
        for (size_t i = 0; i < ids.size(); ++i)
            parts.push_back({.seq = SeqId{ids[i]}, .tokens = tokens[i]});
        const auto logits = engine_->step(parts);
        if (!logits) {
            if (logits.error().fault != Fault::BadInput) what_ = logits.error().what;
            return false;
        }
        const auto n_vocab = engine_->model().hparams().n_vocab;
        for (size_t i = 0; i < ids.size(); ++i) {
            const auto want = alone(ids[i]).evaluate(tokens[i]);
            if (!want) {
                what_ = want.error().what;
                return false;
            }
            const auto got = logits->subspan(i * n_vocab, n_vocab);
            if (std::ranges::equal(got, *want)) continue;
            const auto error = nmse(got, *want);
            worst_ = std::max(worst_, error);
            if (!(error <= bar_))
                what_ = fmt::format("sequence {}: logits after {} positions are {:.3g} off", ids[i],
                                    engine_->n_past(SeqId{ids[i]}), error);
        }
        return true;
    }

    std::vector<TokenId> next_tokens(size_t n) {
        std::vector<TokenId> tokens(n);
        for (auto& token : tokens) {
            state_ = state_ * 6364136223846793005u + 1442695040888963407u;
            token = static_cast<TokenId>((state_ >> 33) % 250);
        }
        return tokens;
    }

    // The first `rows` positions of a dense cache to another one.
    void copy(Engine& from, Engine& to, size_t rows) {
        make_room(to);
        to.truncate(0);
        for_cells([&](size_t layer, KvCache::Part part) {
            write(to, layer, part, read(from, layer, part, rows));
        });
        const auto& tokens = from.cache().tokens().at(kMainSequence).ids;
        to.cache().append(kMainSequence, std::span(tokens).first(rows));
    }

    void remove(Engine& engine, size_t first, size_t rows) {
        const auto n_past = engine.n_past();
        const auto& hp = engine.model().hparams();
        const auto& layout = engine.cache().layout();
        for_cells([&](size_t layer, KvCache::Part part) {
            auto cells = read(engine, layer, part, n_past);
            const auto at = [&](size_t row) {
                return cells.begin() + static_cast<ptrdiff_t>(row * layout.row_bytes);
            };
            cells.erase(at(first), at(first + rows));
            if (part == KvCache::Part::Keys)
                turn_keys_back(std::span(cells).subspan(first * layout.row_bytes), layout,
                               {.freq_base = hp.rope_freq_base,
                                .freq_scale = hp.rope_freq_scale,
                                .n_head = hp.n_head_kv,
                                .head_dim = hp.head_dim},
                               first, rows);
            write(engine, layer, part, cells);
        });
        engine.truncate(n_past - rows);
    }

    static void make_room(Engine& engine) {
        if (!engine.cache().store().find(kMainSequence))
            EXPECT_TRUE(engine.cache().reserve(kMainSequence, engine.n_ctx()));
    }

    void for_cells(const std::function<void(size_t, KvCache::Part)>& f) const {
        for (size_t layer = 0; layer < engine_->cache().n_layer(); ++layer)
            for (const auto part : {KvCache::Part::Keys, KvCache::Part::Values}) f(layer, part);
    }
    static std::vector<std::byte> read(Engine& engine, size_t layer, KvCache::Part part,
                                       size_t rows) {
        std::vector<std::byte> cells(rows * engine.cache().layout().row_bytes);
        if (rows > 0) EXPECT_TRUE(engine.cache().read(layer, part, 0, cells));
        return cells;
    }
    static void write(Engine& engine, size_t layer, KvCache::Part part,
                      const std::vector<std::byte>& cells) {
        if (!cells.empty()) EXPECT_TRUE(engine.cache().write(layer, part, 0, cells));
    }

    Make make_;
    std::unique_ptr<Engine> engine_;
    std::map<uint32_t, std::unique_ptr<Engine>> alone_;
    double bar_, worst_ = 0;
    std::array<size_t, KvOp::kCount> done_{};
    std::string what_;
    uint64_t state_ = 1;
};

}  // namespace minfer::test

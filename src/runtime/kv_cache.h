#pragma once
// The cells of an engine's sequences together with their memory: what KvStore decides is carried
// out here, in every layer and on whatever backend a layer lies, and counts only once it was.
//
// After an error of a backend nothing has changed, except that sequences whose rows it may have
// spoiled are gone; the message names them.

#include <functional>
#include <span>
#include <vector>

#include "graph/backend.h"
#include "runtime/kv_store.h"

namespace minfer {

class KvCache {
  public:
    // One layer's regions, of n_ctx rows each.
    struct Layer {
        Backend* backend;
        KvPair regions;
    };
    enum class Part : uint8_t { Keys, Values };

    // `rope`: how the model's keys are rotated. The backends outlive the cache.
    KvCache(size_t n_ctx, KvLayout layout, op::Rope rope, std::vector<Layer> layers);

    const KvStore& store() const { return store_; }
    const KvLayout& layout() const { return layout_; }
    size_t n_layer() const { return layers_.size(); }

    // As the functions of KvStore with these names; reserve() compacts when it has to.
    Result<> reserve(SeqId seq, size_t capacity);
    void release(SeqId seq) { store_.release(seq); }
    Result<> truncate(SeqId seq, size_t n) { return store_.truncate(seq, n); }
    Result<> set_capacity(SeqId seq, size_t capacity);
    Result<> share_prefix(SeqId from, SeqId to, size_t rows);
    Result<> copy_prefix(SeqId from, SeqId to, size_t rows);
    Result<> make_own(SeqId seq, size_t first);
    // Survivors keep what they took from the removed positions when they were computed.
    Result<> remove(SeqId seq, size_t first, size_t rows);
    Result<> compact(size_t need = SIZE_MAX);
    void append(SeqId seq, size_t n) { store_.append(seq, n); }

    // Whole cells in the layout of KvLayout's comment, after all work that was submitted before.
    Result<> read(size_t layer, Part part, size_t first_cell, std::span<std::byte> to);
    Result<> write(size_t layer, Part part, size_t first_cell, std::span<const std::byte> from);

    // Takes over cells that were written one by one: those of a session.
    void replace_store(KvStore store) { store_ = std::move(store); }

  private:
    Result<> carry_out(Result<KvChange> change);
    Result<> move_rows(const KvChange& change);
    BufRef region(size_t layer, Part part) const;

    KvStore store_;
    KvLayout layout_;
    op::Rope rope_;
    std::vector<Layer> layers_;
};

}  // namespace minfer

#pragma once
// The cells of an engine's sequences together with their memory: what KvStore decides is carried
// out here, in every layer and on whatever backend a layer lies, and counts only once it was.
//
// After an error of a backend nothing has changed, except that sequences whose rows it may have
// spoiled are gone; the message names them.

#include <map>
#include <span>
#include <vector>

#include "graph/backend.h"
#include "runtime/kv_store.h"
#include "text/token_id.h"

namespace minfer {

// The tokens behind a sequence's positions. Rows behind a removed range were computed when it was
// still there: only the first `exact` are what evaluating these tokens anew would give.
struct KvTokens {
    std::vector<TokenId> ids;
    size_t exact = 0;
    bool operator==(const KvTokens&) const = default;
};

class KvCache {
  public:
    // One layer's regions, of n_ctx rows each.
    struct Layer {
        Backend* backend;
        KvPair regions;
    };
    enum class Part : uint8_t { Keys, Values };
    static constexpr Part kParts[] = {Part::Keys, Part::Values};

    // `rope`: how the model's keys are rotated. The backends outlive the cache.
    KvCache(size_t n_ctx, KvLayout layout, op::Rope rope, std::vector<Layer> layers);

    const KvStore& store() const { return store_; }
    // Of every sequence: as many ids as positions are written.
    const std::map<SeqId, KvTokens>& tokens() const { return tokens_; }
    const KvLayout& layout() const { return layout_; }
    size_t n_layer() const { return layers_.size(); }
    BackendId backend(size_t layer) const { return layers_[layer].backend->id(); }

    // As the functions of KvStore with these names; reserve() compacts when it has to.
    Result<> reserve(SeqId seq, size_t capacity);
    void release(SeqId seq);
    Result<> truncate(SeqId seq, size_t n);
    Result<> set_capacity(SeqId seq, size_t capacity);
    Result<> share_prefix(SeqId from, SeqId to, size_t rows);
    Result<> copy_prefix(SeqId from, SeqId to, size_t rows);
    Result<> make_own(SeqId seq, size_t first);
    // Survivors keep what they took from the removed positions when they were computed.
    Result<> remove(SeqId seq, size_t first, size_t rows);
    Result<> compact(size_t need = SIZE_MAX);
    void append(SeqId seq, std::span<const TokenId> tokens);

    // Whole cells in the layout of KvLayout's comment, after all work that was submitted before.
    Result<> read(size_t layer, Part part, size_t first_cell, std::span<std::byte> to);
    Result<> write(size_t layer, Part part, size_t first_cell, std::span<const std::byte> from);

    // Takes over cells that were written one by one, those of a session: store and tokens agree.
    void replace(KvStore store, std::map<SeqId, KvTokens> tokens);

  private:
    void take_prefix(SeqId from, SeqId to, size_t rows);
    void make_room_for_tokens(SeqId seq);
    Result<> carry_out(Result<KvChange> change);
    Result<> move_rows(const KvChange& change);
    BufRef region(size_t layer, Part part) const;

    KvStore store_;
    std::map<SeqId, KvTokens> tokens_;
    KvLayout layout_;
    op::Rope rope_;
    std::vector<Layer> layers_;
};

}  // namespace minfer

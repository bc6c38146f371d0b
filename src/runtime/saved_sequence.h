#pragma once
// A sequence's rows taken out of the arena into memory, to be put back later into any cells.

#include <vector>

#include "runtime/kv_cache.h"

namespace minfer {

struct SavedSequence {
    KvTokens tokens;
    std::vector<std::byte> cells;  // by layer: keys, values; whole cells in order of position
    size_t bytes() const { return cells.size() + tokens.ids.size() * sizeof(TokenId); }
};

// Of a sequence with at least one position.
Result<SavedSequence> save_sequence(KvCache& cache, SeqId seq);

// Writes the first `rows` of them to `seq`, which has room and nothing written. After an error
// nothing of it can be read.
Result<> restore_sequence(KvCache& cache, const SavedSequence& saved, SeqId seq, size_t rows);

}  // namespace minfer

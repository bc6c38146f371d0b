#pragma once
// What a forward pass over several sequences is given: tokens, where they stand, which cells they
// write and which they see.

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/kv_store.h"
#include "text/token_id.h"

namespace minfer {

// Tokens that follow what a sequence already has.
struct BatchPart {
    SeqId seq = kMainSequence;
    std::span<const TokenId> tokens;
};

// The host side of a graph's inputs. Kept from step to step, so that equal steps allocate nothing.
struct BatchInputs {
    std::vector<int32_t> ids, positions, cells, window, tail;
    bool explicit_span = false;  // the windows are not cells [0, position]
    bool kv_map = false;         // `window` holds runs of cells, not one span a token

    // Of parts that each fit the room of their sequence, one part a sequence. The rows of logits
    // are the last `n_out` of a single part, the last one of each of several.
    void fill(const KvStore& store, std::span<const BatchPart> parts, size_t n_out);

  private:
    void fill_window(const KvStore& store, std::span<const BatchPart> parts);

    std::vector<CellRun> runs_;  // of the part being looked at
};

}  // namespace minfer

#pragma once
// Going on past the end of the context, as llama.cpp does: half of what lies behind the first
// `keep` positions is forgotten. Nothing is evaluated again; what stays has seen what went.

#include "runtime/kv_cache.h"

namespace minfer {

// Positions to remove from behind the first `keep` of `written`; 0 when fewer than two lie there.
inline size_t shift_rows(size_t written, size_t keep) {
    return written > keep ? (written - keep) / 2 : 0;
}

// How many positions were removed; BadInput naming the numbers when there are none to remove.
inline Result<size_t> shift_context(KvCache& cache, SeqId seq, size_t keep) {
    const auto* const sequence = cache.store().find(seq);
    const auto written = sequence ? sequence->written : 0;
    const auto rows = shift_rows(written, keep);
    if (rows == 0)
        return fail(Fault::BadInput, "{} positions with the first {} kept leave none to remove",
                    written, keep);
    MINFER_TRY(cache.remove(seq, keep, rows));
    return rows;
}

}  // namespace minfer

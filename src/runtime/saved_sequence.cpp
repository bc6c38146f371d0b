#include "runtime/saved_sequence.h"

#include <algorithm>

namespace minfer {

Result<SavedSequence> save_sequence(KvCache& cache, SeqId seq) {
    const auto row_bytes = cache.layout().row_bytes;
    auto saved = SavedSequence{.tokens = cache.tokens().at(seq), .cells = {}};
    const auto rows = saved.tokens.ids.size();
    const auto runs = cache.store().runs(seq, rows);
    saved.cells.resize(2 * cache.n_layer() * rows * row_bytes);
    auto to = std::span(saved.cells);
    for (size_t layer = 0; layer < cache.n_layer(); ++layer)
        for (const auto part : KvCache::kParts)
            for (const auto& run : runs) {
                const auto bytes = run.rows * row_bytes;
                MINFER_TRY(cache.read(layer, part, run.cell, to.first(bytes)));
                to = to.subspan(bytes);
            }
    return saved;
}

Result<> restore_sequence(KvCache& cache, const SavedSequence& saved, SeqId seq, size_t rows) {
    const auto row_bytes = cache.layout().row_bytes, n_saved = saved.tokens.ids.size();
    MINFER_ASSERT(rows > 0 && rows <= n_saved &&
                  saved.cells.size() == 2 * cache.n_layer() * n_saved * row_bytes);
    MINFER_TRY(cache.store().check_append(seq, rows));
    const auto runs = cache.store().runs(seq, rows);
    auto from = std::span<const std::byte>(saved.cells);
    for (size_t layer = 0; layer < cache.n_layer(); ++layer)
        for (const auto part : KvCache::kParts) {
            auto rest = from.first(n_saved * row_bytes);
            for (const auto& run : runs) {
                const auto bytes = run.rows * row_bytes;
                MINFER_TRY(cache.write(layer, part, run.cell, rest.first(bytes)));
                rest = rest.subspan(bytes);
            }
            from = from.subspan(n_saved * row_bytes);
        }
    cache.append(seq, std::span(saved.tokens.ids).first(rows));
    return {};
}

}  // namespace minfer

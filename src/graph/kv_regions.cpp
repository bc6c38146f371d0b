#include "graph/kv_regions.h"

namespace minfer {
namespace {

std::string describe(const KvLayout& layout, size_t n_ctx, const Backend& backend) {
    return fmt::format("{} cells of {} {} on {}", n_ctx, layout.width, name(layout.format),
                       backend.name());
}

}  // namespace

KvRegions::~KvRegions() {
    for (const auto& [layer, region] : regions_) {
        region.backend->free(region.pair.k.id);
        region.backend->free(region.pair.v.id);
    }
}

Result<KvPair> KvRegions::ensure(uint32_t layer, Backend& backend, const KvLayout& layout,
                                 size_t n_ctx) {
    if (const auto found = regions_.find(layer); found != regions_.end()) {
        const auto& region = found->second;
        if (region.backend == &backend && region.layout == layout && region.n_ctx == n_ctx)
            return region.pair;
        return fail(Fault::BadInput,
                    "kv.{}: n_ctx, format or placement changed on a live cache: {}, now {}", layer,
                    describe(region.layout, region.n_ctx, *region.backend),
                    describe(layout, n_ctx, backend));
    }
    if (!backend.reads_kv(layout.format))
        return fail(Fault::Unsupported, "kv.{}: backend {} does not read {} cells", layer,
                    backend.name(), name(layout.format));
    const size_t bytes = layout.row_bytes * n_ctx;
    const auto k = backend.alloc_cells(bytes);
    if (!k) return at(fmt::format("kv.{}.k", layer), k.error());
    const auto v = backend.alloc_cells(bytes);
    if (!v) {
        backend.free(*k);
        return at(fmt::format("kv.{}.v", layer), v.error());
    }
    const auto pair = KvPair{.k = {.backend = backend.id(), .id = *k, .bytes = bytes},
                             .v = {.backend = backend.id(), .id = *v, .bytes = bytes}};
    regions_[layer] = {.backend = &backend, .layout = layout, .n_ctx = n_ctx, .pair = pair};
    return pair;
}

std::optional<KvPair> KvRegions::find(uint32_t layer) const {
    const auto found = regions_.find(layer);
    if (found == regions_.end()) return std::nullopt;
    return found->second.pair;
}

}  // namespace minfer

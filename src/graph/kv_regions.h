#pragma once
// The KV cache's memory: one K and one V region per layer, made once and kept until the end. What
// the cells mean is the runtime's business.

#include <map>

#include "graph/backend.h"

namespace minfer {

class KvRegions {
  public:
    KvRegions() = default;
    ~KvRegions();
    KvRegions(const KvRegions&) = delete;
    KvRegions& operator=(const KvRegions&) = delete;

    // The layer's regions of n_ctx rows each; made on the first call. A later call that differs in
    // backend, layout or n_ctx is BadInput, a format the backend cannot read Unsupported.
    Result<KvPair> ensure(uint32_t layer, Backend& backend, const KvLayout& layout, size_t n_ctx);

    std::optional<KvPair> find(uint32_t layer) const;

  private:
    struct Region {
        Backend* backend = nullptr;
        KvLayout layout;
        size_t n_ctx = 0;
        KvPair pair;
    };
    std::map<uint32_t, Region> regions_;
};

}  // namespace minfer

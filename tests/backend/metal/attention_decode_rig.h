#pragma once
// Attention of one token over cells of one kind, on a backend of its own.

#include "backend/metal/attention_rig.h"
#include "backend/metal/cell_types.h"
#include "support/nmse.h"
#include "support/tolerances.h"

namespace minfer::test {

// Of one KV head.
inline Geometry decoded(size_t n_head = 2, size_t head_dim = 64, size_t n_ctx = 300) {
    return {.n_head = n_head, .n_head_kv = 1, .head_dim = head_dim, .n_ctx = n_ctx};
}

class Decoder {
  public:
    // The format of `geometry` is that of `cells`. Standard normal cells; `k` replaces those of K.
    Decoder(Geometry geometry, metal::CellType cells, AttentionOptions options,
            std::span<const float> k = {}, Placement placement = Placement::Padded)
        : rig_(backend(cells, options, &labels_), placement),
          layer_(rig_, of_cells(geometry, cells),
                 k.empty() ? random_floats(geometry.n_ctx * geometry.kv_width(), 21)
                           : std::vector(k.begin(), k.end())),
          q(random_floats(geometry.width(), 23, 2)) {}

    // The token sees cells [0, n_cells).
    OpRig::Outcome run(size_t n_cells) {
        labels_.clear();
        return layer_.causal(q, static_cast<int32_t>(n_cells) - 1);
    }
    std::vector<float> values(size_t n_cells) {
        auto [values, error] = run(n_cells);
        EXPECT_EQ(error, "");
        return values;
    }
    reference::Values want(size_t n_cells) const {
        return layer_.want_causal(q, static_cast<int32_t>(n_cells) - 1);
    }
    const std::vector<std::string>& labels() const { return labels_; }  // of the last run

  private:
    static Geometry of_cells(Geometry geometry, metal::CellType cells) {
        geometry.format = format_of(cells);
        return geometry;
    }
    static std::unique_ptr<Backend> backend(metal::CellType cells, AttentionOptions options,
                                            std::vector<std::string>* labels) {
        auto all = traced(labels);
        all.attention = options;
        return metal_backend(with_cells(cells, all));
    }

    std::vector<std::string> labels_;
    OpRig rig_;
    Layer layer_;

  public:
    std::vector<float> q;  // [n_head][head_dim]
};

}  // namespace minfer::test

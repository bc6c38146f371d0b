#pragma once
// Attention of one token over cells of one format, on a backend of its own.

#include <cmath>

#include "backend/metal/cell_types.h"
#include "backend/metal/rig.h"
#include "support/kv_cells.h"
#include "support/nmse.h"
#include "support/reference.h"
#include "support/tolerances.h"

namespace minfer::test {

struct DecodeGeometry {
    size_t n_head = 2, n_head_kv = 1, head_dim = 64, n_ctx = 300;

    op::Attention op(KvFormat format) const {
        return {.n_head = n_head,
                .n_head_kv = n_head_kv,
                .head_dim = head_dim,
                .scale = 1 / std::sqrt(static_cast<float>(head_dim)),
                .layout = kv_layout(format, n_head_kv * head_dim),
                .n_ctx = n_ctx};
    }
};

class Decoder {
  public:
    // Standard normal cells; `k` replaces those of K.
    Decoder(const DecodeGeometry& geometry, metal::CellType cells, AttentionOptions options,
            std::span<const float> k = {}, Placement placement = Placement::Padded)
        : op_(geometry.op(format_of(cells))),
          rig_(backend(cells, options, &labels_), placement),
          cells_(rig_, op_.layout,
                 k.empty() ? random_floats(geometry.n_ctx * op_.layout.width, 21)
                           : std::vector(k.begin(), k.end()),
                 random_floats(geometry.n_ctx * op_.layout.width, 22)),
          q(random_floats(geometry.n_head * geometry.head_dim, 23, 2)) {}

    // The token sees cells [0, n_cells).
    OpRig::Outcome run(size_t n_cells) {
        labels_.clear();
        const auto position = std::vector<int32_t>{static_cast<int32_t>(n_cells) - 1};
        return rig_.run(op_, {q.size(), 1, 1, 1},
                        {rig_.floats(q), cells_.kv.k, rig_.ints(position)}, cells_.kv);
    }
    std::vector<float> values(size_t n_cells) {
        auto [values, error] = run(n_cells);
        EXPECT_EQ(error, "");
        return values;
    }
    reference::Values want(size_t n_cells) const {
        auto windows = std::vector<reference::Cells>(1);
        for (size_t c = 0; c < n_cells; ++c) windows[0].push_back(static_cast<int32_t>(c));
        return reference::attention(op_, reference::widened(q), cells_.k, cells_.v, windows);
    }
    const std::vector<std::string>& labels() const { return labels_; }  // of the last run

  private:
    static std::unique_ptr<Backend> backend(metal::CellType cells, AttentionOptions options,
                                            std::vector<std::string>* labels) {
        auto all = traced(labels);
        all.attention = options;
        return metal_backend(with_cells(cells, all));
    }

    std::vector<std::string> labels_;
    op::Attention op_;
    OpRig rig_;
    KvCells cells_;

  public:
    std::vector<float> q;  // [n_head][head_dim]
};

}  // namespace minfer::test

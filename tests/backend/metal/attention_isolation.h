#pragma once
// A cell that a query does not see does nothing to it, whatever lies in the cell: several sequences
// share a region, and cells that were given back keep what they held. A query that does see a value
// that is no number shows it.

#include <algorithm>
#include <map>
#include <optional>

#include "backend/metal/attention_rig.h"
#include "backend/metal/cell_types.h"

namespace minfer::test {

// Tokens and the cells each of them sees, as one kind of window input.
struct Sight {
    const char* name;
    std::vector<Cells> cells;     // of each token
    std::vector<int32_t> window;  // none: causal, every token sees the cells up to its own
};

// Of tokens at these positions.
inline Sight causal_sight(int32_t first, int32_t n_tokens) {
    return {"causal", cells_of(causal_spans(n_tokens, first)), {}};
}
// Two sequences, of which one ends and one begins within a tile of eight tokens and within eight
// cells.
inline Sight span_sight() {
    auto spans = std::vector<Span>();
    for (int32_t t = 0; t < 11; ++t) spans.push_back({5, 55 + t});
    for (int32_t t = 0; t < 9; ++t) spans.push_back({67, 92 + t});
    return {"span", cells_of(spans), span_input(spans)};
}
// The same behind a prefix that both read.
inline Sight map_sight() {
    auto maps = std::vector<Runs>();
    for (int32_t t = 0; t < 11; ++t) maps.push_back({{3, 9}, {30, 30 + t}});
    for (int32_t t = 0; t < 9; ++t) maps.push_back({{3, 9}, {75, 1}, {77, 16 + t}});
    return {"map", cells_of(maps), map_input(maps)};
}

// One value in place of another: in every element of a cell, or in one.
struct Poison {
    float value;
    std::optional<size_t> element;
};

inline void put(const KvLayout& layout, std::byte* cell, size_t element, float value) {
    const uint16_t half = f32_to_f16(value);
    switch (layout.format) {
        case KvFormat::F32:
            std::memcpy(cell + element * sizeof value, &value, sizeof value);
            return;
        case KvFormat::F16:
            std::memcpy(cell + element * sizeof half, &half, sizeof half);
            return;
        case KvFormat::Q8_0:  // the scale of its block
            std::memcpy(cell + element / 32 * 34, &half, sizeof half);
            return;
    }
}

inline std::vector<std::byte> poisoned(const KvLayout& layout, std::vector<std::byte> bytes,
                                       const Cells& cells, const Poison& poison) {
    for (const auto cell : cells)
        for (size_t i = 0; i < layout.width; ++i)
            if (!poison.element || i == *poison.element)
                put(layout, &bytes[static_cast<size_t>(cell) * layout.row_bytes], i, poison.value);
    return bytes;
}

// What is wrong with the answers once `cells` of K or V are poisoned. Compared with those over
// clean cells, bit for bit.
class Isolation {
  public:
    Isolation(OpRig& rig, const Geometry& geometry, const Sight& sight)
        : layer_(rig, geometry),
          sight_(sight),
          q_(random_floats(geometry.width() * sight.cells.size(), 91, 2)),
          clean_(run()) {}

    std::vector<std::string> leaks(bool in_v, const Cells& cells, const Poison& poison) {
        const auto region = in_v ? layer_.kv.v : layer_.kv.k;
        const auto& before = in_v ? layer_.v_bytes : layer_.k_bytes;
        const auto bytes = poisoned(layer_.layout, before, cells, poison);
        layer_.write(region, bytes);
        const auto got = run();
        layer_.write(region, before);

        const auto values = decoded_cells(layer_.layout, bytes);
        auto found = std::vector<std::string>();
        for (size_t i = 0; i < got.size() && found.size() < 5; ++i) {
            const auto fault = fault_of(i, got[i], in_v, cells, values);
            if (!fault.empty()) found.push_back(fmt::format("element {}: {}", i, fault));
        }
        return found;
    }

  private:
    std::vector<float> run() {
        const auto first = static_cast<int32_t>(sight_.cells[0].size()) - 1;
        const auto got =
            sight_.window.empty() ? layer_.causal(q_, first) : layer_.windowed(q_, sight_.window);
        EXPECT_EQ(got.error, "");
        return got.values;
    }

    std::string fault_of(size_t i, float got, bool in_v, const Cells& cells,
                         std::span<const float> values) const {
        const auto& g = layer_.g;
        const auto& sees = sight_.cells[i / g.width()];
        const auto kv_head = i / g.head_dim % g.n_head / (g.n_head / g.n_head_kv);
        // Whether a value that is no number bears on this element, as a key for all of its head.
        bool concerned = false, by_nan = false;
        for (const auto cell : cells) {
            if (std::ranges::find(sees, cell) == sees.end()) continue;
            const auto head = values.subspan(
                static_cast<size_t>(cell) * g.kv_width() + kv_head * g.head_dim, g.head_dim);
            for (size_t d = 0; d < g.head_dim; ++d) {
                if (in_v && d != i % g.head_dim) continue;
                concerned = concerned || !std::isfinite(head[d]);
                by_nan = by_nan || std::isnan(head[d]);
            }
        }
        if (!concerned)
            return got == clean_[i] ? "" : fmt::format("{} instead of {}", got, clean_[i]);
        // An infinite key is a score of plus infinity, or of minus, which weighs nothing.
        if (!in_v && !by_nan) return "";
        return std::isfinite(got) ? fmt::format("{}, and it sees what is none", got) : "";
    }

    Layer layer_;
    Sight sight_;
    std::vector<float> q_, clean_;
};

// Cells that some tokens of a tile see and some do not, that one sequence sees alone, that nobody
// sees, and that all see.
inline std::vector<Cells> poisoned_cells(const Sight& sight) {
    auto seen_by = std::map<int32_t, size_t>();
    for (const auto& cells : sight.cells)
        for (const auto cell : cells) ++seen_by[cell];
    auto by_some = Cells(), by_none = Cells();
    for (int32_t cell = 0; cell < 110; ++cell) {
        if (!seen_by.contains(cell))
            by_none.push_back(cell);
        else if (seen_by[cell] < sight.cells.size())
            by_some.push_back(cell);
    }
    auto all = std::vector<Cells>{by_none};
    // One at a time: a token that sees another one is no witness.
    for (const size_t i : {size_t{0}, by_some.size() / 2, by_some.size() - 1})
        if (!by_some.empty()) all.push_back({by_some[i]});
    return all;
}

// What is wrong with attention under these options, in words.
inline std::vector<std::string> leaks(const MetalOptions& options, const Geometry& geometry,
                                      const Sight& sight) {
    auto rig = metal_rig(options);
    auto isolation = Isolation(rig, geometry, sight);
    auto found = std::vector<std::string>();
    for (const auto& cells : poisoned_cells(sight))
        for (const bool in_v : {false, true})
            for (const auto& poison : {Poison{NAN, {}}, Poison{INFINITY, geometry.head_dim + 9}})
                for (const auto& leak : isolation.leaks(in_v, cells, poison))
                    found.push_back(fmt::format("{} in {} of cell {}: {}", poison.value,
                                                in_v ? "V" : "K", cells[0], leak));
    return found;
}

}  // namespace minfer::test

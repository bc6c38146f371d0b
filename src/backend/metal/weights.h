#pragma once
// Weights on the device: a name is a (buffer, offset). Those that lie in a mapped file are used
// where they lie: its pages are wrapped, in as few buffers as the device's limit allows.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backend/metal/device/device.h"
#include "graph/backend.h"

namespace minfer::metal {

// Pages of one mapping that become one buffer, and the weights in them (indices into the list given
// to plan_views, by address).
struct WeightView {
    std::span<const std::byte> pages;
    std::vector<size_t> weights;
};

// The page-rounded ranges of those weights that lie in `mapping`, merged where they touch, split
// between two weights where a view would exceed `max_bytes` (views may share a page). A weight
// whose own pages exceed that is in none. Pure.
std::vector<WeightView> plan_views(std::span<const std::byte> mapping,
                                   std::span<const std::span<const std::byte>> weights,
                                   size_t max_bytes);

// Kernels load up to 16 bytes at once, so a weight begins at a multiple of that in its buffer.
constexpr size_t kWeightAlignment = 16;

class Weights {
  public:
    explicit Weights(const Device& device) : device_(device) {}

    // Whole pages from a page boundary on; what is not is left alone, and its weights are copied.
    void add_mapping(std::span<const std::byte> pages);
    // BadInput for a name known with other data, or a size that does not fit the shape.
    Result<> add(const Weight& weight);
    // Gives every weight its place: in a view of the mapping it lies in, else, as with `copy` and
    // for data that is not aligned, in a buffer of its own. OutOfMemory or Device naming the
    // weight; what has a place keeps it, and the rest is tried again by the next call.
    Result<> place(bool copy);
    // The views that were made and nothing has touched yet.
    std::span<const Slice> untouched() const { return untouched_; }
    void mark_touched() { untouched_.clear(); }

    std::optional<WeightId> find(std::string_view name) const;
    struct Placed {
        Weight weight;
        Slice slice;  // empty until placed
    };
    const Placed& at(WeightId id) const { return placed_[static_cast<size_t>(id)]; }
    size_t bytes() const { return bytes_; }  // the sum of what add() took, placed or not
    size_t copied_bytes() const { return copied_bytes_; }  // of those place() made a copy of

  private:
    Result<> wrap(std::span<const std::byte> mapping);
    Result<> copy(Placed& placed);

    const Device& device_;
    std::vector<std::span<const std::byte>> mappings_;
    std::vector<Placed> placed_;
    std::map<std::string, WeightId, std::less<>> by_name_;
    std::vector<Buffer> buffers_;
    std::vector<Slice> untouched_;
    size_t first_unplaced_ = 0, bytes_ = 0, copied_bytes_ = 0;
};

}  // namespace minfer::metal

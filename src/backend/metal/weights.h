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
// to plan_views).
struct WeightView {
    std::span<const std::byte> pages;
    std::vector<size_t> weights;
};

// The page-rounded ranges of `data` inside `mapping`, merged where they touch, split between two
// weights where a view would exceed `max_bytes` (views may share pages). Pure.
// OutOfMemory naming the weight that is larger than a view may be.
Result<std::vector<WeightView>> plan_views(std::span<const std::byte> mapping,
                                           std::span<const Weight> weights, size_t max_bytes);

class Weights {
  public:
    explicit Weights(const Device& device) : device_(device) {}

    void add_mapping(std::span<const std::byte> pages) { mappings_.push_back(pages); }
    // BadInput for a name known with other data, a size that does not fit the shape, or data whose
    // alignment kernels cannot load.
    Result<> add(const Weight& weight);
    // Places what was added since the last call; `copy`: nothing is wrapped. The buffers that were
    // wrapped are returned, to be touched.
    Result<std::vector<Slice>> place(bool copy);

    std::optional<WeightId> find(std::string_view name) const;
    struct Placed {
        Weight weight;
        Slice slice;  // empty until placed
    };
    const Placed& at(WeightId id) const { return placed_[static_cast<size_t>(id)]; }
    size_t bytes() const { return bytes_; }

  private:
    Result<> copy(Placed& placed);

    const Device& device_;
    std::vector<std::span<const std::byte>> mappings_;
    std::vector<Placed> placed_;
    std::map<std::string, WeightId, std::less<>> by_name_;
    std::vector<Buffer> buffers_;
    size_t n_done_ = 0, bytes_ = 0;
};

}  // namespace minfer::metal

#pragma once
// Pipelines of one family by variant, built when a graph that takes them is mapped.

#include <map>

#include "backend/metal/device/device.h"

namespace minfer::metal {

template <class Variant>
class Pipelines {
  public:
    // Builds the kernel of this name unless it was built before, for launches like this one; errors
    // as of Device::pipeline and Device::check_launch.
    Result<> build(Device& device, const Variant& variant, std::string_view kernel,
                   const Launch& launch) {
        if (const auto found = built_.find(variant); found != built_.end())
            return device.check_launch(found->second, launch);
        built_.emplace(variant, MINFER_TRY(device.pipeline(kernel, launch.threads.count(),
                                                           launch.shared_bytes)));
        return {};
    }
    // One that was built; BadInput when no graph with it was mapped.
    Result<const Pipeline*> find(const Variant& variant) const {
        const auto found = built_.find(variant);
        if (found == built_.end())
            return fail(Fault::BadInput, "the node was not prepared: its kernel is not built");
        return &found->second;
    }

  private:
    std::map<Variant, Pipeline> built_;
};

}  // namespace minfer::metal

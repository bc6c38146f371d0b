#include <Metal/Metal.hpp>

#include "bench/loads.h"
#include "softmetal/control.h"

namespace minfer::bench {

Result<std::vector<std::pair<std::string, double>>> count_loads(
    const std::function<Result<>()>& step) {
    const auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());  // the backend's
    const auto checks = softmetal::checks(device.get());
    softmetal::set_checks(device.get(), softmetal::Checks::Bounds);
    softmetal::set_memory_counters(device.get(), true);
    softmetal::reset_counters(device.get());
    const auto done = step();
    softmetal::set_memory_counters(device.get(), false);
    softmetal::set_checks(device.get(), checks);
    if (!done) return std::unexpected(done.error());
    auto loads = std::vector<std::pair<std::string, double>>();
    for (const auto& kernel : softmetal::counters(device.get()))
        if (kernel.dispatches > 0)
            loads.push_back(
                {kernel.kernel, static_cast<double>(kernel.read_distinct_in_simdgroup_bytes)});
    return loads;
}

}  // namespace minfer::bench

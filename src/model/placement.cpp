#include "model/placement.h"

#include "base/parse.h"

namespace minfer {

std::optional<uint32_t> weight_block(std::string_view name) {
    constexpr std::string_view kBlock = "blk.";
    const auto at = name.rfind(kBlock);
    if (at == std::string_view::npos) return std::nullopt;
    const auto rest = name.substr(at + kBlock.size());
    const auto dot = rest.find('.');
    if (dot == std::string_view::npos) return std::nullopt;
    return parse_number<uint32_t>(rest.substr(0, dot));
}

bool is_registered(std::string_view name, BackendId backend, const LayerPlan& plan) {
    return backend == BackendId::Cpu || plan.allows(weight_block(name));
}

}  // namespace minfer

#include "runtime/stop_strings.h"

#include <algorithm>
#include <utility>

namespace minfer {

StopStrings::StopStrings(std::vector<std::string> strings) : strings_(std::move(strings)) {
    std::erase(strings_, "");
}

std::string StopStrings::push(std::string_view text) {
    if (hit_) return {};
    held_ += text;
    auto first = std::string::npos;
    for (const auto& stop : strings_) first = std::min(first, held_.find(stop));
    if (first != std::string::npos) {
        hit_ = true;
        auto shown = held_.substr(0, first);
        held_.clear();
        return shown;
    }
    // Hold the longest tail that is a proper prefix of some stop string.
    size_t keep = 0;
    for (const auto& stop : strings_)
        for (auto n = std::min(stop.size() - 1, held_.size()); n > keep; --n)
            if (std::string_view(held_).ends_with(std::string_view(stop).substr(0, n))) keep = n;
    auto shown = held_.substr(0, held_.size() - keep);
    held_.erase(0, held_.size() - keep);
    return shown;
}

std::string StopStrings::flush() { return std::exchange(held_, {}); }

}  // namespace minfer

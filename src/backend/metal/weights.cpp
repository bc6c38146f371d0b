#include "backend/metal/weights.h"

#include <algorithm>
#include <cstdint>

#include "base/mapped_file.h"

namespace minfer::metal {
namespace {

uintptr_t address(const std::byte* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

bool lies_in(std::span<const std::byte> data, std::span<const std::byte> mapping) {
    const auto begin = address(data.data()), first = address(mapping.data());
    return begin >= first && begin - first <= mapping.size() &&
           data.size() <= mapping.size() - (begin - first);
}

}  // namespace

std::vector<WeightView> plan_views(std::span<const std::byte> mapping,
                                   std::span<const std::span<const std::byte>> weights,
                                   size_t max_bytes) {
    auto inside = std::vector<size_t>();
    for (size_t i = 0; i < weights.size(); ++i)
        if (lies_in(weights[i], mapping)) inside.push_back(i);
    std::ranges::sort(inside, {}, [&](size_t i) { return address(weights[i].data()); });

    auto views = std::vector<WeightView>();
    size_t first_page = 0, end_page = 0;  // of the last view, as byte offsets into the mapping
    for (const size_t i : inside) {
        const auto begin = static_cast<size_t>(weights[i].data() - mapping.data());
        const auto page = begin / kMetalPage * kMetalPage;
        const auto page_end =
            (begin + weights[i].size() + kMetalPage - 1) / kMetalPage * kMetalPage;
        if (page_end - page > max_bytes) continue;
        const bool joins = !views.empty() && page <= end_page &&
                           std::max(end_page, page_end) - first_page <= max_bytes;
        if (!joins) {
            views.emplace_back();
            first_page = page;
            end_page = page_end;
        }
        end_page = std::max(end_page, page_end);
        views.back().pages = mapping.subspan(first_page, end_page - first_page);
        views.back().weights.push_back(i);
    }
    return views;
}

void Weights::add_mapping(std::span<const std::byte> pages) {
    if (address(pages.data()) % kMetalPage == 0 && pages.size() % kMetalPage == 0)
        mappings_.push_back(pages);
}

Result<> Weights::add(const Weight& weight) {
    if (const auto known = find(weight.name)) return check_known(at(*known).weight, weight);
    MINFER_TRY(check_weight(weight));
    by_name_.emplace(weight.name, static_cast<WeightId>(placed_.size()));
    placed_.push_back({.weight = weight});
    bytes_ += weight.data.size();
    return {};
}

Result<> Weights::place(bool copy_all) {
    if (!copy_all)
        for (const auto& mapping : mappings_) MINFER_TRY(wrap(mapping));
    for (; first_unplaced_ < placed_.size(); ++first_unplaced_) {
        auto& placed = placed_[first_unplaced_];
        if (placed.slice.buffer == nullptr) MINFER_TRY(copy(placed));
    }
    return {};
}

Result<> Weights::wrap(std::span<const std::byte> mapping) {
    auto wanted = std::vector<std::span<const std::byte>>();
    auto ids = std::vector<size_t>();  // of wanted
    for (size_t i = first_unplaced_; i < placed_.size(); ++i) {
        const auto& [weight, slice] = placed_[i];
        if (slice.buffer != nullptr || address(weight.data.data()) % kWeightAlignment != 0)
            continue;
        wanted.push_back(weight.data);
        ids.push_back(i);
    }
    for (const auto& view : plan_views(mapping, wanted, device_.limits().buffer_bytes)) {
        auto buffer = device_.wrap(view.pages);
        if (!buffer)
            return minfer::at(fmt::format("weights from '{}' to '{}'",
                                          placed_[ids[view.weights.front()]].weight.name,
                                          placed_[ids[view.weights.back()]].weight.name),
                              std::move(buffer).error());
        for (const size_t i : view.weights)
            placed_[ids[i]].slice = {
                .buffer = buffer->get(),
                .offset = static_cast<size_t>(wanted[i].data() - view.pages.data()),
                .bytes = wanted[i].size()};
        untouched_.push_back({.buffer = buffer->get(), .bytes = view.pages.size()});
        buffers_.push_back(*std::move(buffer));
    }
    return {};
}

Result<> Weights::copy(Placed& placed) {
    const auto data = placed.weight.data;
    auto buffer = device_.copy(data);
    if (!buffer)
        return minfer::at(fmt::format("weight '{}'", placed.weight.name),
                          std::move(buffer).error());
    placed.slice = {.buffer = buffer->get(), .bytes = data.size()};
    copied_bytes_ += data.size();
    buffers_.push_back(*std::move(buffer));
    return {};
}

std::optional<WeightId> Weights::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return std::nullopt;
    return found->second;
}

}  // namespace minfer::metal

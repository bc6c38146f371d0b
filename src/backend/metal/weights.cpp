#include "backend/metal/weights.h"

#include <algorithm>
#include <cstring>

#include "base/mapped_file.h"

namespace minfer::metal {
namespace {

bool lies_in(std::span<const std::byte> data, std::span<const std::byte> mapping) {
    return data.data() >= mapping.data() &&
           data.data() + data.size() <= mapping.data() + mapping.size();
}

}  // namespace

Result<std::vector<WeightView>> plan_views(std::span<const std::byte> mapping,
                                           std::span<const Weight> weights, size_t max_bytes) {
    auto inside = std::vector<size_t>();
    for (size_t i = 0; i < weights.size(); ++i)
        if (lies_in(weights[i].data, mapping)) inside.push_back(i);
    std::ranges::sort(inside, {}, [&](size_t i) { return weights[i].data.data(); });

    auto views = std::vector<WeightView>();
    size_t first_page = 0, end_page = 0;  // of the last view, as byte offsets into the mapping
    for (const size_t i : inside) {
        const auto begin = static_cast<size_t>(weights[i].data.data() - mapping.data());
        const auto end = begin + weights[i].data.size();
        const auto page = begin / kMetalPage * kMetalPage;
        const auto page_end = (end + kMetalPage - 1) / kMetalPage * kMetalPage;
        if (page_end - page > max_bytes)
            return fail(Fault::OutOfMemory,
                        "weight '{}' takes {} bytes in whole pages, the device allows {} in one "
                        "buffer",
                        weights[i].name, page_end - page, max_bytes);
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

Result<> Weights::add(const Weight& weight) {
    if (const auto known = find(weight.name)) {
        const auto& data = at(*known).weight.data;
        if (data.data() == weight.data.data() && data.size() == weight.data.size()) return {};
        return fail(Fault::BadInput, "weight '{}': another one of this name is registered",
                    weight.name);
    }
    const auto& shape = weight.shape;
    if (shape[0] == 0 || shape[1] == 0 || shape[2] != 1 || shape[3] != 1)
        return fail(Fault::BadInput,
                    "weight '{}': shape [{}, {}, {}, {}], one or two dimensions run", weight.name,
                    shape[0], shape[1], shape[2], shape[3]);
    if (shape[0] % info(weight.dtype).block_values != 0)
        return fail(Fault::BadInput, "weight '{}': rows of {} elements, {} needs multiples of {}",
                    weight.name, shape[0], name(weight.dtype), info(weight.dtype).block_values);
    const auto bytes = row_bytes(weight.dtype, shape[0]) * shape[1];
    if (weight.data.size() != bytes)
        return fail(Fault::BadInput, "weight '{}': {} [{}, {}] takes {} bytes, found {}",
                    weight.name, name(weight.dtype), shape[0], shape[1], bytes, weight.data.size());
    by_name_.emplace(weight.name, static_cast<WeightId>(placed_.size()));
    placed_.push_back({.weight = weight});
    bytes_ += bytes;
    return {};
}

Result<std::vector<Slice>> Weights::place(bool copy_all) {
    auto added = std::vector<Weight>();
    for (size_t i = n_done_; i < placed_.size(); ++i) added.push_back(placed_[i].weight);
    auto wrapped = std::vector<Slice>();
    if (!copy_all)
        for (const auto& mapping : mappings_) {
            const auto views =
                MINFER_TRY(plan_views(mapping, added, device_.limits().buffer_bytes));
            for (const auto& view : views) {
                auto buffer = MINFER_TRY(device_.wrap(view.pages));
                wrapped.push_back({.buffer = buffer.get(), .bytes = view.pages.size()});
                for (const size_t i : view.weights) {
                    auto& placed = placed_[n_done_ + i];
                    placed.slice = {.buffer = buffer.get(),
                                    .offset = static_cast<size_t>(placed.weight.data.data() -
                                                                  view.pages.data()),
                                    .bytes = placed.weight.data.size()};
                }
                buffers_.push_back(std::move(buffer));
            }
        }
    for (; n_done_ < placed_.size(); ++n_done_)
        if (placed_[n_done_].slice.buffer == nullptr) MINFER_TRY(copy(placed_[n_done_]));
    return wrapped;
}

Result<> Weights::copy(Placed& placed) {
    const auto data = placed.weight.data;
    auto buffer = device_.new_buffer(data.size());
    if (!buffer) return minfer::at(fmt::format("weight '{}'", placed.weight.name), buffer.error());
    std::memcpy((*buffer)->contents(), data.data(), data.size());
    placed.slice = {.buffer = buffer->get(), .bytes = data.size()};
    buffers_.push_back(*std::move(buffer));
    return {};
}

std::optional<WeightId> Weights::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return std::nullopt;
    return found->second;
}

}  // namespace minfer::metal

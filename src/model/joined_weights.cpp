#include "model/joined_weights.h"

#include <algorithm>
#include <new>

#include "base/bytes_text.h"
#include "base/mapped_file.h"

namespace minfer {
namespace {

constexpr size_t kAlign = 64;  // of each weight: a cache line, and more than any load needs

size_t rounded_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

size_t bytes_of(const JoinedWeights::Join& join) {
    size_t bytes = 0;
    for (const auto* const part : join.parts) bytes += part->data.size();
    return bytes;
}

}  // namespace

void JoinedWeights::Free::operator()(std::byte* pages) const {
    ::operator delete(pages, std::align_val_t{kMetalPage});
}

Result<JoinedWeights> JoinedWeights::make(std::span<const Join> joins) {
    size_t size = 0;
    for (const auto& join : joins) size += rounded_up(bytes_of(join), kAlign);
    size = rounded_up(size, kMetalPage);

    JoinedWeights made;
    made.pages_.reset(
        static_cast<std::byte*>(::operator new(size, std::align_val_t{kMetalPage}, std::nothrow)));
    if (made.pages_ == nullptr)
        return fail(Fault::OutOfMemory, "joined weights need {}", bytes_text(size));
    made.size_ = size;
    auto* to = made.pages_.get();
    for (const auto& join : joins) {
        const auto& first = *join.parts.front();
        auto weight = Weight{.name = join.name,
                             .dtype = first.dtype,
                             .shape = {first.shape[0], 0, 1, 1},
                             .data = {to, bytes_of(join)}};
        auto* row = to;
        for (const auto* const part : join.parts) {
            MINFER_ASSERT(part->dtype == first.dtype && part->shape[0] == first.shape[0]);
            row = std::ranges::copy(part->data, row).out;
            weight.shape[1] += part->shape[1];
        }
        to += rounded_up(weight.data.size(), kAlign);
        std::fill(row, to, std::byte{0});
        made.weights_.push_back(std::move(weight));
    }
    std::fill(to, made.pages_.get() + size, std::byte{0});
    return made;
}

}  // namespace minfer

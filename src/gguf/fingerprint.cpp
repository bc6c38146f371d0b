#include "gguf/fingerprint.h"

#include <algorithm>
#include <vector>

#include "base/xxh3.h"

namespace minfer::gguf {
namespace {

// Each thing with its length in front, so that no two lists of things are the same bytes.
class Summer {
  public:
    void add(uint64_t number) { hash_.add(std::as_bytes(std::span(&number, 1))); }
    void add(std::span<const std::byte> bytes) {
        add(bytes.size());
        hash_.add(bytes);
    }
    void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
    uint64_t sum() const { return hash_.sum(); }

  private:
    Xxh3 hash_;
};

}  // namespace

uint64_t fingerprint(const File& file) {
    Summer summer;
    for (const auto& [key, value] : file.metadata().entries()) {
        if (key.starts_with("split.")) continue;  // of how the model is stored
        summer.add(key);
        summer.add(std::to_underlying(value.type()));
        summer.add(value.is_array());
        summer.add(value.size());
        summer.add(value.encoded());
    }
    std::vector<const TensorInfo*> tensors;
    for (const auto& tensor : file.tensors()) tensors.push_back(&tensor);
    std::ranges::sort(tensors, {}, &TensorInfo::name);
    for (const auto* const tensor : tensors) {
        summer.add(tensor->name);
        summer.add(std::to_underlying(tensor->dtype));
        for (const auto extent : tensor->shape) summer.add(extent);
        const auto sample = std::min(tensor->data.size(), kSampleBytes);
        summer.add(tensor->data.first(sample));
        summer.add(tensor->data.last(sample));
    }
    return summer.sum();
}

}  // namespace minfer::gguf

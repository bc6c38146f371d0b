// Any bytes: File::parse takes them or says why not; whatever it hands out lies inside them.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gguf/reader.h"
#include "tensor/dequantize.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace minfer;
    const auto file = gguf::File::parse(std::as_bytes(std::span(data, size)));
    if (!file) {
        MINFER_ASSERT(!file.error().what.empty() && file.error().what.size() < 2000);
        return 0;
    }
    for (const auto& [key, value] : file->metadata().entries()) {
        MINFER_ASSERT(file->metadata().find(key) == &value);
        MINFER_ASSERT(value.describe().size() < 10'000);
        for (uint64_t i = 0; i < value.size(); ++i) {
            value.as_int(i);
            value.as_bool(i);
            if (const auto text = value.as_string(i))
                MINFER_ASSERT(text->size() <= size && value.describe(1, text->size()).size() > 1);
            MINFER_ASSERT(!value.as_uint(i) || value.as_float(i));
        }
    }
    for (const auto& tensor : file->tensors()) {
        MINFER_ASSERT(file->find(tensor.name) == &tensor);
        MINFER_ASSERT(tensor.data.size() == row_bytes(tensor.dtype, tensor.values()));
        if (!can_dequantize(tensor.dtype)) continue;
        // Reads the whole tensor, a row at a time.
        std::vector<float> row(tensor.shape[0]);
        const auto bytes = row_bytes(tensor.dtype, tensor.shape[0]);
        for (uint64_t i = 0; i < tensor.rows(); ++i)
            dequantize_row(tensor.dtype, tensor.data.data() + i * bytes, row.data(), row.size());
    }
    return 0;
}

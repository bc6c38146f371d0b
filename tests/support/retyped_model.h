#pragma once
// A model file with some of its matrices in other types: layers of mixed quantisation, as real
// files have them.

#include <map>
#include <string>
#include <vector>

#include "gguf/reader.h"
#include "gguf/writer.h"
#include "tensor/dequantize.h"
#include "tensor/quantize.h"

namespace minfer {

// `types`: the new type by tensor name.
inline std::vector<std::byte> retyped_model(std::span<const std::byte> bytes,
                                            const std::map<std::string, DType>& types) {
    const auto file = gguf::File::parse(bytes);
    MINFER_ASSERT(file);
    gguf::Writer writer;
    for (const auto& [key, value] : file->metadata().entries()) writer.set(key, value);
    std::vector<std::vector<std::byte>> kept;  // the writer borrows them
    kept.reserve(types.size());
    for (const auto& tensor : file->tensors()) {
        const auto shape = std::span(tensor.shape).first(tensor.n_dims);
        const auto found = types.find(std::string(tensor.name));
        auto data = tensor.data;
        auto type = tensor.dtype;
        if (found != types.end()) {
            std::vector<float> values(tensor.values());
            dequantize_row(type, data.data(), values.data(), values.size());
            type = found->second;
            data = kept.emplace_back(row_bytes(type, values.size()));
            const auto done = quantize_row(type, values.data(), kept.back().data(), values.size());
            MINFER_ASSERT(done);
        }
        const auto added = writer.add_tensor(tensor.name, type, shape, data);
        MINFER_ASSERT(added);
    }
    auto written = writer.bytes();
    MINFER_ASSERT(written);
    return *std::move(written);
}

}  // namespace minfer

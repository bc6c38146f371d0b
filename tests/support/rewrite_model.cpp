#include "support/rewrite_model.h"

#include <vector>

#include "gguf/reader.h"
#include "gguf/writer.h"
#include "tensor/dequantize.h"
#include "tensor/quantize.h"

namespace minfer::test {

Result<> rewrite_model(const std::filesystem::path& from, DType type,
                       const std::filesystem::path& to) {
    const auto file = MINFER_TRY(gguf::File::open(from));
    auto writer = gguf::Writer();
    for (const auto& entry : file.metadata().entries()) writer.set(entry.key, entry.value);
    for (const auto& tensor : file.tensors()) {
        const auto shape = std::span(tensor.shape).first(tensor.n_dims);
        if (tensor.rows() == 1) {
            MINFER_TRY(writer.add_tensor(tensor.name, tensor.dtype, shape, tensor.data));
            continue;
        }
        const auto requantize = [&tensor, type](const gguf::Sink& sink) -> Result<> {
            const auto width = tensor.shape[0];
            auto values = std::vector<float>(width);
            auto row = std::vector<std::byte>(row_bytes(type, width));
            const auto stored = row_bytes(tensor.dtype, width);
            for (uint64_t r = 0; r < tensor.rows(); ++r) {
                dequantize_row(tensor.dtype, tensor.data.data() + r * stored, values.data(), width);
                MINFER_TRY(quantize_row(type, values.data(), row.data(), width));
                MINFER_TRY(sink(row));
            }
            return {};
        };
        MINFER_TRY(writer.add_tensor(tensor.name, type, shape, requantize));
    }
    return writer.write(to);
}

}  // namespace minfer::test

#include "model/model.h"

#include <algorithm>

#include "model/qwen.h"
#include "model/tensors.h"
#include "tensor/dequantize.h"

namespace minfer {

Result<Model> Model::load(const std::filesystem::path& path) {
    auto file = MINFER_TRY(gguf::File::open(path));
    auto model = from(std::move(file));
    if (!model) return at(path.string(), std::move(model).error());
    return model;
}

Result<Model> Model::from(gguf::File file) {
    const auto hparams = MINFER_TRY(read_hparams(file));
    const auto specs = tensor_specs(hparams);
    MINFER_TRY(check_tensors(file, specs));

    auto model = Model(std::move(file), hparams);
    for (const auto& spec : specs) {
        const auto* const tensor = model.file_.find(spec.name);
        if (!tensor) continue;
        auto weight = Weight{.name = spec.name,
                             .dtype = tensor->dtype,
                             .shape = {spec.shape[0], spec.shape[1], 1, 1},
                             .data = tensor->data};
        if (spec.is_vector() && tensor->dtype != DType::F32) {
            const auto width = static_cast<size_t>(spec.shape[0]);
            auto wide = std::make_unique<float[]>(width);
            dequantize_row(tensor->dtype, tensor->data.data(), wide.get(), width);
            weight.dtype = DType::F32;
            weight.data = std::as_bytes(std::span(wide.get(), width));
            model.wide_.push_back(std::move(wide));
        }
        model.weights_.push_back(std::move(weight));
    }
    std::ranges::sort(model.weights_, {}, &Weight::name);
    return model;
}

const Weight* Model::find(std::string_view name) const {
    const auto found = std::ranges::lower_bound(
        weights_, name, {}, [](const Weight& weight) { return std::string_view(weight.name); });
    return found != weights_.end() && found->name == name ? &*found : nullptr;
}

DType Model::weight_dtype(std::string_view name) const {
    const auto* const weight = find(name);
    MINFER_ASSERT(weight != nullptr);
    return weight->dtype;
}

size_t Model::n_parameters() const {
    size_t total = 0;
    for (const auto& weight : weights_) total += elements(weight.shape);
    return total;
}

Result<Graph> Model::build(const GraphParams& params) const { return build_qwen(*this, params); }

}  // namespace minfer

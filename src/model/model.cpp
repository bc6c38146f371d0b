#include "model/model.h"

#include <algorithm>

#include "model/fusion.h"
#include "model/qwen.h"
#include "model/tensors.h"
#include "tensor/dequantize.h"

namespace minfer {

Result<Model> Model::load(const std::filesystem::path& path, std::string prefix) {
    auto file = MINFER_TRY(gguf::File::open(path));
    auto model = from(std::move(file), std::move(prefix));
    if (!model) return at(path.string(), std::move(model).error());
    return model;
}

Result<Model> Model::from(gguf::File file, std::string prefix) {
    const auto hparams = MINFER_TRY(read_hparams(file));
    const auto specs = tensor_specs(hparams);
    MINFER_TRY(check_tensors(file, specs));

    auto model = Model(std::move(file), hparams, std::move(prefix));
    for (const auto& spec : specs) {
        const auto* const tensor = model.file_.find(spec.name);
        if (!tensor) continue;
        auto weight = Weight{.name = model.weight_name(spec.name),
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

Result<> Model::join_weights(bool qkv, bool ffn) {
    auto joins = std::vector<JoinedWeights::Join>();
    const auto add = [&](const FusedWeights& weights) {
        if (has_weight(weights.joined)) return;
        auto& join = joins.emplace_back(JoinedWeights::Join{.name = weight_name(weights.joined)});
        for (const auto& part : weights.parts) join.parts.push_back(find_weight(part));
    };
    for (size_t block = 0; block < hparams_.n_layer; ++block) {
        if (qkv && can_fuse_qkv(*this, block)) add(qkv_weights(block));
        if (ffn && can_fuse_ffn(*this, block)) add(ffn_weights(block));
    }
    if (joins.empty()) return {};
    joined_.push_back(MINFER_TRY(JoinedWeights::make(joins)));
    const auto made = joined_.back().weights();
    weights_.insert(weights_.end(), made.begin(), made.end());
    std::ranges::sort(weights_, {}, &Weight::name);
    return {};
}

std::vector<std::span<const std::byte>> Model::mappings() const {
    std::vector<std::span<const std::byte>> mappings;
    for (const auto& part : file_.parts()) mappings.push_back(part.pages());
    for (const auto& joined : joined_) mappings.push_back(joined.pages());
    return mappings;
}

std::string Model::weight_name(std::string_view tensor) const {
    return fmt::format("{}{}", prefix_, tensor);
}

const Weight* Model::find_weight(std::string_view tensor) const {
    // Sorted by prefix and tensor, which with one prefix is the order of the tensors.
    const auto without_prefix = [this](const Weight& weight) {
        return std::string_view(weight.name).substr(prefix_.size());
    };
    const auto found = std::ranges::lower_bound(weights_, tensor, {}, without_prefix);
    return found != weights_.end() && without_prefix(*found) == tensor ? &*found : nullptr;
}

DType Model::weight_dtype(std::string_view tensor) const {
    const auto* const weight = find_weight(tensor);
    MINFER_ASSERT(weight != nullptr);
    return weight->dtype;
}

size_t Model::n_parameters() const {
    size_t total = 0;
    for (const auto& weight : weights_) total += elements(weight.shape);
    for (const auto& joined : joined_)  // the same parameters once more
        for (const auto& weight : joined.weights()) total -= elements(weight.shape);
    return total;
}

Result<Graph> Model::build(const GraphParams& params) const { return build_qwen(*this, params); }

}  // namespace minfer

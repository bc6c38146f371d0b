#include "model/tensors.h"

#include <algorithm>
#include <set>

#include "base/printable.h"

namespace minfer {
namespace {

// As many names as fit one readable message.
std::string list(const std::vector<std::string>& names) {
    constexpr size_t kShown = 8;
    const auto shown = std::min(names.size(), kShown);
    std::string text;
    for (size_t i = 0; i < shown; ++i) text += (i ? ", " : "") + printable(names[i]);
    if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
    return text;
}

}  // namespace

std::vector<TensorSpec> tensor_specs(const HParams& hp) {
    std::vector<TensorSpec> specs;
    const auto matrix = [&](std::string name, size_t in, size_t out, bool optional = false) {
        specs.push_back({std::move(name), {in, out, 1, 1}, optional});
    };
    const auto vector = [&](std::string name, size_t width, bool optional = false) {
        specs.push_back({std::move(name), {width, 1, 1, 1}, optional});
    };
    matrix("token_embd.weight", hp.n_embd, hp.n_vocab);
    vector("output_norm.weight", hp.n_embd);
    matrix("output.weight", hp.n_embd, hp.n_vocab, true);
    vector("output.bias", hp.n_vocab, true);
    for (size_t il = 0; il < hp.n_layer; ++il) {
        const auto block = [&](std::string_view part) {
            return fmt::format("blk.{}.{}", il, part);
        };
        vector(block("attn_norm.weight"), hp.n_embd);
        matrix(block("attn_q.weight"), hp.n_embd, hp.q_width());
        matrix(block("attn_k.weight"), hp.n_embd, hp.kv_width());
        matrix(block("attn_v.weight"), hp.n_embd, hp.kv_width());
        switch (hp.architecture) {
            case Architecture::Qwen2:
                vector(block("attn_q.bias"), hp.q_width());
                vector(block("attn_k.bias"), hp.kv_width());
                vector(block("attn_v.bias"), hp.kv_width());
                break;
            case Architecture::Qwen3:
                vector(block("attn_q_norm.weight"), hp.head_dim);
                vector(block("attn_k_norm.weight"), hp.head_dim);
                break;
        }
        matrix(block("attn_output.weight"), hp.q_width(), hp.n_embd);
        vector(block("ffn_norm.weight"), hp.n_embd);
        matrix(block("ffn_gate.weight"), hp.n_embd, hp.n_ff);
        matrix(block("ffn_up.weight"), hp.n_embd, hp.n_ff);
        matrix(block("ffn_down.weight"), hp.n_ff, hp.n_embd);
    }
    return specs;
}

Result<> check_tensors(const gguf::File& file, const std::vector<TensorSpec>& specs) {
    std::set<std::string_view> known;
    std::vector<std::string> missing;
    for (const auto& spec : specs) {
        known.insert(spec.name);
        const auto* const tensor = file.find(spec.name);
        if (!tensor) {
            if (!spec.optional) missing.push_back(spec.name);
            continue;
        }
        if (tensor->shape != spec.shape)
            return fail(Fault::BadInput, "tensor '{}' has shape {}, expected [{}, {}]", spec.name,
                        gguf::shape_text(*tensor), spec.shape[0], spec.shape[1]);
        const auto type = tensor->dtype;
        if (spec.is_vector() && type != DType::F32 && type != DType::F16 && type != DType::BF16)
            return fail(Fault::Unsupported,
                        "tensor '{}' is a vector of {}, supported are F32, F16 and BF16", spec.name,
                        name(type));
    }
    if (!missing.empty()) return fail(Fault::BadInput, "missing tensors: {}", list(missing));
    std::vector<std::string> extra;
    for (const auto& tensor : file.tensors())
        if (!known.contains(tensor.name)) extra.emplace_back(tensor.name);
    if (!extra.empty())
        return fail(Fault::BadInput, "tensors this architecture does not have: {}", list(extra));
    return {};
}

}  // namespace minfer

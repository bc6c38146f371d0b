#include "model_facts.h"

#include <algorithm>
#include <map>

#include "fmt/format.h"
#include "units.h"

namespace minfer {
namespace {

// Looks facts up under the architecture's prefix, and `llama.` as old converters wrote.
class Facts {
  public:
    Facts(const gguf::Metadata& meta, std::string architecture)
        : meta_(meta), prefix_(std::move(architecture)) {}

    const gguf::Value* find(std::string_view suffix) const {
        if (const auto* const own = meta_.find(fmt::format("{}.{}", prefix_, suffix))) return own;
        return meta_.find(fmt::format("llama.{}", suffix));
    }
    std::optional<uint64_t> number(std::string_view suffix) const {
        const auto* const value = find(suffix);
        return value && !value->is_array() ? value->as_uint() : std::nullopt;
    }
    std::optional<double> real(std::string_view suffix) const {
        const auto* const value = find(suffix);
        return value && !value->is_array() ? value->as_float() : std::nullopt;
    }
    std::string text(std::string_view suffix) const {
        const auto* const value = find(suffix);
        return std::string(value ? value->as_string().value_or("") : "");
    }

  private:
    const gguf::Metadata& meta_;
    std::string prefix_;
};

std::string text_of(const gguf::Metadata& meta, std::string_view key) {
    const auto* const value = meta.find(key);
    return std::string(value ? value->as_string().value_or("") : "");
}

}  // namespace

ModelFacts read_facts(const gguf::File& file) {
    const auto& meta = file.metadata();
    ModelFacts facts;
    facts.architecture = text_of(meta, "general.architecture");
    facts.model_name = text_of(meta, "general.name");
    std::map<DType, TypeShare> shares;
    for (const auto& tensor : file.tensors()) {
        facts.n_parameters += tensor.values();
        facts.tensor_bytes += tensor.data.size();
        auto& share = shares[tensor.dtype];
        share.dtype = tensor.dtype;
        ++share.tensors;
        share.bytes += tensor.data.size();
    }
    for (const auto& [dtype, share] : shares) facts.types.push_back(share);
    std::ranges::sort(facts.types, [](const TypeShare& a, const TypeShare& b) {
        return a.bytes != b.bytes ? a.bytes > b.bytes : a.dtype < b.dtype;
    });
    for (const auto& part : file.parts()) facts.file_bytes += part.bytes().size();

    const auto own = Facts(meta, facts.architecture);
    facts.n_layer = own.number("block_count");
    facts.n_head = own.number("attention.head_count");
    facts.n_head_kv = own.number("attention.head_count_kv");
    if (!facts.n_head_kv) facts.n_head_kv = facts.n_head;
    facts.n_embd = own.number("embedding_length");
    facts.head_dim = own.number("attention.key_length");
    if (!facts.head_dim && facts.n_embd && facts.n_head.value_or(0) > 0)
        facts.head_dim = *facts.n_embd / *facts.n_head;
    facts.n_ff = own.number("feed_forward_length");
    facts.n_ctx_train = own.number("context_length");
    facts.rope_base = own.real("rope.freq_base");
    facts.rope_factor = own.real("rope.scaling.factor");
    facts.rope_scaling = own.text("rope.scaling.type");
    if (const auto* const tokens = meta.find("tokenizer.ggml.tokens"))
        facts.n_vocab = tokens->size();
    return facts;
}

std::string ModelFacts::label() const {
    auto size = count_text(n_parameters);
    std::erase(size, ' ');
    return fmt::format("{} {} {}", architecture.empty() ? "unknown" : architecture, size,
                       types.empty() ? "" : name(types.front().dtype));
}

}  // namespace minfer

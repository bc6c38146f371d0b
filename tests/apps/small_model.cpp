#include "apps/small_model.h"

#include <cmath>
#include <deque>
#include <random>

#include "base/utf8.h"
#include "gguf/writer.h"

namespace minfer {
namespace {

constexpr size_t kLayers = 2, kEmbd = 32, kHeads = 2, kKvHeads = 1, kFf = 64;

// GPT-2's stand-ins for bytes: printable ones are themselves, the others follow from U+0100.
std::vector<std::string> byte_tokens() {
    std::vector<std::string> tokens;
    char32_t next = 0x100;
    for (char32_t byte = 0; byte < 256; ++byte) {
        const bool itself = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) ||
                            (byte >= 0xae && byte <= 0xff);
        std::string token;
        append_utf8(token, itself ? byte : next++);
        tokens.push_back(std::move(token));
    }
    return tokens;
}

void check(const Result<>& result) { MINFER_ASSERT(result.has_value()); }

class Tensors {
  public:
    explicit Tensors(gguf::Writer& writer) : writer_(writer) {}

    void add(const std::string& name, std::initializer_list<uint64_t> shape) {
        size_t count = 1;
        for (const auto n : shape) count *= n;
        auto& values = kept_.emplace_back(count);
        const bool norm = shape.size() == 1;
        const auto scale = norm ? 0.1f : 1.f / std::sqrt(static_cast<float>(*shape.begin()));
        for (auto& value : values) value = (norm ? 1.f : 0.f) + scale * uniform();
        check(writer_.add_tensor(name, DType::F32, shape, std::as_bytes(std::span(values))));
    }
    void spoil() { kept_.back().back() = NAN; }

  private:
    float uniform() { return static_cast<float>(random_() >> 8) * 0x1p-23f - 1.f; }

    gguf::Writer& writer_;
    std::mt19937 random_{7};
    std::deque<std::vector<float>> kept_;  // the writer borrows them
};

}  // namespace

void write_small_model(const std::filesystem::path& path, const SmallModel& model) {
    auto tokens = byte_tokens();
    auto kinds = std::vector<int32_t>(tokens.size(), 1);
    tokens.push_back(tokens[' '] + "t");
    kinds.push_back(1);
    tokens.emplace_back("<|endoftext|>");
    kinds.push_back(3);
    if (model.chat_tokens)
        for (const auto* const text : {"<|im_start|>", "<|im_end|>"}) {
            tokens.emplace_back(text);
            kinds.push_back(3);
        }

    gguf::Writer writer;
    const auto key = [&](std::string_view suffix) {
        return fmt::format("{}.{}", model.architecture, suffix);
    };
    writer.set("general.architecture", model.architecture);
    writer.set("general.name", "small");
    writer.set(key("block_count"), uint32_t{kLayers});
    writer.set(key("embedding_length"), uint32_t{kEmbd});
    writer.set(key("feed_forward_length"), uint32_t{kFf});
    writer.set(key("context_length"), static_cast<uint32_t>(model.n_ctx));
    writer.set(key("attention.head_count"), uint32_t{kHeads});
    writer.set(key("attention.head_count_kv"), uint32_t{kKvHeads});
    writer.set(key("attention.key_length"), static_cast<uint32_t>(model.head_dim));
    writer.set(key("attention.value_length"), static_cast<uint32_t>(model.head_dim));
    writer.set(key("attention.layer_norm_rms_epsilon"), 1e-6f);
    writer.set(key("rope.freq_base"), 10000.f);
    if (model.temperature_hint) writer.set("general.sampling.temp", *model.temperature_hint);
    writer.set("tokenizer.ggml.model", model.known_tokenizer ? "gpt2" : "quill");
    writer.set("tokenizer.ggml.pre", "qwen2");
    writer.set_array("tokenizer.ggml.tokens", std::span<const std::string>(tokens));
    writer.set_array("tokenizer.ggml.token_type", std::span<const int32_t>(kinds));
    const auto merges = std::vector{tokens[' '] + " t"};
    writer.set_array("tokenizer.ggml.merges", std::span<const std::string>(merges));
    writer.set("tokenizer.ggml.eos_token_id", uint32_t{kEndOfText});
    if (model.chat_template) writer.set("tokenizer.chat_template", *model.chat_template);

    Tensors tensors(writer);
    if (model.with_tensors) {
        tensors.add("token_embd.weight", {kEmbd, tokens.size()});
        for (size_t layer = 0; layer < kLayers; ++layer) {
            const auto block = fmt::format("blk.{}.", layer);
            tensors.add(block + "attn_norm.weight", {kEmbd});
            tensors.add(block + "attn_q.weight", {kEmbd, kHeads * model.head_dim});
            tensors.add(block + "attn_k.weight", {kEmbd, kKvHeads * model.head_dim});
            tensors.add(block + "attn_v.weight", {kEmbd, kKvHeads * model.head_dim});
            tensors.add(block + "attn_q_norm.weight", {model.head_dim});
            tensors.add(block + "attn_k_norm.weight", {model.head_dim});
            tensors.add(block + "attn_output.weight", {kHeads * model.head_dim, kEmbd});
            tensors.add(block + "ffn_norm.weight", {kEmbd});
            tensors.add(block + "ffn_gate.weight", {kEmbd, kFf});
            tensors.add(block + "ffn_up.weight", {kEmbd, kFf});
            tensors.add(block + "ffn_down.weight", {kFf, kEmbd});
        }
        tensors.add("output_norm.weight", {kEmbd});
        if (model.spoiled) tensors.spoil();
    }
    check(writer.write(path));
}

}  // namespace minfer

#include "random_model/random_model.h"

#include <array>
#include <cmath>

#include "random_model/random_blocks.h"

namespace minfer {
namespace {

class ModelWriter {
  public:
    ModelWriter(gguf::Writer& out, const RandomModelShape& shape, DType type)
        : out_(out), shape_(shape), type_(type) {}

    Result<> write() {
        metadata();
        vocabulary();
        return tensors();
    }

  private:
    void metadata() {
        const auto key = [&](std::string_view part) {
            return fmt::format("{}.{}", shape_.architecture, part);
        };
        out_.set("general.architecture", shape_.architecture);
        out_.set("general.name",
                 fmt::format("{} with random {} weights", shape_.name, name(type_)));
        out_.set(key("block_count"), shape_.n_layer);
        out_.set(key("context_length"), shape_.n_ctx);
        out_.set(key("embedding_length"), shape_.n_embd);
        out_.set(key("feed_forward_length"), shape_.n_ff);
        out_.set(key("attention.head_count"), shape_.n_head);
        out_.set(key("attention.head_count_kv"), shape_.n_head_kv);
        out_.set(key("attention.key_length"), shape_.head_dim);
        out_.set(key("attention.value_length"), shape_.head_dim);
        out_.set(key("attention.layer_norm_rms_epsilon"), shape_.rms_eps);
        out_.set(key("rope.freq_base"), shape_.rope_base);
        out_.set("general.quantization_version", uint32_t{2});
    }

    // The 256 bytes in the GPT-2 alphabet, one merge, an end token, and filler up to n_vocab.
    void vocabulary() {
        constexpr int32_t kNormal = 1, kControl = 3, kUnused = 5;
        std::vector<std::string> tokens;
        std::vector<int32_t> kinds;
        const auto add = [&](std::string token, int32_t kind) {
            tokens.push_back(std::move(token));
            kinds.push_back(kind);
        };
        for (const auto& symbol : byte_alphabet()) add(symbol, kNormal);
        add("he", kNormal);
        const auto end = static_cast<uint32_t>(tokens.size());
        add("<|endoftext|>", kControl);
        while (tokens.size() < shape_.n_vocab)
            add(fmt::format("[unused {}]", tokens.size()), kUnused);
        const auto merges = std::array<std::string, 1>{"h e"};
        out_.set("tokenizer.ggml.model", "gpt2");
        out_.set("tokenizer.ggml.pre", "qwen2");
        out_.set_array("tokenizer.ggml.tokens", std::span<const std::string>(tokens));
        out_.set_array("tokenizer.ggml.token_type", std::span<const int32_t>(kinds));
        out_.set_array("tokenizer.ggml.merges", std::span<const std::string>(merges));
        out_.set("tokenizer.ggml.eos_token_id", end);
        out_.set("tokenizer.ggml.bos_token_id", end);
        out_.set("tokenizer.ggml.add_bos_token", false);
    }

    // Byte b as GPT-2 writes it: printable Latin-1 as itself, the other 68 from U+0100 on.
    static std::vector<std::string> byte_alphabet() {
        std::vector<std::string> symbols;
        char32_t next = 0x100;
        for (char32_t b = 0; b < 256; ++b) {
            const bool plain = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
            const auto c = plain ? b : next++;
            symbols.push_back(c < 0x80 ? std::string{static_cast<char>(c)}
                                       : std::string{static_cast<char>(0xc0 | (c >> 6)),
                                                     static_cast<char>(0x80 | (c & 0x3f))});
        }
        return symbols;
    }

    Result<> tensors() {
        const auto embd = shape_.n_embd, ff = shape_.n_ff;
        const auto q = shape_.n_head * shape_.head_dim, kv = shape_.n_head_kv * shape_.head_dim;
        // Larger than a trained model's: attention and head should be far from uniform.
        MINFER_TRY(matrix("token_embd.weight", embd, shape_.n_vocab, 1.f));
        MINFER_TRY(vector("output_norm.weight", embd, 1.f));
        if (!shape_.tied) MINFER_TRY(matrix("output.weight", embd, shape_.n_vocab, 0));
        for (uint32_t il = 0; il < shape_.n_layer; ++il) {
            const auto block = [&](std::string_view part) {
                return fmt::format("blk.{}.{}", il, part);
            };
            MINFER_TRY(vector(block("attn_norm.weight"), embd, 1.f));
            MINFER_TRY(matrix(block("attn_q.weight"), embd, q, 0));
            MINFER_TRY(matrix(block("attn_k.weight"), embd, kv, 0));
            MINFER_TRY(matrix(block("attn_v.weight"), embd, kv, 0));
            if (shape_.architecture == "qwen2") {
                MINFER_TRY(vector(block("attn_q.bias"), q, 0));
                MINFER_TRY(vector(block("attn_k.bias"), kv, 0));
                MINFER_TRY(vector(block("attn_v.bias"), kv, 0));
            } else {
                MINFER_TRY(vector(block("attn_q_norm.weight"), shape_.head_dim, 1.f));
                MINFER_TRY(vector(block("attn_k_norm.weight"), shape_.head_dim, 1.f));
            }
            MINFER_TRY(matrix(block("attn_output.weight"), q, embd, 0));
            MINFER_TRY(vector(block("ffn_norm.weight"), embd, 1.f));
            MINFER_TRY(matrix(block("ffn_gate.weight"), embd, ff, 0));
            MINFER_TRY(matrix(block("ffn_up.weight"), embd, ff, 0));
            MINFER_TRY(matrix(block("ffn_down.weight"), ff, embd, 0));
        }
        return {};
    }

    // An amplitude of 0 stands for the one that keeps the variance of its input.
    Result<> matrix(const std::string& tensor, uint32_t in, uint32_t out, float amplitude) {
        const auto type = type_for_row(in);
        if (amplitude == 0) amplitude = std::sqrt(3.f / static_cast<float>(in));
        return add(tensor, type, {in, out}, amplitude, 0);
    }

    // `centre` 1 for norms, 0 for biases.
    Result<> vector(const std::string& tensor, uint32_t width, float centre) {
        return add(tensor, DType::F32, {width}, 0.25f, centre);
    }

    DType type_for_row(uint32_t row) const {
        for (const auto type : {type_, DType::Q8_0})
            if (row % info(type).block_values == 0) return type;
        return DType::F16;
    }

    Result<> add(const std::string& tensor, DType type, std::vector<uint64_t> shape,
                 float amplitude, float centre) {
        const auto rows = shape.size() > 1 ? shape[1] : 1;
        const auto bytes = row_bytes(type, shape[0]);
        return out_.add_tensor(tensor, type, shape, [=](const gguf::Sink& sink) -> Result<> {
            auto random = NamedRandom(tensor);
            std::vector<std::byte> row(bytes);
            for (uint64_t r = 0; r < rows; ++r) {
                fill_random(type, random, amplitude, row);
                if (centre != 0) shift(row, centre);
                MINFER_TRY(sink(row));
            }
            return {};
        });
    }

    static void shift(std::span<std::byte> row, float centre) {
        auto* const values = reinterpret_cast<float*>(row.data());
        for (size_t i = 0; i < row.size() / sizeof(float); ++i) values[i] += centre;
    }

    gguf::Writer& out_;
    const RandomModelShape& shape_;
    DType type_;
};

}  // namespace

const std::vector<RandomModelShape>& random_model_shapes() {
    // Tiny shapes: rows of 256 for the K-quants, grouped heads, qwen3's head size apart from
    // n_embd / n_head. The others are the published configurations.
    static const std::vector<RandomModelShape> shapes = {
        {.name = "tiny-qwen2",
         .architecture = "qwen2",
         .n_layer = 2,
         .n_embd = 256,
         .n_ff = 512,
         .n_head = 4,
         .n_head_kv = 2,
         .head_dim = 64,
         .n_vocab = 384,
         .n_ctx = 512,
         .tied = false},
        {.name = "tiny-qwen3",
         .architecture = "qwen3",
         .n_layer = 2,
         .n_embd = 256,
         .n_ff = 512,
         .n_head = 8,
         .n_head_kv = 2,
         .head_dim = 64,
         .n_vocab = 384,
         .n_ctx = 512,
         .tied = true},
        {.name = "qwen2.5-0.5b",
         .architecture = "qwen2",
         .n_layer = 24,
         .n_embd = 896,
         .n_ff = 4864,
         .n_head = 14,
         .n_head_kv = 2,
         .head_dim = 64,
         .n_vocab = 151936,
         .n_ctx = 32768,
         .tied = true},
        {.name = "qwen3-0.6b",
         .architecture = "qwen3",
         .n_layer = 28,
         .n_embd = 1024,
         .n_ff = 3072,
         .n_head = 16,
         .n_head_kv = 8,
         .head_dim = 128,
         .n_vocab = 151936,
         .n_ctx = 40960,
         .tied = true},
        {.name = "qwen2.5-7b",
         .architecture = "qwen2",
         .n_layer = 28,
         .n_embd = 3584,
         .n_ff = 18944,
         .n_head = 28,
         .n_head_kv = 4,
         .head_dim = 128,
         .n_vocab = 152064,
         .n_ctx = 32768,
         .tied = false},
    };
    return shapes;
}

Result<> add_random_model(gguf::Writer& writer, const RandomModelShape& shape, DType type) {
    return ModelWriter(writer, shape, type).write();
}

}  // namespace minfer

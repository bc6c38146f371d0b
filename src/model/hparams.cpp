#include "model/hparams.h"

#include <cmath>
#include <string>

#include "base/printable.h"

namespace minfer {
namespace {

// Bounds no sane model reaches; they keep products of any two inside 64 bits.
constexpr uint64_t kMaxCount = 1u << 20;
constexpr uint64_t kMaxContext = 1u << 30;

// Looks keys up under the architecture's prefix; qwen2 files made by old converters used `llama.`.
class Keys {
  public:
    Keys(const gguf::Metadata& meta, Architecture architecture)
        : meta_(meta),
          prefix_(name(architecture)),
          old_prefix_(architecture == Architecture::Qwen2) {}

    std::string key(std::string_view suffix) const {
        auto own = fmt::format("{}.{}", prefix_, suffix);
        if (!old_prefix_ || meta_.has(own)) return own;
        auto old = fmt::format("llama.{}", suffix);
        return meta_.has(old) ? old : own;
    }
    bool has(std::string_view suffix) const { return meta_.has(key(suffix)); }

    Result<size_t> count(std::string_view suffix, uint64_t max = kMaxCount) const {
        const auto full = key(suffix);
        const auto value = MINFER_TRY(meta_.get_uint(full, max));
        if (value == 0) return fail(Fault::BadInput, "{} is 0, expected at least 1", full);
        return static_cast<size_t>(value);
    }
    Result<size_t> count_or(std::string_view suffix, size_t fallback) const {
        if (!has(suffix)) return fallback;
        return count(suffix);
    }
    Result<float> positive(std::string_view suffix) const {
        const auto full = key(suffix);
        const auto value = static_cast<float>(MINFER_TRY(meta_.get_float(full)));
        if (!std::isfinite(value) || value <= 0)
            return fail(Fault::BadInput, "{} is {}, expected a finite number above 0", full, value);
        return value;
    }

  private:
    const gguf::Metadata& meta_;
    std::string_view prefix_;
    bool old_prefix_;
};

Result<Architecture> read_architecture(const gguf::Metadata& meta) {
    const auto found = MINFER_TRY(meta.get_string("general.architecture"));
    for (const auto known : {Architecture::Qwen2, Architecture::Qwen3})
        if (found == name(known)) return known;
    return fail(Fault::Unsupported, "general.architecture is {}, supported are qwen2 and qwen3",
                printable(found));
}

Result<float> read_rope_scale(const gguf::Metadata& meta, const Keys& keys) {
    if (!keys.has("rope.scaling.type")) return 1.f;
    const auto key = keys.key("rope.scaling.type");
    const auto type = MINFER_TRY(meta.get_string(key));
    if (type == "none") return 1.f;
    if (type == "linear") {
        const auto factor = MINFER_TRY(keys.positive("rope.scaling.factor"));
        return 1.f / factor;
    }
    return fail(Fault::Unsupported, "{} is {}, supported are none and linear", key,
                printable(type));
}

Result<> check_shape(const HParams& hp) {
    if (hp.n_head % hp.n_head_kv != 0)
        return fail(Fault::BadInput, "attention.head_count_kv is {}, it must divide head_count {}",
                    hp.n_head_kv, hp.n_head);
    if (hp.head_dim % 2 != 0)
        return fail(Fault::BadInput, "head size is {}, RoPE needs an even one", hp.head_dim);
    return {};
}

}  // namespace

std::string_view name(Architecture architecture) {
    switch (architecture) {
        case Architecture::Qwen2:
            return "qwen2";
        case Architecture::Qwen3:
            return "qwen3";
    }
    std::unreachable();
}

Result<HParams> read_hparams(const gguf::File& file) {
    const auto& meta = file.metadata();
    HParams hp;
    hp.architecture = MINFER_TRY(read_architecture(meta));
    const auto keys = Keys(meta, hp.architecture);
    hp.n_layer = MINFER_TRY(keys.count("block_count", 4096));
    hp.n_embd = MINFER_TRY(keys.count("embedding_length"));
    hp.n_ff = MINFER_TRY(keys.count("feed_forward_length"));
    hp.n_ctx_train = MINFER_TRY(keys.count("context_length", kMaxContext));
    hp.n_head = MINFER_TRY(keys.count("attention.head_count"));
    hp.n_head_kv = MINFER_TRY(keys.count_or("attention.head_count_kv", hp.n_head));
    if (!keys.has("attention.key_length") && hp.n_embd % hp.n_head != 0)
        return fail(Fault::BadInput,
                    "{} is absent and embedding_length {} is not a multiple of head_count {}",
                    keys.key("attention.key_length"), hp.n_embd, hp.n_head);
    hp.head_dim = MINFER_TRY(keys.count_or("attention.key_length", hp.n_embd / hp.n_head));
    const auto value_length = MINFER_TRY(keys.count_or("attention.value_length", hp.head_dim));
    if (value_length != hp.head_dim)
        return fail(Fault::Unsupported, "{} is {}, it must equal the key length {}",
                    keys.key("attention.value_length"), value_length, hp.head_dim);
    hp.rms_eps = MINFER_TRY(keys.positive("attention.layer_norm_rms_epsilon"));
    if (keys.has("rope.freq_base")) hp.rope_freq_base = MINFER_TRY(keys.positive("rope.freq_base"));
    const auto rope_dims = MINFER_TRY(keys.count_or("rope.dimension_count", hp.head_dim));
    if (rope_dims != hp.head_dim)
        return fail(Fault::Unsupported, "{} is {}, it must equal the head size {}",
                    keys.key("rope.dimension_count"), rope_dims, hp.head_dim);
    hp.rope_freq_scale = MINFER_TRY(read_rope_scale(meta, keys));
    MINFER_TRY(check_shape(hp));

    const auto* const embedding = file.find("token_embd.weight");
    if (!embedding) return fail(Fault::BadInput, "tensor 'token_embd.weight' is missing");
    hp.n_vocab = embedding->shape[1];
    if (hp.n_vocab > INT32_MAX)
        return fail(Fault::BadInput, "tensor 'token_embd.weight' has {} rows, allowed are {}",
                    hp.n_vocab, INT32_MAX);
    return hp;
}

}  // namespace minfer

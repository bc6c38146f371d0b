#include "model/vocab.h"

#include <string>

namespace minfer {
namespace {

std::string key(std::string_view part) { return fmt::format("tokenizer.ggml.{}", part); }

Result<std::optional<int64_t>> optional_id(const gguf::Metadata& meta, std::string_view part) {
    if (!meta.has(key(part))) return std::optional<int64_t>();
    return std::optional(MINFER_TRY(meta.get_int(key(part))));
}

Result<std::vector<std::string_view>> strings(const gguf::Metadata& meta, std::string_view part) {
    const auto found = MINFER_TRY(meta.get_strings(key(part)));
    return std::vector<std::string_view>(found.begin(), found.end());
}

}  // namespace

Result<Tokenizer> read_tokenizer(const gguf::Metadata& meta) {
    VocabSource source;
    source.model = MINFER_TRY(meta.get_string_or(key("model"), ""));
    source.pre = MINFER_TRY(meta.get_string_or(key("pre"), ""));
    source.tokens = MINFER_TRY(strings(meta, "tokens"));
    source.merges = MINFER_TRY(strings(meta, "merges"));
    if (meta.has(key("token_type"))) {
        const auto kinds = MINFER_TRY(meta.get_ints(key("token_type")));
        source.kinds.emplace();
        source.kinds->reserve(kinds.size());
        for (const auto kind : kinds) {
            if (kind < 0 || kind > 255)
                return fail(Fault::BadInput, "{} holds {}, allowed are 1 to 6", key("token_type"),
                            kind);
            source.kinds->push_back(static_cast<int32_t>(kind));
        }
    }
    if (const auto* const scores = meta.find(key("scores"))) source.n_scores = scores->size();
    source.bos = MINFER_TRY(optional_id(meta, "bos_token_id"));
    source.eos = MINFER_TRY(optional_id(meta, "eos_token_id"));
    source.eot = MINFER_TRY(optional_id(meta, "eot_token_id"));
    source.pad = MINFER_TRY(optional_id(meta, "padding_token_id"));
    source.add_bos = MINFER_TRY(meta.get_bool_or(key("add_bos_token"), false));
    return Tokenizer::create(source);
}

Result<std::optional<std::string_view>> read_chat_template(const gguf::Metadata& meta) {
    constexpr std::string_view kKey = "tokenizer.chat_template";
    if (!meta.has(kKey)) return std::optional<std::string_view>();
    return std::optional(MINFER_TRY(meta.get_string(kKey)));
}

}  // namespace minfer

#pragma once
// A vocabulary out of a Hugging Face tokenizer.json, as a GGUF converter would write it.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/vocab.h"

namespace minfer {

// The contents of an .xz file, through the command of that name.
inline std::string read_xz(const std::filesystem::path& path) {
    auto* pipe = ::popen(fmt::format("xz -dc '{}'", path.string()).c_str(), "r");
    MINFER_ASSERT(pipe != nullptr);
    std::string bytes;
    std::vector<char> part(1 << 16);
    while (const size_t n = ::fread(part.data(), 1, part.size(), pipe)) {
        bytes.append(part.data(), n);
    }
    MINFER_ASSERT(::pclose(pipe) == 0);
    return bytes;
}

struct HubVocab {
    std::vector<std::string> tokens;
    std::vector<int32_t> kinds;
    std::vector<std::string> merges;

    // Valid while this object lives.
    VocabSource source() const {
        return {.model = "gpt2",
                .pre = "qwen2",
                .tokens = {tokens.begin(), tokens.end()},
                .kinds = kinds,
                .merges = {merges.begin(), merges.end()}};
    }
};

inline HubVocab read_hub_vocab(const nlohmann::json& json) {
    HubVocab vocab;
    const auto put = [&](size_t id, std::string text, TokenKind kind) {
        while (vocab.tokens.size() <= id) {
            vocab.tokens.push_back(fmt::format("[PAD{}]", vocab.tokens.size()));
            vocab.kinds.push_back(static_cast<int32_t>(TokenKind::Unused));
        }
        vocab.tokens[id] = std::move(text);
        vocab.kinds[id] = static_cast<int32_t>(kind);
    };
    for (const auto& [text, id] : json["model"]["vocab"].items()) {
        put(id.get<size_t>(), text, TokenKind::Normal);
    }
    for (const auto& token : json["added_tokens"]) {
        const auto text = token["content"].get<std::string>();
        const bool control =
            token["special"].get<bool>() || (text.starts_with("<|") && text.ends_with("|>"));
        put(token["id"].get<size_t>(), text, control ? TokenKind::Control : TokenKind::UserDefined);
    }
    for (const auto& pair : json["model"]["merges"]) {
        vocab.merges.push_back(pair[0].get<std::string>() + ' ' + pair[1].get<std::string>());
    }
    return vocab;
}

}  // namespace minfer

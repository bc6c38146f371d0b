#pragma once
// A few kilobytes of qwen3 with random weights and a vocabulary of bytes: enough for everything a
// command does with a model except sense.

#include <filesystem>
#include <optional>
#include <string>

namespace minfer {

struct SmallModel {
    size_t n_ctx = 256;
    size_t head_dim = 16;
    bool chat_tokens = false;  // <|im_start|>, <|im_end|>
    std::optional<std::string> chat_template;
    bool with_tensors = true;  // false: a vocabulary only
    std::string architecture = "qwen3";
    bool known_tokenizer = true;
    bool spoiled = false;                   // one weight is not a number
    std::optional<float> temperature_hint;  // general.sampling.temp
};

constexpr int kEndOfText = 257;  // after 256 bytes and one merged token

void write_small_model(const std::filesystem::path& path, const SmallModel& model = {});

}  // namespace minfer

#pragma once
// The tokenizer and chat template a model file carries. Works on files without tensors too.

#include <optional>

#include "gguf/metadata.h"
#include "text/tokenizer.h"

namespace minfer {

// Keys tokenizer.ggml.*; every refusal names the key or value.
Result<Tokenizer> read_tokenizer(const gguf::Metadata& meta);

// tokenizer.chat_template, when present.
Result<std::optional<std::string_view>> read_chat_template(const gguf::Metadata& meta);

}  // namespace minfer

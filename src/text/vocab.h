#pragma once
// What a model file says about its vocabulary, unchecked: the input of Tokenizer::create.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace minfer {

// The numbers are those of `tokenizer.ggml.token_type`.
enum class TokenKind : uint8_t {
    Normal = 1,
    Unknown = 2,
    Control = 3,      // literal text, hidden in output, matched in text only on request
    UserDefined = 4,  // literal text, printed, always matched in text
    Unused = 5,       // filler: decodes to nothing, never matched
    Byte = 6,
};

// How raw text is cut into pieces before merging; named by `tokenizer.ggml.pre`.
enum class PreTokenizer : uint8_t {
    Qwen2,   // `qwen2`, `deepseek-r1-qwen`
    Qwen35,  // `qwen35`: combining marks count as letters
};

// Facts as they stand in the file. All views are borrowed for the call to Tokenizer::create only.
struct VocabSource {
    std::string_view model;  // tokenizer.ggml.model; empty: missing
    std::string_view pre;    // tokenizer.ggml.pre; empty: missing
    std::vector<std::string_view> tokens;
    std::optional<std::vector<int32_t>> kinds;  // tokenizer.ggml.token_type; absent: all Normal
    std::optional<size_t> n_scores;             // length of tokenizer.ggml.scores; BPE ignores them
    std::vector<std::string_view> merges;       // "left right", lowest rank first
    std::optional<int64_t> bos, eos, eot, pad;  // tokenizer.ggml.*_token_id of any integer width
    bool add_bos = false;                       // tokenizer.ggml.add_bos_token
};

}  // namespace minfer

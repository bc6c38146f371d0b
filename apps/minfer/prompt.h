#pragma once
// Where the prompt comes from and how it becomes the text a model was trained on.

#include <optional>
#include <string>
#include <vector>

#include "console.h"
#include "flags.h"
#include "gguf/metadata.h"
#include "text/tokenizer.h"

namespace minfer {

struct PromptOptions {  // as given
    std::optional<std::string> prompt, prompt_file, system, system_file;
    std::optional<std::string> chat_template, chat_template_file, template_kwargs;
    bool no_template = false;
    bool escapes = false;
    std::optional<bool> thinking;  // --reasoning on or off; absent: auto
};

void add_prompt_flags(Flags& flags, PromptOptions& options);

// Combinations that cannot be meant, and no prompt at all while stdin is a terminal.
Result<> check_combination(const PromptOptions& options);

// \n, \t, \r, \\, \', \", \xNN replaced; other backslashes stay as they are.
std::string unescape(std::string_view text);

// All of stdin, or a file, as it is.
Result<std::string> read_stdin();
Result<std::string> read_text_file(const std::string& path);

// BadInput with the offset of the first byte that is not UTF-8.
Result<> check_utf8(std::string_view what, std::string_view text);

// The user's text: -p, -f, or stdin. One final newline of a file or of stdin is dropped.
Result<std::string> read_prompt(const PromptOptions& options);

// The text to evaluate. With a chat template the prompt becomes the user's message and is followed
// by the opening of the answer; which template, and that there is none, is noted.
Result<std::string> render_prompt(const PromptOptions& options, const std::string& prompt,
                                  const gguf::Metadata& meta, const Tokenizer& tokenizer,
                                  Console& console);

// The ids of a rendered prompt; of an empty one the token that begins a text, if there is one.
Result<std::vector<TokenId>> encode_prompt(std::string_view text, const Tokenizer& tokenizer);

}  // namespace minfer

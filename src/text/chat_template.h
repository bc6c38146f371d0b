#pragma once
// Turns a conversation into the prompt text a model was trained on, by running the template that
// came with it. Templates are programs in Jinja, written for Python; the output equals Python
// Jinja2 (trim_blocks, lstrip_blocks, immutable sandbox, loop controls, as Hugging Face
// transformers sets it up) byte for byte. The source is as untrusted as the file it came in:
// nesting, steps, memory and output are bounded.

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace minfer {

namespace jinja {
struct Program;
}

class ChatTemplate {
  public:
    // Once per model; rendering is const and safe from several threads.
    // Fault::Unsupported names a construct we do not run and its template line;
    // Fault::BadInput is a syntax error with its line, or a source that is not UTF-8.
    static Result<ChatTemplate> compile(std::string_view source);

    // The template for a file that brings none but whose vocabulary has <|im_start|>.
    static ChatTemplate chatml();

    // Null JSON and empty optionals are undefined in the template, not none.
    struct Input {
        nlohmann::ordered_json messages;  // array of objects; see normalise_messages
        nlohmann::ordered_json tools;     // array of objects, or null
        nlohmann::ordered_json extra;     // chat_template_kwargs: an object, or null;
                                          // its entries win over the fields below
        bool add_generation_prompt = true;
        std::optional<bool> enable_thinking;
        std::optional<std::string> bos_token, eos_token;
        std::optional<std::tm> now;  // for strftime_now; unset: the local clock
    };

    // What one rendering may use; over it the rendering is an error. Steps are nodes evaluated and
    // values made, memory is the sum of all bytes of strings and lists made on the way.
    struct Limits {
        int64_t steps = 20'000'000;
        size_t memory_bytes = size_t{1} << 30;
        size_t output_bytes = size_t{64} << 20;
    };

    // The text that raise_exception was called with is the whole error text (Fault::BadInput);
    // other errors name the template line.
    Result<std::string> render(const Input& input, const Limits& limits) const;
    Result<std::string> render(const Input& input) const { return render(input, Limits()); }

  private:
    explicit ChatTemplate(std::shared_ptr<const jinja::Program> program);

    std::shared_ptr<const jinja::Program> program_;
};

}  // namespace minfer

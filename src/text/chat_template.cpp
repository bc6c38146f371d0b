#include "text/chat_template.h"

#include "text/template/from_json.h"
#include "text/template/interpreter.h"
#include "text/template/parser.h"

namespace minfer {
namespace {

constexpr std::string_view kChatMl =
    "{%- for message in messages %}"
    "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}";

Result<> add(jinja::Runtime& runtime, jinja::Dict& variables, std::string_view name,
             const nlohmann::ordered_json& json) {
    if (json.is_null()) return {};
    auto value = jinja::from_json(runtime, json);
    if (!value) return at(name, std::move(value).error());
    variables.set(jinja::make_string(std::string(name)), *std::move(value));
    return {};
}

Result<jinja::Dict> variables_of(jinja::Runtime& runtime, const ChatTemplate::Input& input) {
    jinja::Dict out;
    MINFER_TRY(add(runtime, out, "messages", input.messages));
    MINFER_TRY(add(runtime, out, "tools", input.tools));
    MINFER_TRY(add(runtime, out, "add_generation_prompt", input.add_generation_prompt));
    if (input.bos_token) MINFER_TRY(add(runtime, out, "bos_token", *input.bos_token));
    if (input.eos_token) MINFER_TRY(add(runtime, out, "eos_token", *input.eos_token));
    if (input.enable_thinking)
        MINFER_TRY(add(runtime, out, "enable_thinking", *input.enable_thinking));
    if (input.extra.is_null()) return out;
    if (!input.extra.is_object())
        return fail(Fault::BadInput, "chat_template_kwargs is not an object");
    // A null in here is none, as it is for whoever wrote it.
    for (const auto& [name, json] : input.extra.items()) {
        auto value = jinja::from_json(runtime, json);
        if (!value) return at(name, std::move(value).error());
        out.set(jinja::make_string(name), *std::move(value));
    }
    return out;
}

}  // namespace

ChatTemplate::ChatTemplate(std::shared_ptr<const jinja::Program> program)
    : program_(std::move(program)) {}

Result<ChatTemplate> ChatTemplate::compile(std::string_view source) {
    auto program = MINFER_TRY(jinja::parse_template(source));
    return ChatTemplate(std::make_shared<const jinja::Program>(std::move(program)));
}

ChatTemplate ChatTemplate::chatml() {
    auto compiled = compile(kChatMl);
    MINFER_ASSERT(compiled.has_value());
    return *std::move(compiled);
}

Result<std::string> ChatTemplate::render(const Input& input, const Limits& limits) const {
    jinja::Runtime runtime(limits.steps, limits.memory_bytes, input.now);
    const auto variables = MINFER_TRY(variables_of(runtime, input));
    return jinja::Interpreter(runtime, variables, limits.output_bytes).run(*program_);
}

}  // namespace minfer

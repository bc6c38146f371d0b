#include "prompt.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/utf8.h"
#include "model/vocab.h"
#include "text/chat_messages.h"
#include "text/chat_template.h"

namespace minfer {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxText = size_t{1} << 30;

std::optional<int> hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return std::nullopt;
}

void drop_final_newline(std::string& text) {
    if (text.ends_with('\n')) text.pop_back();
    if (text.ends_with('\r')) text.pop_back();
}

// A template from the command line: text of its own, or a name.
Result<ChatTemplate> named_template(const std::string& given, const gguf::Metadata& meta) {
    if (given.find("{{") != std::string::npos || given.find("{%") != std::string::npos) {
        auto compiled = ChatTemplate::compile(given);
        if (!compiled) return at("--chat-template", std::move(compiled).error());
        return compiled;
    }
    if (given == "chatml") return ChatTemplate::chatml();
    constexpr std::string_view kPrefix = "tokenizer.chat_template.";
    std::string known = "chatml";
    for (const auto& entry : meta.entries()) {
        if (!entry.key.starts_with(kPrefix)) continue;
        const auto name = entry.key.substr(kPrefix.size());
        known += fmt::format(", {}", name);
        if (name != given) continue;
        const auto source = MINFER_TRY(meta.get_string(entry.key));
        auto compiled = ChatTemplate::compile(source);
        if (!compiled) return at(entry.key, std::move(compiled).error());
        return compiled;
    }
    return fail(Fault::BadInput,
                "--chat-template: '{}' is neither Jinja text nor one of the names known here: {}",
                given, known);
}

// The template to use; nothing when the prompt goes to the model as it is.
Result<std::optional<ChatTemplate>> choose_template(const PromptOptions& options,
                                                    const gguf::Metadata& meta,
                                                    const Tokenizer& tokenizer, Console& console) {
    using Choice = std::optional<ChatTemplate>;
    if (options.no_template) return Choice();
    if (options.chat_template)
        return Choice(MINFER_TRY(named_template(*options.chat_template, meta)));
    if (options.chat_template_file) {
        const auto source = MINFER_TRY(read_text_file(*options.chat_template_file));
        auto compiled = ChatTemplate::compile(source);
        if (!compiled) return at(*options.chat_template_file, std::move(compiled).error());
        return Choice(std::move(*compiled));
    }
    const auto source = MINFER_TRY(read_chat_template(meta));
    if (source) {
        auto compiled = ChatTemplate::compile(*source);
        if (!compiled) return at("tokenizer.chat_template", std::move(compiled).error());
        return Choice(std::move(*compiled));
    }
    if (tokenizer.find("<|im_start|>")) {
        console.note("note: the file has no chat template, ChatML is used (--no-template: none)");
        return Choice(ChatTemplate::chatml());
    }
    return Choice();
}

std::optional<std::string> literal(const Tokenizer& tokenizer, std::optional<TokenId> id) {
    if (!id) return std::nullopt;
    return std::string(tokenizer.piece(*id, {.show_control = true}));
}

}  // namespace

void add_prompt_flags(Flags& flags, PromptOptions& options) {
    flags.group("Prompt");
    flags.value("-p,--prompt", "TEXT", "The prompt", set_text(options.prompt));
    flags.value("-f,--file", "FILE", "Read the prompt from a file", set_text(options.prompt_file));
    flags.flag("-e,--escape", "Replace \\n, \\t, \\xNN … in prompt, system and stop texts",
               [&] { options.escapes = true; });
    flags.flag("--no-escape", "Take texts as they are (default)", [&] { options.escapes = false; });
    flags.value("-sys,--system,--system-prompt", "TEXT", "The system message",
                set_text(options.system));
    flags.value("-sysf,--system-prompt-file", "FILE", "Read the system message from a file",
                set_text(options.system_file));
    flags.value("--chat-template", "NAME|JINJA", "Use this template instead of the model's",
                set_text(options.chat_template));
    flags.value("--chat-template-file", "FILE", "Use the template in this file",
                set_text(options.chat_template_file));
    flags.value("--chat-template-kwargs", "JSON", "Further variables for the template",
                set_text(options.template_kwargs));
    flags.flag("--no-template,--no-chat-template", "Send the prompt to the model as it is",
               [&] { options.no_template = true; });
    flags.value("--reasoning", "on|off|auto", "The template's thinking switch (auto)",
                [&](std::string_view text) -> Result<> {
                    if (text == "auto") {
                        options.thinking.reset();
                    } else if (text == "on" || text == "off") {
                        options.thinking = text == "on";
                    } else {
                        return fail(Fault::BadInput, "'{}' is not one of on, off, auto", text);
                    }
                    return {};
                });
}

Result<> check_combination(const PromptOptions& options) {
    if (!options.prompt && !options.prompt_file && ::isatty(STDIN_FILENO) == 1)
        return fail(Fault::BadInput,
                    "no prompt, and chat is not supported yet by this build: give one as "
                    "argument, with -p or -f, or on stdin");
    if (options.prompt && options.prompt_file)
        return fail(Fault::BadInput, "the prompt is given both as text and as a file");
    if (options.system && options.system_file)
        return fail(Fault::BadInput, "the system message is given both as text and as a file");
    if (options.chat_template && options.chat_template_file)
        return fail(Fault::BadInput, "the chat template is given both as text and as a file");
    if (options.template_kwargs &&
        !Json::parse(*options.template_kwargs, nullptr, false).is_object())
        return fail(Fault::BadInput, "--chat-template-kwargs: not a JSON object: {}",
                    *options.template_kwargs);
    if (!options.no_template) return {};
    if (options.chat_template || options.chat_template_file)
        return fail(Fault::BadInput, "--no-template and a chat template exclude each other");
    if (options.system || options.system_file || options.template_kwargs || options.thinking)
        return fail(Fault::BadInput,
                    "a system message, template variables and --reasoning need a chat template; "
                    "--no-template forbids one");
    return {};
}

std::string unescape(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            out += text[i];
            continue;
        }
        const char c = text[++i];
        switch (c) {
            case 'n':
                out += '\n';
                break;
            case 't':
                out += '\t';
                break;
            case 'r':
                out += '\r';
                break;
            case '\\':
            case '\'':
            case '"':
                out += c;
                break;
            case 'x': {
                const auto high = i + 1 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
                const auto low = i + 2 < text.size() ? hex_digit(text[i + 2]) : std::nullopt;
                if (high && low) {
                    out += static_cast<char>(*high * 16 + *low);
                    i += 2;
                    break;
                }
                [[fallthrough]];
            }
            default:  // characters have no closed list
                out += '\\';
                out += c;
        }
    }
    return out;
}

Result<std::string> read_stdin() {
    std::string text;
    std::array<char, 65536> block;
    for (;;) {
        const auto got = ::read(STDIN_FILENO, block.data(), block.size());
        if (got == 0) return text;
        if (got < 0) {
            if (errno == EINTR) continue;
            return fail(Fault::Io, "stdin: cannot be read: {}", std::strerror(errno));
        }
        text.append(block.data(), static_cast<size_t>(got));
        if (text.size() > kMaxText) return fail(Fault::BadInput, "stdin: more than 1 GiB of text");
    }
}

Result<std::string> read_text_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) return fail(Fault::NotFound, "{}: cannot be opened: {}", path, std::strerror(errno));
    std::string text;
    std::array<char, 65536> block;
    while (in.read(block.data(), block.size()), in.gcount() > 0) {
        text.append(block.data(), static_cast<size_t>(in.gcount()));
        if (text.size() > kMaxText) return fail(Fault::BadInput, "{}: more than 1 GiB", path);
    }
    if (in.bad() || !in.eof()) return fail(Fault::Io, "{}: cannot be read", path);
    return text;
}

Result<> check_utf8(std::string_view what, std::string_view text) {
    if (const auto offset = find_invalid_utf8(text))
        return fail(Fault::BadInput, "{}: byte {} (0x{:02x}) is not valid UTF-8", what, *offset,
                    static_cast<unsigned char>(text[*offset]));
    return {};
}

Result<std::string> read_prompt(const PromptOptions& options) {
    std::string text;
    if (options.prompt_file) {
        text = MINFER_TRY(read_text_file(*options.prompt_file));
        drop_final_newline(text);
    } else if (options.prompt && *options.prompt != "-") {
        text = *options.prompt;
    } else {
        text = MINFER_TRY(read_stdin());
        drop_final_newline(text);
    }
    if (options.escapes) text = unescape(text);
    MINFER_TRY(check_utf8("prompt", text));
    return text;
}

Result<std::string> render_prompt(const PromptOptions& options, const std::string& prompt,
                                  const gguf::Metadata& meta, const Tokenizer& tokenizer,
                                  Console& console) {
    std::optional<std::string> system = options.system;
    if (options.system_file) {
        system = MINFER_TRY(read_text_file(*options.system_file));
        drop_final_newline(*system);
    }
    if (system && options.escapes) system = unescape(*system);
    if (system) MINFER_TRY(check_utf8("system message", *system));

    const auto chosen = MINFER_TRY(choose_template(options, meta, tokenizer, console));
    if (!chosen) {
        if (system || options.template_kwargs || options.thinking)
            return fail(Fault::BadInput,
                        "a system message, template variables and --reasoning need a chat "
                        "template; the file has none (see --chat-template)");
        if (!options.no_template)
            console.note("note: the file has no chat template, the prompt is continued as it is");
        return prompt;
    }
    if (prompt.empty()) return fail(Fault::BadInput, "the prompt is empty");
    auto messages = Json::array();
    if (system) messages.push_back({{"role", "system"}, {"content", *system}});
    messages.push_back({{"role", "user"}, {"content", prompt}});
    auto normal = MINFER_TRY(normalise_messages(messages));
    ChatTemplate::Input input{.messages = std::move(normal),
                              .enable_thinking = options.thinking,
                              .bos_token = literal(tokenizer, tokenizer.bos()),
                              .eos_token = literal(tokenizer, tokenizer.eos())};
    if (options.template_kwargs)
        input.extra = Json::parse(*options.template_kwargs, nullptr, false);
    auto text = chosen->render(input);
    if (!text) return at("chat template", std::move(text).error());
    return text;
}

Result<std::vector<TokenId>> encode_prompt(std::string_view text, const Tokenizer& tokenizer) {
    auto ids = tokenizer.encode(text);
    if (!ids.empty()) return ids;
    auto start = tokenizer.bos();
    if (!start) start = tokenizer.find("<|endoftext|>");
    if (!start)
        return fail(Fault::BadInput,
                    "the prompt is empty and the vocabulary has no token that begins a text");
    return std::vector{*start};
}

}  // namespace minfer

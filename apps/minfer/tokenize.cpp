// minfer tokenize: text to token ids, also for files that hold a vocabulary and no weights.

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/utf8.h"
#include "commands.h"
#include "gguf/reader.h"
#include "model/vocab.h"
#include "model_options.h"
#include "prompt.h"

namespace minfer {
namespace {

struct TokenizeOptions {
    std::optional<std::string> file, model, text, prompt, prompt_file;
    bool from_stdin = false, ids = false, json = false, special = true;
};

Result<std::string> read_text(const TokenizeOptions& options) {
    if (options.text && !options.from_stdin && *options.text != "-") return *options.text;
    if (options.prompt_file) return read_text_file(*options.prompt_file);
    return read_stdin();
}

// A piece that is only part of a character has no text; it is given as its bytes.
nlohmann::json piece_json(std::string_view piece) {
    if (!find_invalid_utf8(piece)) return piece;
    auto bytes = nlohmann::json::array();
    for (const char byte : piece) bytes.push_back(static_cast<unsigned char>(byte));
    return bytes;
}

std::string listing(const std::vector<TokenId>& ids, const Tokenizer& tokenizer,
                    const TokenizeOptions& options) {
    const auto piece = [&](TokenId id) { return tokenizer.piece(id, {.show_control = true}); };
    if (options.json) {
        auto list = nlohmann::ordered_json::array();
        for (const auto id : ids)
            list.push_back({{"id", static_cast<int32_t>(id)}, {"piece", piece_json(piece(id))}});
        return list.dump() + "\n";
    }
    std::string text;
    if (options.ids) {
        for (const auto id : ids)
            text += fmt::format("{}{}", text.empty() ? "" : ", ", static_cast<int32_t>(id));
        return "[" + text + "]\n";
    }
    for (const auto id : ids)
        text +=
            fmt::format("{:>7} -> {}\n", static_cast<int32_t>(id), printable(piece(id), SIZE_MAX));
    return text;
}

Result<> tokenize(const TokenizeOptions& options, const Environment& env, Console& console) {
    const auto path = MINFER_TRY(find_model(*options.file, env));
    const auto file = MINFER_TRY(gguf::File::open(path));
    const auto tokenizer = read_tokenizer(file.metadata());
    if (!tokenizer) return at(path, tokenizer.error());
    const auto text = MINFER_TRY(read_text(options));
    MINFER_TRY(check_utf8("text", text));
    const auto ids = tokenizer->encode(text, {.parse_special = options.special});
    return console.write(listing(ids, *tokenizer, options));
}

}  // namespace

int tokenize_command(Console& console, Args args) {
    TokenizeOptions options;
    Flags flags("minfer tokenize MODEL [TEXT] [FLAGS]",
                "Prints one token a line: its id and its text. The text is taken as it is, from "
                "TEXT, from -f or from stdin; a final newline counts.");
    flags.positional("MODEL", "A .gguf file; a vocabulary without weights will do", options.file);
    flags.positional("TEXT", "The text; - or none: stdin", options.text);
    flags.value("-m,--model", "FILE", "The model, instead of MODEL", set_text(options.model));
    flags.value("-p,--prompt", "TEXT", "The text, instead of TEXT", set_text(options.prompt));
    flags.value("-f,--file", "FILE", "Read the text from a file", set_text(options.prompt_file));
    flags.flag("--stdin", "Read the text from stdin", [&] { options.from_stdin = true; });
    flags.flag("--ids", "Print the ids only, as a list", [&] { options.ids = true; });
    flags.flag("--json", "Print ids and pieces as JSON; a piece that is no text is a list of bytes",
               [&] { options.json = true; });
    flags.flag("--no-special,--no-parse-special", "Control tokens in the text are plain text",
               [&] { options.special = false; });
    if (const auto done = flags.parse(console, args)) return *done;
    const auto wrong = [&](std::string what) {
        return flags.usage_error(console, {Fault::BadInput, std::move(what)});
    };
    if (options.model) {
        if (options.text) return wrong(fmt::format("unexpected argument '{}'", *options.text));
        options.text = std::exchange(options.file, options.model);
    }
    if (options.prompt && options.text) return wrong("the text is given twice");
    if (options.prompt) options.text = options.prompt;
    if (!options.file) return wrong("no model given");
    if (options.text.has_value() + options.prompt_file.has_value() + options.from_stdin > 1)
        return wrong("the text is given in more than one way");
    if (options.ids && options.json) return wrong("--ids and --json exclude each other");
    const auto env = read_environment();
    if (!env) return flags.usage_error(console, env.error());
    const auto result = tokenize(options, *env, console);
    return result ? kExitOk : console.failed(result.error());
}

}  // namespace minfer

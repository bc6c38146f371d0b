// minfer info: what a model file contains. Reads the header only, so it also describes files the
// engine cannot run, and says why it cannot.

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/utf8.h"
#include "commands.h"
#include "graph/lower.h"
#include "graph/memory_plan.h"
#include "model/vocab.h"
#include "model_facts.h"
#include "model_options.h"
#include "runtime/kv_format.h"
#include "sampling_options.h"
#include "text/chat_template.h"
#include "units.h"

namespace minfer {
namespace {

using Json = nlohmann::ordered_json;

struct InfoOptions {
    std::optional<std::string> file, model;
    bool tensors = false, keys = false, json = false, chat_template = false;
    std::optional<int64_t> n_ctx;
};

constexpr std::pair<std::string_view, std::string_view> kSpecialIds[] = {
    {"bos", "tokenizer.ggml.bos_token_id"},         {"eos", "tokenizer.ggml.eos_token_id"},
    {"eot", "tokenizer.ggml.eot_token_id"},         {"padding", "tokenizer.ggml.padding_token_id"},
    {"unknown", "tokenizer.ggml.unknown_token_id"},
};

// Why the engine would refuse the file; nothing when it would not.
std::optional<std::string> obstacle(const std::string& path) {
    const auto model = Model::load(path);
    if (!model) return model.error().what;
    const auto cpu = make_cpu_backend();
    for (const auto& weight : model->weights())
        if (const auto taken = cpu->register_weight(weight); !taken) return taken.error().what;
    const auto& meta = model->file().metadata();
    if (const auto tokenizer = read_tokenizer(meta); !tokenizer) return tokenizer.error().what;
    const auto source = read_chat_template(meta);
    if (!source) return source.error().what;
    if (!*source) return std::nullopt;
    const auto compiled = ChatTemplate::compile(**source);
    if (!compiled) return fmt::format("chat template: {}", compiled.error().what);
    return std::nullopt;
}

// Bytes of activations of the largest graph, from the plan the engine itself would make.
Result<uint64_t> scratch_bytes(const std::string& path, size_t n_ctx) {
    const auto model = MINFER_TRY(Model::load(path));
    const auto n_tokens = std::min(n_ctx, static_cast<size_t>(kDefaultUbatch));
    const auto params = GraphParams{.n_tokens = n_tokens, .n_ctx = n_ctx};
    auto graph = MINFER_TRY(model.build(params));
    const auto cpu = make_cpu_backend();
    Backend* const backends[] = {cpu.get()};
    lower(graph, params, backends);
    const auto plan = MINFER_TRY(plan_memory(graph));
    uint64_t total = 0;
    for (const auto& slot : plan.slots) total += slot.bytes;
    return total;
}

struct MemoryEstimate {
    size_t n_ctx = 0;
    uint64_t weights = 0;
    std::vector<std::pair<std::string_view, uint64_t>> kv;  // per cache type
    std::string_view gpu_cache_type;  // what a GPU takes when no type is asked for
    std::optional<uint64_t> scratch;  // absent when the engine cannot run it
};

Result<MemoryEstimate> estimate(const ModelFacts& facts, const std::string& path, int64_t n_ctx) {
    MemoryEstimate memory;
    if (n_ctx == 0 && !facts.n_ctx_train)
        return fail(Fault::BadInput, "--ctx 0: the file does not say its trained context");
    memory.n_ctx = n_ctx ? static_cast<size_t>(n_ctx) : *facts.n_ctx_train;
    memory.weights = facts.tensor_bytes;
    constexpr uint64_t kSane = uint64_t{1} << 20;  // keeps the products inside 64 bits
    if (facts.n_layer && facts.n_head_kv && facts.head_dim && *facts.n_layer < kSane &&
        *facts.n_head_kv < kSane && *facts.head_dim < kSane && memory.n_ctx <= kMaxContext) {
        const auto width = static_cast<size_t>(*facts.n_head_kv * *facts.head_dim);
        memory.gpu_cache_type = name(auto_device_format(*facts.n_layer, width));
        for (const auto format : {KvFormat::F32, KvFormat::F16, KvFormat::Q8_0}) {
            if (!fits_cells(format, width)) continue;
            const auto cell = 2 * kv_layout(format, width).row_bytes;
            if (cell > UINT64_MAX / *facts.n_layer / memory.n_ctx) continue;
            memory.kv.emplace_back(name(format), *facts.n_layer * cell * memory.n_ctx);
        }
    }
    if (const auto scratch = scratch_bytes(path, memory.n_ctx)) memory.scratch = *scratch;
    return memory;
}

std::string option_text(const std::optional<uint64_t>& value) {
    return value ? fmt::format("{}", *value) : "?";
}

// Label and value, aligned.
class Table {
  public:
    void row(std::string_view label, std::string_view value) {
        text_ += fmt::format("{:<18}{}\n", label, value);
    }
    std::string take() { return std::move(text_); }

  private:
    std::string text_;
};

std::string tokenizer_text(const gguf::Metadata& meta) {
    const auto* const model = meta.find("tokenizer.ggml.model");
    const auto* const pre = meta.find("tokenizer.ggml.pre");
    if (!model) return "none";
    return fmt::format("{}, pre-tokenizer {}", escaped(model->as_string().value_or("?")),
                       pre ? escaped(pre->as_string().value_or("?")) : "not given");
}

std::string special_text(const gguf::Metadata& meta) {
    const auto* const tokens = meta.find("tokenizer.ggml.tokens");
    std::string text;
    for (const auto& [label, key] : kSpecialIds) {
        const auto* const value = meta.find(key);
        const auto id = value ? value->as_uint() : std::nullopt;
        if (!id) continue;
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", label, *id);
        if (tokens && *id < tokens->strings().size())
            text += fmt::format(" {}", printable(tokens->strings()[*id]));
    }
    return text.empty() ? "none" : text;
}

std::string sampling_text(const gguf::Metadata& meta) {
    const auto sampling = effective_sampling({}, meta);
    if (!sampling) return sampling.error().what;
    return fmt::format("temperature {}, top-k {}, top-p {}, min-p {}, repeat penalty {} over {}",
                       sampling->temperature, sampling->top_k, sampling->top_p, sampling->min_p,
                       sampling->repeat_penalty, sampling->repeat_last_n);
}

std::string summary(const gguf::File& file, const ModelFacts& facts, const std::string& path,
                    const std::optional<std::string>& why_not) {
    const auto& meta = file.metadata();
    Table table;
    table.row("file", fmt::format("{}: GGUF v{}, {} part{}, {}, alignment {}", path, file.version(),
                                  file.parts().size(), file.parts().size() == 1 ? "" : "s",
                                  bytes_text(facts.file_bytes), file.alignment()));
    table.row("architecture",
              facts.architecture.empty() ? "not given" : escaped(facts.architecture));
    if (!facts.model_name.empty()) table.row("name", printable(facts.model_name));
    table.row("parameters",
              fmt::format("{} ({})", count_text(facts.n_parameters), facts.n_parameters));
    table.row("layers", option_text(facts.n_layer));
    table.row("heads",
              fmt::format("{} query, {} key/value, head size {}", option_text(facts.n_head),
                          option_text(facts.n_head_kv), option_text(facts.head_dim)));
    table.row("widths", fmt::format("model {}, feed-forward {}", option_text(facts.n_embd),
                                    option_text(facts.n_ff)));
    table.row("vocabulary", option_text(facts.n_vocab));
    table.row("trained context", option_text(facts.n_ctx_train));
    auto rope = facts.rope_base ? fmt::format("base {}", *facts.rope_base) : "base not given";
    if (!facts.rope_scaling.empty())
        rope += fmt::format(", scaling {}", escaped(facts.rope_scaling));
    if (facts.rope_factor) rope += fmt::format(" by {}", *facts.rope_factor);
    table.row("RoPE", rope);
    table.row("tokenizer", tokenizer_text(meta));
    table.row("special ids", special_text(meta));
    const auto* const source = meta.find("tokenizer.chat_template");
    const auto text = source ? source->as_string() : std::nullopt;
    table.row("chat template",
              text ? fmt::format("{} bytes (--template prints it)", text->size()) : "none");
    for (const auto& share : facts.types)
        table.row(&share == facts.types.data() ? "types" : "",
                  fmt::format("{:<8}{:>5} tensors {:>12} {:>6.1f}%", name(share.dtype),
                              share.tensors, bytes_text(share.bytes),
                              100. * static_cast<double>(share.bytes) /
                                  static_cast<double>(std::max<uint64_t>(facts.tensor_bytes, 1))));
    table.row("sampling", sampling_text(meta));
    table.row("runs here", why_not ? fmt::format("no: {}", escaped(*why_not)) : "yes");
    return table.take();
}

std::string memory_text(const MemoryEstimate& memory) {
    Table table;
    table.row("memory", fmt::format("for a context of {}", counted(memory.n_ctx, "token")));
    table.row("  weights", bytes_text(memory.weights));
    for (const auto& [type, bytes] : memory.kv)
        table.row(fmt::format("  KV {}", type),
                  fmt::format("{}{}", bytes_text(bytes),
                              type == memory.gpu_cache_type ? " (default on a GPU)" : ""));
    table.row("  scratch", memory.scratch ? bytes_text(*memory.scratch) : "unknown");
    return table.take();
}

std::string tensors_text(const gguf::File& file) {
    std::string text = fmt::format("tensors {}\n", file.tensors().size());
    size_t width = 0;
    for (const auto& tensor : file.tensors()) width = std::max(width, escaped(tensor.name).size());
    for (const auto& tensor : file.tensors())
        text += fmt::format("  {:<{}}  {:<8} {:<20} {:>12}\n", escaped(tensor.name), width,
                            name(tensor.dtype), shape_text(tensor), bytes_text(tensor.data.size()));
    return text;
}

std::string keys_text(const gguf::File& file) {
    std::string text = fmt::format("keys {}\n", file.metadata().entries().size());
    for (const auto& [key, value] : file.metadata().entries())
        text +=
            fmt::format("  {} = {} ({})\n", escaped(key), value.describe(), value.describe_type());
    return text;
}

// JSON holds text only as UTF-8; other bytes are shown as escapes.
Json text_json(std::string_view text) {
    return find_invalid_utf8(text) ? Json(printable(text, SIZE_MAX)) : Json(text);
}

Json element_json(const gguf::Value& value, uint64_t index) {
    using enum gguf::ValueType;
    switch (value.type()) {
        case Bool:
            return value.as_bool(index).value_or(false);
        case String:
            return text_json(value.as_string(index).value_or(""));
        case F32:
        case F64:
            return value.as_float(index).value_or(0);
        case U8:
        case U16:
        case U32:
        case U64:
            return value.as_uint(index).value_or(0);
        case I8:
        case I16:
        case I32:
        case I64:
            return value.as_int(index).value_or(0);
        case Array:
            return nullptr;  // files cannot nest arrays
    }
    std::unreachable();
}

template <class T>
Json optional_json(const std::optional<T>& value) {
    return value ? Json(*value) : Json();
}

Json facts_json(const gguf::File& file, const ModelFacts& facts, const std::string& path,
                const std::optional<std::string>& why_not) {
    const auto& meta = file.metadata();
    Json json;
    json["file"] = text_json(path);
    json["gguf_version"] = file.version();
    json["parts"] = file.parts().size();
    json["file_bytes"] = facts.file_bytes;
    json["alignment"] = file.alignment();
    json["architecture"] = text_json(facts.architecture);
    json["name"] = text_json(facts.model_name);
    json["n_parameters"] = facts.n_parameters;
    json["n_layer"] = optional_json(facts.n_layer);
    json["n_head"] = optional_json(facts.n_head);
    json["n_head_kv"] = optional_json(facts.n_head_kv);
    json["head_dim"] = optional_json(facts.head_dim);
    json["n_embd"] = optional_json(facts.n_embd);
    json["n_ff"] = optional_json(facts.n_ff);
    json["n_vocab"] = optional_json(facts.n_vocab);
    json["n_ctx_train"] = optional_json(facts.n_ctx_train);
    json["rope"] = {{"freq_base", optional_json(facts.rope_base)},
                    {"scaling", text_json(facts.rope_scaling)},
                    {"factor", optional_json(facts.rope_factor)}};
    for (const std::string key : {"model", "pre"}) {
        const auto* const value = meta.find("tokenizer.ggml." + key);
        json["tokenizer"][key] = value ? text_json(value->as_string().value_or("")) : Json();
    }
    for (const auto& [label, key] : kSpecialIds) {
        const auto* const value = meta.find(key);
        json["special_ids"][std::string(label)] =
            optional_json(value ? value->as_uint() : std::nullopt);
    }
    json["has_chat_template"] = meta.has("tokenizer.chat_template");
    json["types"] = Json::array();
    for (const auto& share : facts.types)
        json["types"].push_back(
            {{"type", name(share.dtype)}, {"tensors", share.tensors}, {"bytes", share.bytes}});
    json["tensor_bytes"] = facts.tensor_bytes;
    if (const auto sampling = effective_sampling({}, meta))
        json["sampling"] = {{"temperature", sampling->temperature},
                            {"top_k", sampling->top_k},
                            {"top_p", sampling->top_p},
                            {"min_p", sampling->min_p},
                            {"repeat_penalty", sampling->repeat_penalty},
                            {"repeat_last_n", sampling->repeat_last_n}};
    json["runs_here"] = !why_not;
    if (why_not) json["obstacle"] = text_json(*why_not);
    return json;
}

Json memory_json(const MemoryEstimate& memory) {
    Json json{{"n_ctx", memory.n_ctx}, {"weights_bytes", memory.weights}};
    for (const auto& [type, bytes] : memory.kv) json["kv_bytes"][std::string(type)] = bytes;
    if (!memory.kv.empty()) json["gpu_cache_type"] = memory.gpu_cache_type;
    json["scratch_bytes"] = optional_json(memory.scratch);
    return json;
}

Json tensors_json(const gguf::File& file) {
    auto list = Json::array();
    for (const auto& tensor : file.tensors())
        list.push_back({{"name", text_json(tensor.name)},
                        {"type", name(tensor.dtype)},
                        {"shape", std::vector<uint64_t>(tensor.shape.begin(),
                                                        tensor.shape.begin() + tensor.n_dims)},
                        {"bytes", tensor.data.size()}});
    return list;
}

Json keys_json(const gguf::File& file) {
    Json json = Json::object();
    for (const auto& [key, value] : file.metadata().entries()) {
        if (!value.is_array()) {
            json[std::string(key)] = element_json(value, 0);
            continue;
        }
        auto list = Json::array();
        for (uint64_t i = 0; i < value.size(); ++i) list.push_back(element_json(value, i));
        json[std::string(key)] = std::move(list);
    }
    return json;
}

Result<> print_template(const gguf::File& file, const std::string& path, Console& console) {
    const auto source = MINFER_TRY(read_chat_template(file.metadata()));
    if (!source) return fail(Fault::NotFound, "{}: the file has no chat template", path);
    return console.write(*source);
}

Result<> print_info(const InfoOptions& options, const Environment& env, Console& console) {
    const auto path = MINFER_TRY(find_model(*options.file, env));
    const auto file = MINFER_TRY(gguf::File::open(path));
    if (options.chat_template) return print_template(file, path, console);
    const auto facts = read_facts(file);
    const auto why_not = obstacle(path);
    std::optional<MemoryEstimate> memory;
    if (options.n_ctx) memory = MINFER_TRY(estimate(facts, path, *options.n_ctx));
    if (!options.json) {
        auto text = summary(file, facts, path, why_not);
        if (memory) text += memory_text(*memory);
        if (options.keys) text += keys_text(file);
        if (options.tensors) text += tensors_text(file);
        return console.write(text);
    }
    auto json = facts_json(file, facts, path, why_not);
    if (memory) json["memory"] = memory_json(*memory);
    if (options.keys) json["kv"] = keys_json(file);
    if (options.tensors) json["tensors"] = tensors_json(file);
    return console.write(json.dump(2) + "\n");
}

}  // namespace

int info_command(Console& console, Args args) {
    InfoOptions options;
    Flags flags("minfer info MODEL [FLAGS]",
                "Describes a model file. Only the header is read, and the engine need not be able "
                "to run it.");
    flags.positional("MODEL", "A .gguf file, or a folder with one", options.file);
    flags.value("-m,--model", "FILE", "The model, instead of MODEL", set_text(options.model));
    flags.flag("--tensors", "List every tensor", [&] { options.tensors = true; });
    flags.flag("--kv", "List every metadata key", [&] { options.keys = true; });
    flags.flag("--template", "Print the chat template and nothing else",
               [&] { options.chat_template = true; });
    flags.flag("--json", "Print JSON", [&] { options.json = true; });
    flags.value("--ctx,-c,--ctx-size", "N", "Add the memory needed for N tokens; 0 = as trained",
                set_number(options.n_ctx, int64_t{0}, kMaxContext));
    if (const auto done = flags.parse(console, args)) return *done;
    if (const auto wrong = settle_model(options.file, options.model); !wrong)
        return flags.usage_error(console, wrong.error());
    if (options.chat_template && (options.json || options.keys || options.tensors || options.n_ctx))
        return flags.usage_error(
            console, {Fault::BadInput,
                      "--template prints nothing else: leave out --json, --kv, --tensors, --ctx"});
    const auto env = read_environment();
    if (!env) return flags.usage_error(console, env.error());
    const auto result = print_info(options, *env, console);
    return result ? kExitOk : console.failed(result.error());
}

}  // namespace minfer

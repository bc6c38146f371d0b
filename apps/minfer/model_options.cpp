#include "model_options.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "interrupt.h"
#include "runtime/sampler.h"
#include "tensor/dequantize.h"
#include "units.h"

namespace minfer {
namespace {

namespace fs = std::filesystem;

template <class T, class Parse>
Flags::Set set_parsed(std::optional<T>& target, Parse parse) {
    return [&target, parse](std::string_view text) -> Result<> {
        target = MINFER_TRY(parse(text));
        return {};
    };
}

// Keys and values have one type: that of the `other` must not be a different one.
Flags::Set set_cache_type(std::optional<KvFormat>& target, const std::optional<KvFormat>& other) {
    return [&target, &other](std::string_view text) -> Result<> {
        const auto format = MINFER_TRY(parse_kv_format(text));
        if (other && *other != format)
            return fail(Fault::Unsupported,
                        "'{}': keys and values have one type in this build, and the other is {}",
                        text, name(*other));
        target = format;
        return {};
    };
}

Result<> lock_in_memory(const Model& model) {
    for (const auto& part : model.file().parts())
        if (::mlock(part.bytes().data(), part.bytes().size()) != 0)
            return fail(Fault::OutOfMemory,
                        "cannot lock {} in memory: {} (see ulimit -l, or leave out --mlock)",
                        bytes_text(part.bytes().size()), std::strerror(errno));
    return {};
}

Result<> check_values(const Model& model, Console& console) {
    std::vector<float> row;
    size_t done = 0;
    for (const auto& weight : model.weights()) {
        console.progress(fmt::format("checking tensors {}/{}", ++done, model.weights().size()));
        if (!can_dequantize(weight.dtype)) continue;  // the device will refuse it by name
        const auto width = weight.shape[0];
        const auto bytes = row_bytes(weight.dtype, width);
        row.resize(width);
        for (size_t r = 0; r < elements(weight.shape) / width; ++r) {
            dequantize_row(weight.dtype, weight.data.data() + r * bytes, row.data(), width);
            const auto bad =
                std::ranges::find_if(row, [](float value) { return !std::isfinite(value); });
            if (bad != row.end())
                return fail(Fault::BadInput, "tensor '{}': row {}, element {} is {}", weight.name,
                            r, bad - row.begin(), *bad);
        }
        if (interrupted()) return fail(Fault::Cancelled, "interrupted");
    }
    return {};
}

// Touches every page once, so that the file is in memory before the clock of the first token runs.
Result<> read_pages(const Model& model, Console& console) {
    constexpr size_t kPage = 4096, kStep = size_t{64} << 20;
    size_t total = 0, done = 0;
    for (const auto& part : model.file().parts()) total += part.bytes().size();
    for (const auto& part : model.file().parts()) {
        const auto bytes = part.bytes();
        for (size_t at = 0; at < bytes.size(); at += kPage) {
            *static_cast<const volatile std::byte*>(&bytes[at]);
            if (at % kStep != 0) continue;
            console.progress(fmt::format("loading {}%", (done + at) * 100 / total));
            if (interrupted()) return fail(Fault::Cancelled, "interrupted");
        }
        done += bytes.size();
    }
    return {};
}

// The weights as the flags ask: locked, checked, read.
Result<> bring_in(const Model& model, const std::string& path, const ModelOptions& options,
                  Console& console) {
    if (options.load_mode == LoadMode::Mlock)
        if (auto locked = lock_in_memory(model); !locked)
            return at(path, std::move(locked).error());
    if (options.check_tensors)
        if (auto checked = check_values(model, console); !checked)
            return at(path, std::move(checked).error());
    if (options.warmup) MINFER_TRY(read_pages(model, console));
    return {};
}

size_t weights_bytes(const Model& model) {
    size_t bytes = 0;
    for (const auto& weight : model.weights()) bytes += weight.data.size();
    return bytes;
}

// What a folder offers: single files and first parts, without projectors for images.
std::vector<fs::path> models_in(const fs::path& folder) {
    std::vector<fs::path> found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
        const auto name = entry.path().filename().string();
        if (!name.ends_with(".gguf") || name.starts_with("mmproj")) continue;
        const auto of = name.rfind("-of-");
        const bool part = of != std::string::npos && of >= 6 && name[of - 6] == '-';
        if (part && name.substr(of - 5, 5) != "00001") continue;
        found.push_back(entry.path());
    }
    std::ranges::sort(found);
    return found;
}

}  // namespace

void add_threads_flag(Flags& flags, ModelOptions& options) {
    flags.group("Device");
    flags.value("-t,--threads", "N", "CPU threads; default: physical cores",
                set_number(options.device.threads, 1, kMaxThreads));
}

void add_device_flags(Flags& flags, ModelOptions& options) {
    flags.group("Device");
    flags.value("-ngl,--gpu-layers,--n-gpu-layers", "N|auto|all",
                "Blocks to offload to a GPU; -1 is auto",
                set_parsed(options.device.gpu_layers, parse_gpu_layers));
    flags.value("--device,--backend", "NAME",
                "cpu, metal or none, or a list of them; default: a GPU, but not one in software, "
                "else cpu",
                set_parsed(options.device.device, parse_devices));
    flags.value("--device-timeout", "SECONDS",
                "Longest wait for one piece of GPU work (10; 600 for a GPU in software)",
                [&](std::string_view text) -> Result<> {
                    options.device.timeout = MINFER_TRY(parse_in_range(text, 0.001, kMaxTimeout));
                    return {};
                });
    flags.value("-fa,--flash-attn", "on|off|auto",
                "Fused attention on a GPU; on: refuse models whose heads it is not made for",
                [&](std::string_view text) -> Result<> {
                    constexpr std::pair<std::string_view, FlashAttention> kWords[] = {
                        {"on", FlashAttention::On},
                        {"off", FlashAttention::Off},
                        {"auto", FlashAttention::Auto}};
                    for (const auto& [word, meaning] : kWords) {
                        if (text != word) continue;
                        options.device.flash_attention = meaning;
                        return {};
                    }
                    return fail(Fault::BadInput, "'{}' is not one of on, off, auto", text);
                });
    flags.value("--cache-type", "TYPE",
                "Type of the KV cache: f32, f16 or q8_0; default: f16 on a GPU for large models, "
                "else f32",
                [&](std::string_view text) -> Result<> {
                    options.k_format = options.v_format = MINFER_TRY(parse_kv_format(text));
                    return {};
                });
    flags.value("-ctk,--cache-type-k", "TYPE", "The same; values have the type of keys",
                set_cache_type(options.k_format, options.v_format));
    flags.value("-ctv,--cache-type-v", "TYPE", "The same; keys have the type of values",
                set_cache_type(options.v_format, options.k_format));
}

void add_loading_flags(Flags& flags, ModelOptions& options) {
    flags.group("Loading and messages");
    flags.value("--load-mode", "auto|mmap|mlock", "How weights come into memory; auto = mmap",
                [&](std::string_view text) -> Result<> {
                    if (text == "none")
                        return fail(Fault::Unsupported,
                                    "'none' is not supported yet by this build");
                    if (text != "auto" && text != "mmap" && text != "mlock")
                        return fail(Fault::BadInput, "'{}' is not one of auto, mmap, mlock", text);
                    options.load_mode = text == "mlock" ? LoadMode::Mlock : LoadMode::Mmap;
                    return {};
                });
    flags.flag("--mmap", "Same as --load-mode mmap", [&] { options.load_mode = LoadMode::Mmap; });
    flags.flag("--mlock", "Same as --load-mode mlock",
               [&] { options.load_mode = LoadMode::Mlock; });
    flags.flag("--check-tensors", "Refuse weights that are not finite numbers",
               [&] { options.check_tensors = true; });
    flags.flag("--warmup", "One empty step before the first token (default)",
               [&] { options.warmup = true; });
    flags.flag("--no-warmup", "Start at once", [&] { options.warmup = false; });
    flags.flag("-v,--verbose", "Say more on stderr", [&] { options.verbose = true; });
    flags.value("--log-file", "FILE", "Append what goes to stderr to this file as well",
                set_text(options.log_file));
}

void add_batch_flags(Flags& flags, ModelOptions& options) {
    flags.group("Context");
    flags.value("-c,--ctx-size,--n-ctx", "N",
                "Context in tokens; 0 = as trained; default 4096, or as trained if that is less",
                set_number(options.n_ctx, int64_t{0}, kMaxContext));
    flags.value("-b,--batch-size", "N", "Most prompt tokens in one call (2048)",
                set_number(options.n_batch, int64_t{1}, kMaxContext));
    flags.value("-ub,--ubatch-size", "N", "Most tokens in one graph (512)",
                set_number(options.n_ubatch, int64_t{1}, kMaxContext));
}

Result<> settle_model(std::optional<std::string>& positional, std::optional<std::string>& flag) {
    if (positional && flag)
        return fail(Fault::BadInput, "two models given, '{}' and '{}'", *positional, *flag);
    if (!positional && !flag) return fail(Fault::BadInput, "no model given");
    (positional ? flag : positional) = positional ? positional : flag;
    return {};
}

Result<std::string> find_model(const std::string& path, const Environment& env) {
    if (path.empty()) return fail(Fault::BadInput, "the model's path is empty");
    const auto expanded = fs::path(expand_home(path, env));
    std::error_code error;
    const auto status = fs::status(expanded, error);
    if (!fs::exists(status)) {
        if (path.starts_with("hf:") || path.starts_with("ollama:"))
            return fail(Fault::Unsupported,
                        "not supported yet by this build: downloading {}; name a .gguf file", path);
        return fail(Fault::NotFound, "{}: no such file", path);
    }
    if (!fs::is_directory(status)) return expanded.string();
    const auto models = models_in(expanded);
    if (models.size() == 1) return models.front().string();
    if (models.empty()) return fail(Fault::NotFound, "{}: no .gguf file in this folder", path);
    std::string names;
    for (const auto& model : models) names += fmt::format("\n  {}", model.string());
    return fail(Fault::BadInput, "{}: {} models in this folder, name one of them:{}", path,
                models.size(), names);
}

Result<std::unique_ptr<Model>> load_model(const ModelOptions& options, const Environment& env,
                                          Console& console) {
    const auto path = MINFER_TRY(find_model(options.model.value_or(""), env));
    auto model = std::make_unique<Model>(MINFER_TRY(Model::load(path)));
    MINFER_TRY(bring_in(*model, path, options, console));
    return model;
}

std::optional<KvFormat> cache_format(const ModelOptions& options, const Environment& env) {
    if (options.k_format) return options.k_format;
    return options.v_format ? options.v_format : env.cache_type;
}

Result<size_t> choose_context(const ModelOptions& options, const Environment& env,
                              const HParams& hparams, Console& console) {
    const auto trained = hparams.n_ctx_train;
    const auto asked = options.n_ctx ? options.n_ctx : env.ctx_size;
    if (!asked) return std::min(static_cast<size_t>(kDefaultContext), trained);
    if (*asked == 0) return trained;
    const auto n_ctx = static_cast<size_t>(*asked);
    if (n_ctx <= trained) return n_ctx;
    if (hparams.rope_freq_scale == 1)
        return fail(Fault::BadInput,
                    "context of {} tokens: the model was trained with {} and the file configures "
                    "no RoPE scaling",
                    n_ctx, trained);
    console.note("warning: context of {} tokens, the model was trained with {}", n_ctx, trained);
    return n_ctx;
}

Result<Loaded> open_model(const ModelOptions& options, const Environment& env, Console& console) {
    Loaded loaded;
    loaded.devices = MINFER_TRY(choose_devices(options.device, env, console));
    loaded.path = MINFER_TRY(find_model(options.model.value_or(""), env));
    loaded.model = std::make_unique<Model>(MINFER_TRY(Model::load(loaded.path)));
    const auto n_ctx = MINFER_TRY(choose_context(options, env, loaded.model->hparams(), console));
    const auto n_batch = std::min(options.n_batch.value_or(kDefaultBatch),
                                  options.n_ubatch.value_or(kDefaultUbatch));
    loaded.options = engine_options(options.device, env);
    loaded.options.kv_format = cache_format(options, env);
    loaded.options.n_ctx = n_ctx;
    loaded.options.n_ubatch = std::min(static_cast<size_t>(n_batch), n_ctx);
    return loaded;
}

Result<> start(Loaded& loaded, const ModelOptions& options, Console& console) {
    MINFER_TRY(bring_in(*loaded.model, loaded.path, options, console));
    const auto weights = weights_bytes(*loaded.model);
    loaded.engine = MINFER_TRY(make_engine(*loaded.model, loaded.devices, loaded.options));
    const auto joined = weights_bytes(*loaded.model) - weights;
    const auto& engine = *loaded.engine;
    console.note(
        "{}; weights {}{}, context {} with {} KV {}", plan_text(loaded.devices, engine),
        bytes_text(weights), joined > 0 ? fmt::format(" and {} joined", bytes_text(joined)) : "",
        counted(engine.n_ctx(), "token"), name(engine.kv_format()), bytes_text(engine.kv_bytes()));
    console.release_notes();
    if (options.warmup) MINFER_TRY(warm_up(*loaded.engine));
    return {};
}

Result<> warm_up(Engine& engine) {
    const auto token = TokenId{0};
    MINFER_TRY(engine.evaluate(std::span(&token, 1)));
    engine.truncate(0);
    return {};
}

Error with_advice(Error error, const ModelOptions& options) {
    // Damaged weights are the likeliest cause of results that are no numbers.
    if (error.fault == Fault::NotFinite && !options.check_tensors)
        error.what += " (--check-tensors tells whether the weights are damaged)";
    if (error.fault == Fault::Timeout)
        error.what += " (--device-timeout SECONDS sets how long to wait)";
    return error;
}

void note_unknown_variables(const Environment& env, Console& console) {
    for (const auto& name : env.unknown)
        console.note("note: environment variable {} is not used by this build", name);
}

}  // namespace minfer

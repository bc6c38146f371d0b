#include "environment.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "backend_choice.h"
#include "flags.h"

extern char** environ;

namespace minfer {
namespace {

using Parse = Result<> (*)(std::string_view, Environment&);

struct Variable {
    std::string_view name;
    std::string_view meaning;
    Parse parse;
    bool for_gpu = false;  // says nothing when no GPU is in use, which is worth a note
};

// A switch that sets what `target` names to its value, or to the opposite.
template <auto target>
Result<> set_switch(std::string_view text, Environment& env) {
    target(env) = MINFER_TRY(parse_switch(text));
    return {};
}
template <auto target>
Result<> set_opposite(std::string_view text, Environment& env) {
    const auto on = MINFER_TRY(parse_switch(text));
    target(env) = !on;
    return {};
}

constexpr auto kFuseQkv = [](Environment& env) -> bool& { return env.fuse_qkv; };
constexpr auto kFuseFfn = [](Environment& env) -> bool& { return env.fuse_ffn; };
constexpr auto kConcatWeights = [](Environment& env) -> bool& { return env.concat_weights; };
constexpr auto kTraceLabels = [](Environment& env) -> bool& { return env.trace_labels; };
constexpr auto kOpProfile = [](Environment& env) -> bool& { return env.op_profile; };
constexpr auto kCopyWeights = [](Environment& env) -> bool& {
    return env.metal.options.copy_weights;
};
constexpr auto kGemm = [](Environment& env) -> bool& { return env.metal.options.gemm; };
constexpr auto kGemmF32 = [](Environment& env) -> bool& {
    return env.metal.options.gemm_f32_tiles;
};
constexpr auto kMultiColumn = [](Environment& env) -> bool& {
    return env.metal.options.multi_column;
};
constexpr auto kFloatGemm = [](Environment& env) -> bool& { return env.metal.options.float_gemm; };
constexpr auto kRmsNorm256 = [](Environment& env) -> bool& {
    return env.metal.options.rms_norm_256;
};

template <auto member>
constexpr auto kAttention =
    [](Environment& env) -> bool& { return env.metal.options.attention.*member; };

// Of two names for it either one is enough, whatever the other says.
Result<> disable_metal(std::string_view variable, std::string_view text, Environment& env) {
    const auto disabled = MINFER_TRY(parse_switch(text));
    if (disabled && env.metal.disabled_by.empty()) env.metal.disabled_by = variable;
    return {};
}

Result<> set_metal_library(std::string_view text, Environment& env) {
    auto& library = env.metal.options.library;
    if (!library.empty() && library != text)
        return fail(Fault::BadInput, "'{}' is not the file that MINFER_METALLIB names, '{}'", text,
                    library);
    library = text;
    return {};
}

constexpr Variable kVariables[] = {
    {"MINFER_THREADS", "CPU threads, as -t",
     [](std::string_view text, Environment& env) -> Result<> {
         env.threads = MINFER_TRY(parse_in_range(text, 1, kMaxThreads));
         return {};
     }},
    {"MINFER_CTX_SIZE", "context in tokens, as -c; 0 = as trained",
     [](std::string_view text, Environment& env) -> Result<> {
         env.ctx_size = MINFER_TRY(parse_in_range(text, int64_t{0}, kMaxContext));
         return {};
     }},
    {"MINFER_CACHE_TYPE", "type of the KV cache, as --cache-type: f32, f16, q8_0",
     [](std::string_view text, Environment& env) -> Result<> {
         env.cache_type = MINFER_TRY(parse_kv_format(text));
         return {};
     }},
    {"MINFER_GPU_LAYERS", "blocks to offload, as -ngl: a number, auto or all",
     [](std::string_view text, Environment& env) -> Result<> {
         env.gpu_layers = MINFER_TRY(parse_gpu_layers(text));
         return {};
     }},
    {"MINFER_BACKENDS", "devices that may be used, comma-separated, as --device: cpu, metal",
     [](std::string_view text, Environment& env) -> Result<> {
         env.backends = MINFER_TRY(parse_devices(text));
         return {};
     }},
    {"MINFER_DISABLE_METAL", "1: never use the GPU (also MINFER_DISABLE_MPS)",
     [](std::string_view text, Environment& env) {
         return disable_metal("MINFER_DISABLE_METAL", text, env);
     }},
    {"MINFER_DISABLE_MPS", "",
     [](std::string_view text, Environment& env) {
         return disable_metal("MINFER_DISABLE_MPS", text, env);
     }},
    {"MINFER_NO_FUSE_QKV", "1: separate GPU nodes for the projections of a generated token",
     set_opposite<kFuseQkv>},
    {"MINFER_NO_FUSE_FFN", "1: separate GPU nodes for its feed-forward", set_opposite<kFuseFfn>},
    {"MINFER_CONCAT_WEIGHTS", "1: those two, not separate, read joined copies of their weights",
     set_switch<kConcatWeights>},
    {"MINFER_WEIGHT_COPY", "1: the GPU uses copies of the weights, not the file's pages",
     set_switch<kCopyWeights>},
    {"MINFER_GEMM", "0: no matrix-matrix kernels on the GPU", set_switch<kGemm>},
    {"MINFER_GEMM_F32", "1: those kernels compute in f32 for every weight type",
     set_switch<kGemmF32>},
    {"MINFER_NO_FLOAT_GEMM", "1: those kernels for quantised weights only",
     set_opposite<kFloatGemm>},
    {"MINFER_NO_MULTI_COLUMN", "1: 2 to 8 tokens at once take no kernels of their own",
     set_opposite<kMultiColumn>},
    {"MINFER_NO_RMS_256", "1: GPU norms with 32 threads a row instead of 256",
     set_opposite<kRmsNorm256>},
    {"MINFER_NO_FLASH", "1: GPU attention of one token by other kernels than flash",
     set_opposite<kAttention<&AttentionOptions::flash>>},
    {"MINFER_NO_SPLIT_ATTN", "1: GPU attention of one token not by the split kernel either",
     set_opposite<kAttention<&AttentionOptions::split>>},
    {"MINFER_ATTN_CHUNKS", "parts of the context for one token's attention on the GPU, 1 to 128",
     [](std::string_view text, Environment& env) -> Result<> {
         env.metal.options.attention.chunks =
             MINFER_TRY(parse_in_range(text, uint32_t{1}, kMaxAttentionChunks));
         return {};
     }},
    {"MINFER_PACKED_KV_STAGE", "1: one token's attention expands q8_0 cells to f32 first",
     set_switch<kAttention<&AttentionOptions::stage_packed>>},
    {"MINFER_NO_PREFILL_FLASH", "1: GPU attention of several tokens by other kernels than flash",
     set_opposite<kAttention<&AttentionOptions::prefill_flash>>},
    {"MINFER_NO_MATMUL_ATTN", "1: GPU attention of several tokens not in three passes either",
     set_opposite<kAttention<&AttentionOptions::three_pass>>},
    {"MINFER_NO_WINDOW_FLASH", "1: GPU attention of given windows of cells not by flash",
     set_opposite<kAttention<&AttentionOptions::window_flash>>},
    {"MINFER_NO_ATTN_EARLY_STOP",
     "1: flash of several tokens visits cells past the last one they see",
     set_opposite<kAttention<&AttentionOptions::early_stop>>},
    {"MINFER_NO_ATTN_TILE_SKIP", "1: flash of given windows visits the cells between their runs",
     set_opposite<kAttention<&AttentionOptions::skip_tiles>>},
    {"MINFER_NO_FLASH_HEADS", "1: flash for heads of 64 and 128 elements only",
     set_opposite<kAttention<&AttentionOptions::any_head_size>>},
    {"MINFER_Q8_0_BLOCKS", "1: q8_0 cells on the GPU as in a file, 34 bytes a block",
     set_opposite<kAttention<&AttentionOptions::split_blocks>>},
    {"MINFER_NO_ATTN_SHARE_KV", "1: query heads never share the loads of their KV head's cells",
     [](std::string_view text, Environment& env) -> Result<> {
         if (MINFER_TRY(parse_switch(text))) env.metal.options.attention.share_kv_from = SIZE_MAX;
         return {};
     }},
    {"MINFER_METALLIB", "GPU kernels from this file (also MINFER_METALLIB_FILE)", set_metal_library,
     true},
    {"MINFER_METALLIB_FILE", "", set_metal_library, true},
    {"MINFER_TRACE_LABELS", "1: say every GPU dispatch on stderr", set_switch<kTraceLabels>, true},
    {"MINFER_TRACE", "file for a trace of minfer run, as minfer trace writes it",
     [](std::string_view text, Environment& env) -> Result<> {
         if (parse_switch(text))
             return fail(Fault::BadInput,
                         "'{}' is a switch, and this is the file to write a trace to; "
                         "MINFER_TRACE_LABELS=1 shows what a GPU is given",
                         text);
         env.trace_file = text;
         return {};
     }},
    {"MINFER_OP_PROFILE", "1: minfer run says which operations take its time",
     set_switch<kOpProfile>},
    {"MINFER_METAL_CAPTURE", "1: a trace of everything the GPU is given, in minfer.gputrace",
     [](std::string_view text, Environment& env) -> Result<> {
         if (MINFER_TRY(parse_switch(text))) env.metal.options.gpu_trace = "minfer.gputrace";
         return {};
     },
     true},
    {"SOFTMETAL_CHECKS", "checks of a GPU in software: off (default), bounds or all",
     [](std::string_view text, Environment& env) -> Result<> {
         if (text != "off" && text != "bounds" && text != "all")
             return fail(Fault::BadInput, "'{}' is not one of off, bounds, all", text);
         env.metal.software_checks = text;
         return {};
     },
     true},
    {"MINFER_CPU_ACT",
     "quantized: activations rounded to 8 bits for quantised weights (default); "
     "f32: exact and slower",
     [](std::string_view text, Environment& env) -> Result<> {
         if (text == "f32") {
             env.cpu_activations = CpuActivations::F32;
         } else if (text == "quantized") {
             env.cpu_activations = CpuActivations::Quantized;
         } else {
             return fail(Fault::BadInput, "'{}' is not one of quantized, f32", text);
         }
         return {};
     }},
};

// Read by the tests, not by the program.
bool is_for_tests(std::string_view name) { return name.starts_with("MINFER_TEST_"); }

// Read by softmetal itself.
bool is_for_softmetal(std::string_view name) {
    return name == "SOFTMETAL_CLANG" || name == "SOFTMETAL_CACHE";
}

}  // namespace

Result<bool> parse_switch(std::string_view text) {
    for (const std::string_view yes : {"1", "true", "on"})
        if (text == yes) return true;
    for (const std::string_view no : {"0", "false", "off"})
        if (text == no) return false;
    return fail(Fault::BadInput, "'{}' is not one of 1, 0, true, false, on, off", text);
}

Result<KvFormat> parse_kv_format(std::string_view text) {
    for (const auto format : {KvFormat::F32, KvFormat::F16, KvFormat::Q8_0})
        if (text == name(format)) return format;
    return fail(Fault::BadInput, "'{}' is not a cache type of this build, which has f32, f16, q8_0",
                text);
}

Result<std::string> parse_gpu_layers(std::string_view text) {
    if (text == "auto" || text == "all") return std::string(text);
    const auto layers = parse_number<int>(text);
    if (!layers || *layers < -1)  // -1: llama.cpp's way to write auto
        return fail(Fault::BadInput, "'{}' is not a number of layers, auto or all", text);
    return *layers == -1 ? "auto" : std::string(text);
}

Result<Environment> read_environment() {
    Environment env;
    for (const auto& variable : kVariables) {
        const auto* const text = std::getenv(std::string(variable.name).c_str());
        if (!text || !*text) continue;
        if (auto parsed = variable.parse(text, env); !parsed)
            return at(fmt::format("environment variable {}", variable.name),
                      std::move(parsed).error());
        if (variable.for_gpu) env.for_gpu.emplace_back(variable.name);
    }
    if (const auto* const home = std::getenv("HOME")) env.home = home;
    env.trace_file = expand_home(env.trace_file, env);
    env.metal.options.library = expand_home(env.metal.options.library, env);
    for (char** entry = environ; *entry; ++entry) {
        const auto text = std::string_view(*entry);
        const auto name = text.substr(0, text.find('='));
        const bool ours = name.starts_with("MINFER_") || name.starts_with("SOFTMETAL_");
        if (ours && !is_for_tests(name) && !is_for_softmetal(name) &&
            std::ranges::find(kVariables, name, &Variable::name) == std::end(kVariables))
            env.unknown.emplace_back(name);
    }
    return env;
}

std::string expand_home(const std::string& path, const Environment& env) {
    if (!path.starts_with("~/") || env.home.empty()) return path;
    return (std::filesystem::path(env.home) / path.substr(2)).string();
}

std::string environment_help() {
    std::string text = "Environment (a flag wins over it):\n";
    for (const auto& variable : kVariables)
        if (!variable.meaning.empty())
            text += fmt::format("  {:<27}{}\n", variable.name, variable.meaning);
    return text;
}

}  // namespace minfer

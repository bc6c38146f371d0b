#include "backend_choice.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "backend/cpu/cpu_backend.h"
#include "base/parse.h"
#include "environment.h"
#include "graph/assign.h"
#include "graph/liveness.h"
#include "graph/registry.h"
#include "machine.h"
#include "metal_device.h"
#include "units.h"

namespace minfer {
namespace {

// Everything compiled in.
BackendRegistry make_registry(CpuOptions cpu, const MetalSettings& metal) {
    BackendRegistry registry;
    if (auto entry = metal_entry(metal)) registry.add(*std::move(entry));
    registry.add({.id = BackendId::Cpu,
                  .unavailable = [] { return std::optional<std::string>(); },
                  .make = [cpu]() -> Result<std::unique_ptr<Backend>> {
                      auto backend = make_cpu_backend(cpu);
                      MINFER_TRY(backend->has_its_threads());
                      return backend;
                  }});
    return registry;
}

Result<BackendChoice> choose(const BackendRegistry& registry, const DeviceOptions& options,
                             const Environment& env) {
    if (options.device) {
        auto chosen = registry.choose(std::span(&*options.device, 1));
        if (!chosen) return at("--device", std::move(chosen).error());
        return chosen;
    }
    if (env.backends) {
        auto chosen = registry.choose(std::span(&*env.backends, 1));
        if (!chosen) return at("environment variable MINFER_BACKENDS", std::move(chosen).error());
        return chosen;
    }
    return registry.choose({});
}

std::string_view without_blanks(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
}

// "none, cpu (known, but not built: metal)"
std::string device_names() {
    const auto registry = make_registry({}, {});
    std::string built = "none", missing;
    for (const auto& known : known_backends())
        if (registry.has(known.id))
            built += fmt::format(", {}", known.name);
        else
            missing += fmt::format("{}{}", missing.empty() ? "" : ", ", known.name);
    return missing.empty() ? built : fmt::format("{} (known, but not built: {})", built, missing);
}

std::optional<std::string> layers_asked(const DeviceOptions& options, const Environment& env) {
    return options.gpu_layers ? options.gpu_layers : env.gpu_layers;
}

// "-ngl 3" or "MINFER_GPU_LAYERS=3".
std::string layers_text(const DeviceOptions& options, const Environment& env) {
    return options.gpu_layers ? fmt::format("-ngl {}", *options.gpu_layers)
                              : fmt::format("MINFER_GPU_LAYERS={}", env.gpu_layers.value_or(""));
}

bool is_zero(const std::string& layers) {
    const auto count = parse_number<size_t>(layers);
    return count && *count == 0;
}

// What was set and does nothing without a GPU.
std::vector<std::string> settings_for_gpu(const DeviceOptions& options, const Environment& env) {
    std::vector<std::string> names;
    const auto layers = layers_asked(options, env);
    if (layers && !is_zero(*layers) && *layers != "auto")
        names.push_back(layers_text(options, env));
    if (options.timeout) names.emplace_back("--device-timeout");
    if (options.flash_attention == FlashAttention::On) names.emplace_back("-fa on");
    names.insert(names.end(), env.for_gpu.begin(), env.for_gpu.end());
    return names;
}

// A source is compiled while the device is set up, which takes seconds and more.
void announce_compiling(const std::string& library, Console& console) {
    std::error_code ignored;
    if (library.ends_with(".metal") && std::filesystem::is_regular_file(library, ignored))
        console.note_now("compiling the kernels of {}", library);
}

// Kinds of nodes that the plan puts on a device and that no device takes.
std::set<std::string_view> operations_left_to_the_cpu(const Engine& engine) {
    const auto& graph = engine.graph();
    const auto& offload = engine.offload();
    const auto plan = LayerPlan{.device = offload.on_device(),
                                .gpu_layers = offload.gpu_layers,
                                .n_layers = engine.model().hparams().n_layer};
    const auto live = live_nodes(graph);
    std::set<std::string_view> left;
    for (const auto& node : graph.nodes)
        if (live[node.id] && has_kernel(node.op) && plan.allows(node.layer) &&
            node.backend == BackendId::Cpu)
            left.insert(op_name(node.op));
    return left;
}

}  // namespace

std::vector<Backend*> Devices::pointers() const {
    std::vector<Backend*> list;
    for (const auto& backend : backends) list.push_back(backend.get());
    return list;
}

Result<std::string> parse_devices(std::string_view text) {
    std::string names;
    for (bool more = true; more;) {
        const auto comma = text.find(',');
        const auto typed = without_blanks(text.substr(0, comma));
        more = comma != std::string_view::npos;
        text.remove_prefix(more ? comma + 1 : text.size());
        auto name = std::string(typed);
        std::ranges::transform(name, name.begin(),
                               [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        if (name == "none") name = "cpu";
        if (std::ranges::find(known_backends(), name, &KnownBackend::name) ==
            known_backends().end())
            return fail(Fault::BadInput, "'{}' is not one of {}", typed, device_names());
        names += (names.empty() ? "" : ",") + name;
    }
    return names;
}

Result<Devices> choose_devices(const DeviceOptions& options, const Environment& env,
                               Console& console) {
    Devices devices;
    devices.threads = options.threads.value_or(env.threads.value_or(performance_cores()));
    auto metal = env.metal;
    if (options.timeout) metal.timeout = options.timeout;
    auto& attention = metal.options.attention;
    // The flag goes before the variables that switch one of them off.
    if (options.flash_attention != FlashAttention::Auto)
        attention.flash = attention.prefill_flash = attention.window_flash =
            options.flash_attention == FlashAttention::On;
    if (env.trace_labels)
        metal.options.trace_labels = [&console](std::string_view label) {
            console.note("dispatch {}", label);
        };
    const auto registry =
        make_registry({.threads = devices.threads, .activations = env.cpu_activations}, metal);
    const auto chosen = MINFER_TRY(choose(registry, options, env));
    devices.notes = chosen.skipped;
    const auto layers = layers_asked(options, env);
    for (const auto* const entry : chosen.entries) {
        const bool is_gpu = entry->id == BackendId::Metal;
        if (is_gpu && layers && is_zero(*layers)) {
            devices.notes.push_back(
                fmt::format("{}: metal is not used", layers_text(options, env)));
            continue;
        }
        if (is_gpu) announce_compiling(metal.options.library, console);
        auto made = entry->make();
        // As for a weight or a node that has no kernel there: the CPU runs the model.
        if (!made && is_gpu && made.error().fault == Fault::Unsupported) {
            devices.notes.push_back(fmt::format("metal: {}", made.error().what));
            continue;
        }
        devices.backends.push_back(MINFER_TRY(std::move(made)));
        if (!is_gpu) continue;
        devices.gpu = metal_device_text(*devices.backends.back(), metal);
        devices.gpu_name = metal_device_name(*devices.backends.back());
        devices.flash_attention = attention.flash && attention.prefill_flash;
        if (options.flash_attention == FlashAttention::On)
            devices.head_sizes = metal_flash_head_sizes(metal);
    }

    const auto& cpu = static_cast<const CpuBackend&>(*devices.backends.back());
    devices.cpu = fmt::format("cpu ({})", cpu.isa());
    devices.cpu_details = fmt::format(
        "{}, {}{}", cpu.isa(), counted(static_cast<uint64_t>(devices.threads), "thread"),
        env.cpu_activations == CpuActivations::F32 ? ", exact activations" : "");
    const auto idle = settings_for_gpu(options, env);
    if (!idle.empty() && devices.gpu.empty())
        devices.notes.push_back(fmt::format("{}: no GPU device is in use", fmt::join(idle, ", ")));
    return devices;
}

EngineOptions engine_options(const DeviceOptions& options, const Environment& env) {
    const auto layers = layers_asked(options, env);
    const auto count = layers ? parse_number<size_t>(*layers) : std::nullopt;
    return {.memory_budget_bytes = physical_memory(),
            .gpu_layers = count.value_or(SIZE_MAX),  // all, auto
            .fuse_qkv = env.fuse_qkv,
            .fuse_ffn = env.fuse_ffn,
            .concat_weights = env.concat_weights};
}

Result<std::unique_ptr<Engine>> make_engine(Model& model, const Devices& devices,
                                            const EngineOptions& options) {
    const auto head_dim = model.hparams().head_dim;
    const auto& sizes = devices.head_sizes;
    if (!sizes.empty() && std::ranges::find(sizes, head_dim) == sizes.end())
        return fail(Fault::Unsupported,
                    "-fa on: the model has heads of {} elements, fused attention is there for {}",
                    head_dim, fmt::join(sizes, ", "));
    if (options.concat_weights && options.gpu_layers > 0 && !devices.gpu.empty())
        MINFER_TRY(model.join_weights(options.fuse_qkv, options.fuse_ffn));
    return Engine::create(model, devices.pointers(), options);
}

std::string plan_text(const Devices& devices, const Engine& engine) {
    const auto& offload = engine.offload();
    const auto n_layers = engine.model().hparams().n_layer;
    const auto blocks = counted(n_layers, "block");
    const auto cpu = fmt::format("cpu ({})", devices.cpu_details);
    std::string text;
    if (!offload.on_device())
        text = fmt::format("device {}; all {} there", cpu, blocks);
    else if (offload.gpu_layers >= n_layers)
        text = fmt::format("device {}; all {} there", devices.gpu, blocks);
    else
        text =
            fmt::format("device {}; the first {} of {} there, the rest, embedding and head on {}",
                        devices.gpu, offload.gpu_layers, blocks, cpu);
    if (const auto left = operations_left_to_the_cpu(engine); !left.empty())
        text += fmt::format(", except what it does not run: {}", fmt::join(left, ", "));
    for (const auto& backend : devices.backends)
        if (backend->id() == BackendId::Metal)
            if (const auto bytes = metal_copied_bytes(*backend); bytes > 0)
                text += fmt::format("; {} of weights copied for the device", bytes_text(bytes));
    for (const auto& note : devices.notes) text += fmt::format("; {}", note);
    for (const auto& refusal : offload.refusals) text += fmt::format("; {}", refusal);
    return text;
}

}  // namespace minfer

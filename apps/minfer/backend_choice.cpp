#include "backend_choice.h"

#include <algorithm>
#include <cctype>

#include "environment.h"
#include "graph/registry.h"
#include "machine.h"

namespace minfer {
namespace {

// Everything compiled in.
BackendRegistry make_registry(CpuOptions cpu) {
    BackendRegistry registry;
    registry.add(
        {.id = BackendId::Cpu,
         .unavailable = [] { return std::optional<std::string>(); },
         .make = [cpu]() -> Result<std::unique_ptr<Backend>> { return make_cpu_backend(cpu); }});
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

// "none, cpu (known, but not built: metal)"
std::string device_names() {
    const auto registry = make_registry({});
    std::string built = "none", missing;
    for (const auto& known : known_backends()) {
        const auto name = std::string(known.name);
        const auto chosen = registry.choose(std::span(&name, 1));
        if (!chosen && chosen.error().fault == Fault::Unsupported)
            missing += (missing.empty() ? "" : ", ") + name;
        else
            built += ", " + name;
    }
    return missing.empty() ? built : fmt::format("{} (known, but not built: {})", built, missing);
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
        auto name = std::string(text.substr(0, comma));
        more = comma != std::string_view::npos;
        text.remove_prefix(more ? comma + 1 : text.size());
        std::ranges::transform(name, name.begin(),
                               [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        if (name == "none") name = "cpu";
        if (std::ranges::find(known_backends(), name, &KnownBackend::name) ==
            known_backends().end())
            return fail(Fault::BadInput, "'{}' is not one of {}", name, device_names());
        names += (names.empty() ? "" : ",") + name;
    }
    return names;
}

Result<Devices> choose_devices(const DeviceOptions& options, const Environment& env) {
    Devices devices;
    devices.threads = options.threads.value_or(env.threads.value_or(performance_cores()));
    const auto registry =
        make_registry({.threads = devices.threads, .activations = env.cpu_activations});
    const auto chosen = MINFER_TRY(choose(registry, options, env));
    for (const auto* const entry : chosen.entries)
        devices.backends.push_back(MINFER_TRY(entry->make()));

    const auto& cpu = static_cast<const CpuBackend&>(*devices.backends.back());
    devices.device = fmt::format("cpu ({})", cpu.isa());
    devices.plan =
        fmt::format("device cpu ({}, {} thread{}{})", cpu.isa(), devices.threads,
                    devices.threads == 1 ? "" : "s",
                    env.cpu_activations == CpuActivations::F32 ? ", exact activations" : "");
    for (const auto& reason : chosen.skipped) devices.plan += fmt::format("; {}", reason);
    const auto layers = options.gpu_layers ? options.gpu_layers : env.gpu_layers;
    if (layers && *layers != "0" && *layers != "auto" && !options.device)
        devices.plan += fmt::format("; -ngl {}: this build has no GPU device", *layers);
    return devices;
}

}  // namespace minfer

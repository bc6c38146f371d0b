#pragma once
// Which device runs the model. Names are checked before the model file is opened.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "console.h"
#include "graph/backend.h"
#include "runtime/engine.h"

namespace minfer {

struct Environment;

// On: a model whose heads a GPU has no fused attention for is refused. Off: a GPU computes it by
// its other kernels.
enum class FlashAttention : uint8_t { Off, Auto, On };

struct DeviceOptions {                  // as given on the command line
    std::optional<std::string> device;  // "cpu", "metal,cpu"
    std::optional<std::string> gpu_layers;
    std::optional<int> threads;
    std::optional<double> timeout;  // seconds to wait for a GPU
    FlashAttention flash_attention = FlashAttention::Auto;
};

struct Devices {
    std::vector<std::unique_ptr<Backend>> backends;  // priority order, CPU last
    int threads = 1;
    std::string cpu;                 // "cpu (avx2)"
    std::string cpu_details;         // "2 threads", "2 threads, exact activations"
    std::string gpu;                 // "metal (Apple M4, unified memory)"; empty: none in use
    std::string gpu_name;            // "Apple M4"; empty: none in use
    bool flash_attention = false;    // of the GPU, one token and more
    std::vector<size_t> head_sizes;  // models with other heads are refused; empty: any will do
    std::vector<std::string> notes;  // why a device that was asked for or exists is not in use, and
                                     // what was set in vain

    std::vector<Backend*> pointers() const;
};

// The value of --device or MINFER_BACKENDS: comma-separated names there is a device for, now or
// later. `none`, llama.cpp's word for no GPU, becomes cpu.
Result<std::string> parse_devices(std::string_view text);

// Unsupported when a device was named that this build does not have, Device when one was named
// that does not work here. `console` hears what a device traces; it outlives the devices.
Result<Devices> choose_devices(const DeviceOptions& options, const Environment& env,
                               Console& console);

// What flags and environment say about where and how a model runs.
EngineOptions engine_options(const DeviceOptions& options, const Environment& env);

// An engine on these devices. Unsupported for heads that -fa on asks more for than there is. Where
// `options` asks for joined weights and a GPU may take them, `model` has them from then on.
Result<std::unique_ptr<Engine>> make_engine(Model& model, const Devices& devices,
                                            const EngineOptions& options);

// What runs where and why, for the line printed at load; the engine's current graph tells.
std::string plan_text(const Devices& devices, const Engine& engine);

}  // namespace minfer

#pragma once
// Which device runs the model. Names are checked before the model file is opened.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/cpu/cpu_backend.h"

namespace minfer {

struct Environment;

struct DeviceOptions {                  // as given on the command line
    std::optional<std::string> device;  // "cpu", "metal,cpu"
    std::optional<std::string> gpu_layers;
    std::optional<int> threads;
};

struct Devices {
    std::vector<std::unique_ptr<Backend>> backends;  // priority order, CPU last
    int threads = 1;
    std::string device;  // "cpu (avx2)"
    std::string plan;    // what runs where and why, for the line printed at load

    std::vector<Backend*> pointers() const;
};

// The value of --device or MINFER_BACKENDS: comma-separated names there is a device for, now or
// later. `none`, llama.cpp's word for no GPU, becomes cpu.
Result<std::string> parse_devices(std::string_view text);

// Unsupported when a device was named that this build does not have.
Result<Devices> choose_devices(const DeviceOptions& options, const Environment& env);

}  // namespace minfer

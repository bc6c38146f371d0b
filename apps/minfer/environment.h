#pragma once
// Every environment variable the program reads, in one table, read once. A flag wins over the
// variable; the variable wins over the model's hints and the built-in default.

#include <optional>
#include <string>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "base/result.h"
#include "graph/op.h"
#include "metal_device.h"

namespace minfer {

struct Environment {
    std::optional<int> threads;
    std::optional<int64_t> ctx_size;
    std::optional<std::string> gpu_layers;
    std::optional<std::string> backends;  // allowed devices; absent: all
    std::optional<KvFormat> cache_type;
    CpuActivations cpu_activations = CpuActivations::Quantized;
    MetalSettings metal;
    bool fuse_qkv = true, fuse_ffn = true;  // decode nodes of a GPU
    bool concat_weights = false;            // those nodes read joined copies of their weights
    bool trace_labels = false;              // say every dispatch of a GPU
    std::string trace_file;                 // run writes a trace there; empty: none
    bool op_profile = false;                // run says which operations take its time
    std::string home;                       // for a path beginning with ~/
    std::vector<std::string> for_gpu;       // variables that are set and that only a GPU heeds
    std::vector<std::string> unknown;  // MINFER_, SOFTMETAL_ names that are set, read by nothing
};

// A bad value is BadInput naming variable, value and what is allowed. An empty value is as good as
// none.
Result<Environment> read_environment();

// A path that begins with ~/ begins in the home folder, if there is one.
std::string expand_home(const std::string& path, const Environment& env);

// The table as help text, one variable a line.
std::string environment_help();

// Values that flags and variables share.
Result<bool> parse_switch(std::string_view text);  // 1/0, true/false, on/off
Result<KvFormat> parse_kv_format(std::string_view text);
Result<std::string> parse_gpu_layers(std::string_view text);  // a number, auto or all
constexpr int kMaxThreads = 512;
constexpr int64_t kMaxContext = int64_t{1} << 30;

}  // namespace minfer

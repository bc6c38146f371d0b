#pragma once
// What a benchmark measured, and the forms it is printed in.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace minfer {

struct BenchRow {
    std::string model, filename, type, backend, device, test;
    std::string gpu;         // name of the GPU; empty: none in use
    std::string cache_type;  // of keys and values
    bool flash_attn = false;
    uint64_t model_bytes = 0, n_parameters = 0;
    int64_t n_threads = 0, n_batch = 0, n_ubatch = 0, n_prompt = 0, n_gen = 0, n_depth = 0,
            n_gpu_layers = 0, n_layers = 0, n_parallel = 1;
    bool is_split() const { return n_gpu_layers > 0 && n_gpu_layers < n_layers; }

    std::vector<double> seconds;  // one sample per repetition
    std::string test_time;        // when it began, UTC

    double tokens() const { return static_cast<double>((n_prompt + n_gen) * n_parallel); }
};

struct Spread {
    double mean = 0, deviation = 0;  // of the sample: divided by n - 1
};
Spread spread(const std::vector<double>& samples);

// Prints rows as they come, so that a long benchmark can be watched; each call returns the text
// for stdout.
class BenchReport {
  public:
    virtual ~BenchReport() = default;
    virtual std::string head() { return {}; }
    virtual std::string row(const BenchRow& row) = 0;
    virtual std::string tail() { return {}; }
};

// md, csv, json or jsonl.
Result<std::unique_ptr<BenchReport>> make_bench_report(std::string_view format);

}  // namespace minfer

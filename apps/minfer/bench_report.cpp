#include "bench_report.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "build_info.h"
#include "fmt/format.h"
#include "machine.h"
#include "units.h"

namespace minfer {
namespace {

using Json = nlohmann::ordered_json;

std::vector<double> rates(const BenchRow& row) {
    std::vector<double> list;
    for (const auto seconds : row.seconds) list.push_back(seconds > 0 ? row.tokens() / seconds : 0);
    return list;
}

std::vector<uint64_t> nanoseconds(const BenchRow& row) {
    std::vector<uint64_t> list;
    for (const auto seconds : row.seconds) list.push_back(static_cast<uint64_t>(seconds * 1e9));
    return list;
}

// Fields named as llama-bench names them, so that scripts which read those read these.
Json row_json(const BenchRow& row) {
    const auto speed = spread(rates(row));
    const auto time = spread(row.seconds);
    return {
        {"build_commit", kCommit},
        {"build_version", kVersion},
        {"cpu_info", cpu_model()},
        {"gpu_info", row.gpu},
        {"backends", row.backend},
        {"model_filename", row.filename},
        {"model_type", row.model},
        {"model_size", row.model_bytes},
        {"model_n_params", row.n_parameters},
        {"n_batch", row.n_batch},
        {"n_ubatch", row.n_ubatch},
        {"n_threads", row.n_threads},
        {"type_k", row.cache_type},
        {"type_v", row.cache_type},
        {"n_gpu_layers", row.n_gpu_layers},
        {"flash_attn", row.flash_attn},
        {"use_mmap", true},
        {"devices", row.device},
        {"weight_type", row.type},
        {"n_prompt", row.n_prompt},
        {"n_gen", row.n_gen},
        {"n_depth", row.n_depth},
        {"n_parallel", row.n_parallel},
        {"test_time", row.test_time},
        {"avg_ns", static_cast<uint64_t>(time.mean * 1e9)},
        {"stddev_ns", static_cast<uint64_t>(time.deviation * 1e9)},
        {"avg_ts", speed.mean},
        {"stddev_ts", speed.deviation},
        {"samples_ns", nanoseconds(row)},
        {"samples_ts", rates(row)},
    };
}

// A file name need not be UTF-8; JSON must.
std::string dump(const Json& json, int indent) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

class Markdown final : public BenchReport {
  public:
    std::string head() override {
        return "| model | size | params | backend | device | threads | type | test | t/s |\n"
               "| --- | ---: | ---: | --- | --- | ---: | --- | ---: | ---: |\n";
    }
    std::string row(const BenchRow& row) override {
        const auto speed = spread(rates(row));
        const auto split =
            row.is_split() ? fmt::format(", ngl {}", row.n_gpu_layers) : std::string();
        return fmt::format("| {} | {} | {} | {} | {}{} | {} | {} | {} | {:.2f} ± {:.2f} |\n",
                           row.model, bytes_text(row.model_bytes), count_text(row.n_parameters),
                           row.backend, row.device, split, row.n_threads, row.type, row.test,
                           speed.mean, speed.deviation);
    }
    std::string tail() override { return fmt::format("\nbuild: {} ({})\n", kCommit, kVersion); }
};

class Csv final : public BenchReport {
  public:
    std::string row(const BenchRow& row) override {
        const auto json = row_json(row);
        std::string text;
        if (!std::exchange(headed_, true)) {
            for (const auto& [key, value] : json.items()) append(text, key);
            text += '\n';
        }
        std::string line;
        for (const auto& value : json) {
            std::string joined;
            if (value.is_array()) {  // samples, separated by spaces
                for (const auto& sample : value)
                    joined += (joined.empty() ? "" : " ") + dump(sample, -1);
            } else {
                joined = value.is_string() ? value.get<std::string>() : dump(value, -1);
            }
            append(line, joined);
        }
        return text + line + "\n";
    }

  private:
    static void append(std::string& line, std::string_view value) {
        if (!line.empty()) line += ',';
        line += '"';
        for (const char c : value) line += c == '"' ? std::string("\"\"") : std::string(1, c);
        line += '"';
    }
    bool headed_ = false;
};

class JsonArray final : public BenchReport {
  public:
    std::string row(const BenchRow& row) override {
        rows_.push_back(row_json(row));
        return {};
    }
    std::string tail() override { return dump(rows_, 2) + "\n"; }

  private:
    Json rows_ = Json::array();
};

class JsonLines final : public BenchReport {
  public:
    std::string row(const BenchRow& row) override { return dump(row_json(row), -1) + "\n"; }
};

}  // namespace

Spread spread(const std::vector<double>& samples) {
    if (samples.empty()) return {};
    const auto n = static_cast<double>(samples.size());
    const auto mean = std::accumulate(samples.begin(), samples.end(), 0.) / n;
    double squares = 0;
    for (const auto sample : samples) squares += (sample - mean) * (sample - mean);
    return {.mean = mean, .deviation = samples.size() > 1 ? std::sqrt(squares / (n - 1)) : 0};
}

Result<std::unique_ptr<BenchReport>> make_bench_report(std::string_view format) {
    std::unique_ptr<BenchReport> report;
    if (format == "md") report = std::make_unique<Markdown>();
    if (format == "csv") report = std::make_unique<Csv>();
    if (format == "json") report = std::make_unique<JsonArray>();
    if (format == "jsonl") report = std::make_unique<JsonLines>();
    if (!report) return fail(Fault::BadInput, "'{}' is not one of md, csv, json, jsonl", format);
    return report;
}

}  // namespace minfer

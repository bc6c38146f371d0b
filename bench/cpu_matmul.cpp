// How fast the CPU's matrix products run: weight bytes a second for one token (decoding moves the
// whole model once per token), floating-point operations a second for 64 tokens (prompts).
//
//   build/<preset>/bin/bench_cpu_matmul [--benchmark_filter=Q4_K]

#include <benchmark/benchmark.h>

#include <memory>
#include <thread>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "support/random_data.h"

namespace minfer {
namespace {

// The feed-forward shape of a 7-billion-parameter model; weights cycle through more matrices than
// caches hold, as a model's layers do.
constexpr size_t kInDim = 3584, kOutDim = 4096, kBytesInFlight = size_t{192} << 20;

void multiply(benchmark::State& state, DType dtype, size_t n_tokens, int threads) {
    auto backend = make_cpu_backend({.threads = threads});
    const auto bytes = test::random_rows(dtype, kInDim * kOutDim, 1);
    const auto n_weights = kBytesInFlight / bytes.size() + 1;
    auto copies = std::vector<std::vector<std::byte>>(n_weights, bytes);
    auto nodes = std::vector<Node>();
    auto ids = std::vector<WeightId>();
    for (size_t i = 0; i < n_weights; ++i) {
        const auto name = std::to_string(i);
        if (!backend->register_weight({.name = name,
                                       .dtype = dtype,
                                       .shape = {kInDim, kOutDim, 1, 1},
                                       .data = copies[i]}))
            return state.SkipWithError("weight refused");
        ids.push_back(*backend->find_weight(name));
        nodes.push_back(
            {.name = name,
             .op = op::MatMul{.weight = name, .dtype = dtype, .in_dim = kInDim, .out_dim = kOutDim},
             .shape = {kOutDim, n_tokens, 1, 1}});
    }
    const auto x = test::random_floats(kInDim * n_tokens, 2);
    const auto in = BufRef{.id = *backend->alloc(x.size() * 4), .bytes = x.size() * 4};
    const auto out_bytes = kOutDim * n_tokens * 4;
    const auto out = BufRef{.id = *backend->alloc(out_bytes), .bytes = out_bytes};
    if (!backend->write(in, std::as_bytes(std::span(x)))) return state.SkipWithError("write");

    size_t next = 0;
    for (auto _ : state) {
        const auto done = backend->execute(
            {.node = &nodes[next], .in = {&in, 1}, .out = out, .weights = {&ids[next], 1}});
        if (!done) return state.SkipWithError(done.error().what.c_str());
        next = (next + 1) % n_weights;
    }
    const auto runs = static_cast<double>(state.iterations());
    state.counters["GB/s"] = benchmark::Counter(runs * static_cast<double>(bytes.size()) / 1e9,
                                                benchmark::Counter::kIsRate);
    state.counters["GFLOP/s"] =
        benchmark::Counter(runs * 2 * static_cast<double>(kInDim * kOutDim * n_tokens) / 1e9,
                           benchmark::Counter::kIsRate);
}

void register_all() {
    const auto cores = static_cast<int>(std::thread::hardware_concurrency());
    for (const auto dtype :
         {DType::F32, DType::F16, DType::BF16, DType::Q8_0, DType::Q4_0, DType::Q4_1, DType::Q5_0,
          DType::Q5_1, DType::Q4_K, DType::Q5_K, DType::Q6_K, DType::IQ4_XS}) {
        for (const size_t n_tokens : {1, 64}) {
            for (const int threads : {1, cores}) {
                const auto label =
                    fmt::format("{}/tokens:{}/threads:{}", name(dtype), n_tokens, threads);
                benchmark::RegisterBenchmark(label.c_str(), multiply, dtype, n_tokens, threads)
                    ->UseRealTime()
                    ->Unit(benchmark::kMicrosecond);
                if (cores == 1) break;
            }
        }
    }
}

}  // namespace
}  // namespace minfer

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    minfer::register_all();
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}

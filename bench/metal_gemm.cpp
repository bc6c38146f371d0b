// How fast Metal's matrix-matrix products run, in floating-point operations a second. On softmetal
// the figure says what a test run costs, not what a GPU would do: checks are off, as in `minfer`.
//
//   build/<preset>/bin/bench_metal_gemm [--benchmark_filter=Q4_K]

#include <benchmark/benchmark.h>

#include <cstdlib>

#include "backend/metal/metal_backend.h"
#include "support/random_data.h"

namespace minfer {
namespace {

constexpr size_t kInDim = 1024, kOutDim = 512;

void multiply(benchmark::State& state, DType dtype, size_t n_tokens, bool f32_tiles) {
    auto backend = make_metal_backend({.gemm_f32_tiles = f32_tiles});
    if (!backend) return state.SkipWithError(backend.error().what.c_str());
    const auto bytes = test::random_rows(dtype, kInDim * kOutDim, 1);
    const auto weight =
        Weight{.name = "w", .dtype = dtype, .shape = {kInDim, kOutDim, 1, 1}, .data = bytes};
    if (!(*backend)->register_weight(weight) || !(*backend)->finish_weights())
        return state.SkipWithError("weight refused");
    const auto id = *(*backend)->find_weight("w");
    const auto x = test::random_floats(kInDim * n_tokens, 2);
    const auto buffer = [&](size_t size) {
        return BufRef{.backend = BackendId::Metal, .id = *(*backend)->alloc(size), .bytes = size};
    };
    const auto in = buffer(x.size() * 4), out = buffer(kOutDim * n_tokens * 4);
    if (!(*backend)->write(in, std::as_bytes(std::span(x)))) return state.SkipWithError("write");
    const auto node =
        Node{.name = "product",
             .op = op::MatMul{.weight = "w", .dtype = dtype, .in_dim = kInDim, .out_dim = kOutDim},
             .shape = {kOutDim, n_tokens, 1, 1}};
    for (auto _ : state) {
        auto done =
            (*backend)->execute({.node = &node, .in = {&in, 1}, .out = out, .weights = {&id, 1}});
        if (done) done = (*backend)->synchronize();
        if (!done) return state.SkipWithError(done.error().what.c_str());
    }
    const auto flops = 2 * static_cast<double>(kInDim * kOutDim * n_tokens);
    state.counters["GFLOP/s"] = benchmark::Counter(
        static_cast<double>(state.iterations()) * flops / 1e9, benchmark::Counter::kIsRate);
}

void register_all() {
    for (const auto dtype :
         {DType::Q4_0, DType::Q4_1, DType::Q5_0, DType::Q5_1, DType::Q8_0, DType::Q4_K, DType::Q5_K,
          DType::Q6_K, DType::F16, DType::BF16, DType::F32})
        for (const size_t n_tokens : {12, 20, 64})
            for (const bool f32_tiles : {false, true}) {
                if (!f32_tiles && (dtype == DType::BF16 || dtype == DType::F32)) continue;
                const auto label = fmt::format("{}/tokens:{}/tiles:{}", name(dtype), n_tokens,
                                               f32_tiles ? "f32" : "half");
                benchmark::RegisterBenchmark(label.c_str(), multiply, dtype, n_tokens, f32_tiles)
                    ->MeasureProcessCPUTime()
                    ->UseRealTime()
                    ->Unit(benchmark::kMillisecond);
            }
}

}  // namespace
}  // namespace minfer

int main(int argc, char** argv) {
    setenv("SOFTMETAL_CHECKS", "off", 0);
    benchmark::Initialize(&argc, argv);
    minfer::register_all();
    benchmark::RunSpecifiedBenchmarks();
}

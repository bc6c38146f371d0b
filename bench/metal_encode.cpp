// What the Metal backend costs the host: encoding one dispatch, and one command buffer submitted
// and waited for. With the software device a submission also runs the kernels, on the same machine.
//
//   build/<preset>/bin/bench_metal_encode
//
// SOFTMETAL_CHECKS=off in the environment measures what a program that runs models sees.

#include <benchmark/benchmark.h>

#include "backend/metal/metal_backend.h"

namespace minfer {
namespace {

constexpr size_t kCount = 32;  // elements: next to nothing to compute

struct Sum {
    std::unique_ptr<MetalBackend> backend;
    BufRef in[2], out;
    Node node{.name = "sum", .op = op::Add{}, .shape = {kCount, 1, 1, 1}};

    bool make(benchmark::State& state) {
        auto made = make_metal_backend();
        if (!made) {
            state.SkipWithError(made.error().what.c_str());
            return false;
        }
        backend = *std::move(made);
        for (auto* const ref : {&in[0], &in[1], &out})
            *ref = {.backend = BackendId::Metal,
                    .id = *backend->alloc(kCount * 4),
                    .bytes = kCount * 4};
        return true;
    }
    bool encode() { return backend->execute({.node = &node, .in = in, .out = out}).has_value(); }
};

void encode(benchmark::State& state) {
    auto sum = Sum();
    if (!sum.make(state)) return;
    constexpr int kDispatches = 300;  // of a token of a small model
    for (auto _ : state) {
        for (int i = 0; i < kDispatches; ++i)
            if (!sum.encode()) return state.SkipWithError("not encoded");
        state.PauseTiming();
        if (!sum.backend->synchronize()) return state.SkipWithError("not done");
        state.ResumeTiming();
    }
    state.SetItemsProcessed(state.iterations() * kDispatches);
    state.counters["per_dispatch"] =
        benchmark::Counter(static_cast<double>(state.iterations()) * kDispatches,
                           benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void submit(benchmark::State& state) {
    auto sum = Sum();
    if (!sum.make(state)) return;
    for (auto _ : state)
        if (!sum.encode() || !sum.backend->synchronize()) return state.SkipWithError("not done");
}

BENCHMARK(encode);
BENCHMARK(submit)->UseRealTime();

}  // namespace
}  // namespace minfer

BENCHMARK_MAIN();

// How fast the CPU decodes over a long context: attention of one token over every cell of a layer,
// in each format of the cache. Layers take turns, so that cells come from memory as a model's do.
// One run interleaves the formats; compare medians of it:
//
//   build/<preset>/bin/bench_cpu_attention --benchmark_enable_random_interleaving=true
//       --benchmark_repetitions=9 --benchmark_report_aggregates_only=true

#include <benchmark/benchmark.h>

#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "support/random_data.h"

namespace minfer {
namespace {

struct Shape {
    const char* model;
    size_t n_head, n_head_kv, head_dim;
};
constexpr Shape kShapes[] = {{"0.5B", 14, 2, 64}, {"7B", 28, 4, 128}};
constexpr size_t kBytesInFlight = size_t{128} << 20;

void attend(benchmark::State& state, Shape shape, KvFormat format, size_t n_ctx, int threads) {
    auto backend = make_cpu_backend({.threads = threads});
    const auto layout = kv_layout(format, shape.n_head_kv * shape.head_dim);
    const auto q_width = shape.n_head * shape.head_dim;
    const auto fresh = [&](size_t bytes) {
        return BufRef{.id = *backend->alloc_fresh(bytes), .bytes = bytes};
    };
    const auto upload = [&](const auto& values) {
        const auto bytes = std::as_bytes(std::span(values));
        const auto ref = fresh(bytes.size());
        if (!backend->write(ref, bytes)) state.SkipWithError("write");
        return ref;
    };
    const auto store = Node{.op = op::KvStore{.layout = layout, .n_ctx = n_ctx},
                            .shape = {layout.width, n_ctx, 1, 1}};
    const auto attention =
        Node{.op = op::Attention{.n_head = shape.n_head,
                                 .n_head_kv = shape.n_head_kv,
                                 .head_dim = shape.head_dim,
                                 .scale = 1 / std::sqrt(static_cast<float>(shape.head_dim)),
                                 .layout = layout,
                                 .n_ctx = n_ctx},
             .shape = {q_width, 1, 1, 1}};

    // All cells of every layer, filled through the store.
    auto cells = std::vector<int32_t>(n_ctx);
    for (size_t c = 0; c < n_ctx; ++c) cells[c] = static_cast<int32_t>(c);
    const auto rows = upload(test::random_floats(layout.width * n_ctx, 1));
    const auto all = std::vector{rows, rows, upload(cells)};
    auto layers = std::vector<KvPair>();
    const auto layer_bytes = 2 * layout.row_bytes * n_ctx;
    for (size_t held = 0; held == 0 || held < kBytesInFlight; held += layer_bytes) {
        layers.push_back({.k = fresh(layer_bytes / 2), .v = fresh(layer_bytes / 2)});
        if (!backend->execute(
                {.node = &store, .in = all, .out = layers.back().k, .kv = layers.back()}))
            return state.SkipWithError("store");
    }

    const auto last = static_cast<int32_t>(n_ctx - 1);
    const auto own = upload(test::random_floats(layout.width, 2));
    const auto one = std::vector{own, own, upload(std::vector{last})};
    const auto q = upload(test::random_floats(q_width, 3));
    const auto window = upload(std::vector{0, last + 1});
    const auto out = fresh(q_width * sizeof(float));
    size_t next = 0;
    for (auto _ : state) {
        const auto& kv = layers[next];
        const auto in = {q, kv.k, one[2], window};
        if (!backend->execute({.node = &store, .in = one, .out = kv.k, .kv = kv}) ||
            !backend->execute({.node = &attention, .in = in, .out = out, .kv = kv}))
            return state.SkipWithError("a step failed");
        next = (next + 1) % layers.size();
    }
    state.counters["GB/s"] = benchmark::Counter(
        static_cast<double>(state.iterations() * layer_bytes) / 1e9, benchmark::Counter::kIsRate);
}

void register_all() {
    const auto cores = static_cast<int>(std::thread::hardware_concurrency());
    for (const auto& shape : kShapes)
        for (const auto format : {KvFormat::F32, KvFormat::F16, KvFormat::Q8_0})
            for (const size_t n_ctx : {1024, 8192})
                for (const int threads : {1, cores}) {
                    const auto label = fmt::format("{}/{}/cells:{}/threads:{}", shape.model,
                                                   name(format), n_ctx, threads);
                    benchmark::RegisterBenchmark(label.c_str(), attend, shape, format, n_ctx,
                                                 threads)
                        ->UseRealTime()
                        ->Unit(benchmark::kMicrosecond);
                    if (cores == 1) break;
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

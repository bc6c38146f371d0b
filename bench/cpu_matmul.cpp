// How fast the CPU's matrix products run: weight bytes a second for one token (decoding moves the
// whole model once per token), floating-point operations a second for 64 tokens (prompts).
//
//   build/<preset>/bin/bench_cpu_matmul [--filter Q4_K]

#include <memory>
#include <thread>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "bench/timing.h"
#include "support/random_data.h"

namespace minfer {
namespace {

// The feed-forward shape of a 7-billion-parameter model; weights cycle through more matrices than
// caches hold, as a model's layers do.
constexpr size_t kInDim = 3584, kBytesInFlight = size_t{192} << 20;

struct Products {
    std::unique_ptr<Backend> backend;
    std::vector<std::vector<std::byte>> weights;
    std::vector<Node> nodes;  // one for each weight
    std::vector<WeightId> ids;
    BufRef in, out;
    size_t next = 0;

    Result<> fill(DType dtype, size_t out_dim, size_t n_tokens, size_t bytes_in_flight) {
        const auto bytes = test::random_rows(dtype, kInDim * out_dim, 1);
        const auto n_weights = bytes_in_flight / bytes.size() + 1;
        weights.assign(n_weights, bytes);
        for (size_t i = 0; i < n_weights; ++i) {
            const auto name = std::to_string(i);
            MINFER_TRY(backend->register_weight({.name = name,
                                                 .dtype = dtype,
                                                 .shape = {kInDim, out_dim, 1, 1},
                                                 .data = weights[i]}));
            ids.push_back(*backend->find_weight(name));
            const auto op =
                op::MatMul{.weight = name, .dtype = dtype, .in_dim = kInDim, .out_dim = out_dim};
            nodes.push_back({.name = name, .op = op, .shape = {out_dim, n_tokens, 1, 1}});
        }
        const auto x = test::random_floats(kInDim * n_tokens, 2);
        in.bytes = x.size() * sizeof(float);
        in.id = MINFER_TRY(backend->alloc(in.bytes));
        out.bytes = out_dim * n_tokens * sizeof(float);
        out.id = MINFER_TRY(backend->alloc(out.bytes));
        return backend->write(in, std::as_bytes(std::span(x)));
    }
    Result<> step() {
        const auto i = std::exchange(next, (next + 1) % nodes.size());
        return backend->execute(
            {.node = &nodes[i], .in = {&in, 1}, .out = out, .weights = {&ids[i], 1}});
    }
};

Result<bench::Case> multiply(DType dtype, size_t out_dim, size_t n_tokens, int threads,
                             size_t bytes_in_flight) {
    const auto products = std::make_shared<Products>();
    products->backend = make_cpu_backend({.threads = threads});
    MINFER_TRY(products->fill(dtype, out_dim, n_tokens, bytes_in_flight));
    const auto flops = 2 * static_cast<double>(kInDim * out_dim * n_tokens);
    return bench::Case{.step = [=] { return products->step(); },
                       .rates = {{"GB/s", static_cast<double>(products->weights[0].size()) / 1e9},
                                 {"GFLOP/s", flops / 1e9}}};
}

Result<> measure(bench::Bench& bench) {
    const auto cores = static_cast<int>(std::thread::hardware_concurrency());
    const size_t out_dim = bench.smoke() ? 32 : 4096;
    const auto in_flight = bench.smoke() ? 0 : kBytesInFlight;
    const auto lengths = bench.smoke() ? std::vector<size_t>{1} : std::vector<size_t>{1, 64};
    const auto threads = cores == 1 ? std::vector{1} : std::vector{1, cores};
    for (const auto dtype :
         {DType::F32, DType::F16, DType::BF16, DType::Q8_0, DType::Q4_0, DType::Q4_1, DType::Q5_0,
          DType::Q5_1, DType::Q4_K, DType::Q5_K, DType::Q6_K, DType::IQ4_XS})
        for (const auto n_tokens : lengths)
            for (const auto n_threads : threads)
                MINFER_TRY(bench.compare({{.name = fmt::format("{}/tokens:{}/threads:{}",
                                                               name(dtype), n_tokens, n_threads),
                                           .make = [=] {
                                               return multiply(dtype, out_dim, n_tokens, n_threads,
                                                               in_flight);
                                           }}}));
    return {};
}

}  // namespace
}  // namespace minfer

int main(int argc, char** argv) { return minfer::bench::run(argc, argv, minfer::measure); }

// How fast Metal's matrix-matrix products run, in floating-point operations a second. On softmetal
// the figure says what a test run costs, not what a GPU would do: checks are off, as in `minfer`.
//
//   build/<preset>/bin/bench_metal_gemm [--filter Q4_K]

#include <cstdlib>
#include <memory>

#include "backend/metal/metal_backend.h"
#include "bench/timing.h"
#include "support/random_data.h"

namespace minfer {
namespace {

constexpr size_t kInDim = 1024, kOutDim = 512;

struct Product {
    std::unique_ptr<MetalBackend> backend;
    std::vector<std::byte> bytes;
    WeightId id{};
    Node node;
    BufRef in, out;

    Result<> fill(DType dtype, size_t n_tokens) {
        bytes = test::random_rows(dtype, kInDim * kOutDim, 1);
        MINFER_TRY(backend->register_weight(
            {.name = "w", .dtype = dtype, .shape = {kInDim, kOutDim, 1, 1}, .data = bytes}));
        MINFER_TRY(backend->finish_weights());
        id = *backend->find_weight("w");
        const auto x = test::random_floats(kInDim * n_tokens, 2);
        in = MINFER_TRY(buffer(x.size() * sizeof(float)));
        out = MINFER_TRY(buffer(kOutDim * n_tokens * sizeof(float)));
        const auto op =
            op::MatMul{.weight = "w", .dtype = dtype, .in_dim = kInDim, .out_dim = kOutDim};
        node = Node{.name = "product", .op = op, .shape = {kOutDim, n_tokens, 1, 1}};
        return backend->write(in, std::as_bytes(std::span(x)));
    }
    Result<BufRef> buffer(size_t size) {
        const auto at = MINFER_TRY(backend->alloc(size));
        return BufRef{.backend = BackendId::Metal, .id = at, .bytes = size};
    }
    Result<> step() {
        MINFER_TRY(
            backend->execute({.node = &node, .in = {&in, 1}, .out = out, .weights = {&id, 1}}));
        return backend->synchronize();
    }
};

Result<bench::Case> multiply(DType dtype, size_t n_tokens, bool f32_tiles) {
    const auto product = std::make_shared<Product>();
    product->backend = MINFER_TRY(make_metal_backend({.gemm_f32_tiles = f32_tiles}));
    MINFER_TRY(product->fill(dtype, n_tokens));
    const auto flops = 2 * static_cast<double>(kInDim * kOutDim * n_tokens);
    return bench::Case{.step = [=] { return product->step(); },
                       .rates = {{"GFLOP/s", flops / 1e9}}};
}

Result<> measure(bench::Bench& bench) {
    const auto lengths = bench.smoke() ? std::vector<size_t>{12} : std::vector<size_t>{12, 20, 64};
    const auto dtypes = bench.smoke()
                            ? std::vector{DType::Q4_K, DType::F16}
                            : std::vector{DType::Q4_0, DType::Q4_1, DType::Q5_0, DType::Q5_1,
                                          DType::Q8_0, DType::Q4_K, DType::Q5_K, DType::Q6_K,
                                          DType::F16,  DType::BF16, DType::F32};
    for (const auto dtype : dtypes)
        for (const auto n_tokens : lengths) {
            auto group = std::vector<bench::Candidate>();
            for (const bool f32_tiles : {false, true}) {
                if (!f32_tiles && (dtype == DType::BF16 || dtype == DType::F32)) continue;
                group.push_back({.name = fmt::format("{}/tokens:{}/tiles:{}", name(dtype), n_tokens,
                                                     f32_tiles ? "f32" : "half"),
                                 .make = [=] { return multiply(dtype, n_tokens, f32_tiles); }});
            }
            MINFER_TRY(bench.compare(group));
        }
    return {};
}

}  // namespace
}  // namespace minfer

int main(int argc, char** argv) {
    setenv("SOFTMETAL_CHECKS", "off", 0);
    return minfer::bench::run(argc, argv, minfer::measure);
}

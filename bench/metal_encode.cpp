// What the Metal backend costs the host: encoding one dispatch, and one command buffer submitted
// and waited for. With the software device a submission also runs the kernels, on the same machine.
//
//   build/<preset>/bin/bench_metal_encode
//
// SOFTMETAL_CHECKS=off in the environment measures what a program that runs models sees.

#include <memory>

#include "backend/metal/metal_backend.h"
#include "bench/timing.h"

namespace minfer {
namespace {

constexpr size_t kCount = 32;     // elements: next to nothing to compute
constexpr int kDispatches = 300;  // of a token of a small model

struct Sum {
    std::unique_ptr<MetalBackend> backend;
    BufRef in[2], out;
    Node node{.name = "sum", .op = op::Add{}, .shape = {kCount, 1, 1, 1}};

    static Result<std::shared_ptr<Sum>> create() {
        auto sum = std::make_shared<Sum>();
        sum->backend = MINFER_TRY(make_metal_backend());
        for (auto* const ref : {&sum->in[0], &sum->in[1], &sum->out}) {
            const auto id = MINFER_TRY(sum->backend->alloc(kCount * sizeof(float)));
            *ref = {.backend = BackendId::Metal, .id = id, .bytes = kCount * sizeof(float)};
        }
        return sum;
    }
    Result<> encode() { return backend->execute({.node = &node, .in = in, .out = out}); }
};

Result<bench::Case> encode() {
    const auto sum = MINFER_TRY(Sum::create());
    return bench::Case{.step = [=]() -> Result<> {
                           for (int i = 0; i < kDispatches; ++i) MINFER_TRY(sum->encode());
                           return {};
                       },
                       .settle = [=] { return sum->backend->synchronize(); },
                       .rates = {{"dispatches/s", kDispatches}}};
}

Result<bench::Case> submit() {
    const auto sum = MINFER_TRY(Sum::create());
    return bench::Case{.step = [=]() -> Result<> {
        MINFER_TRY(sum->encode());
        return sum->backend->synchronize();
    }};
}

Result<> measure(bench::Bench& bench) {
    return bench.compare(
        {{.name = fmt::format("encode {} dispatches", kDispatches), .make = encode},
         {.name = "submit one and wait", .make = submit}});
}

}  // namespace
}  // namespace minfer

int main(int argc, char** argv) { return minfer::bench::run(argc, argv, minfer::measure); }

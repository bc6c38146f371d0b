// What one generated token costs on the Metal backend, counted by softmetal and so the same on
// every machine: dispatches, barriers and bytes, for each kernel.
//
//   build/<preset>/bin/bench_metal_counters MODEL
//
// `random-model` (tools/) writes files of published shapes (qwen2.5-0.5b, ...). Counting makes
// kernels 20 to 30 times slower: a 0.5B model takes a minute or two.

#include <Metal/Metal.hpp>
#include <cstdio>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/metal/metal_backend.h"
#include "runtime/engine.h"
#include "softmetal/control.h"

namespace minfer {
namespace {

constexpr size_t kPast = 16;  // tokens before the one that is counted

// Bytes of the matrices that one token has to read: all but the embedding, of which it reads a row
// unless it is the output head as well.
size_t matrix_bytes(const Model& model) {
    size_t bytes = 0;
    for (const auto& weight : model.weights())
        if (weight.shape[1] > 1 &&
            (weight.name != "token_embd.weight" || !model.has_weight("output.weight")))
            bytes += weight.data.size();
    return bytes;
}

Result<> count(const char* path) {
    auto* const device = MTL::CreateSystemDefaultDevice();  // the backend's, as long as it lives
    const auto model = MINFER_TRY(Model::load(path));
    const auto cpu = make_cpu_backend();
    const auto metal = MINFER_TRY(make_metal_backend({.submit_bound_seconds = 3600}));
    const auto engine = MINFER_TRY(
        Engine::create(model, {metal.get(), cpu.get()}, {.n_ctx = 64, .n_ubatch = kPast}));
    if (!engine->offload().on_device())
        return fail(Fault::Unsupported, "{}", engine->offload().refusals.front());
    softmetal::set_checks(device, softmetal::Checks::Off);
    const auto tokens = std::vector<TokenId>(kPast, TokenId{1});
    MINFER_TRY(engine->evaluate(tokens));
    MINFER_TRY(engine->evaluate(std::span(tokens).first(1)));  // the graph is cached from here on

    softmetal::set_checks(device, softmetal::Checks::Bounds);
    softmetal::set_memory_counters(device, true);
    softmetal::reset_counters(device);
    const auto before = metal->counters();
    MINFER_TRY(engine->evaluate(std::span(tokens).first(1)));
    const auto after = metal->counters();

    std::printf("%-28s %10s %14s %14s %14s\n", "kernel", "dispatches", "read", "read/SIMD",
                "written");
    uint64_t products = 0, read = 0;
    for (const auto& k : softmetal::counters(device)) {
        if (k.dispatches == 0) continue;
        std::printf("%-28s %10llu %14llu %14llu %14llu\n", k.kernel.c_str(),
                    static_cast<unsigned long long>(k.dispatches),
                    static_cast<unsigned long long>(k.read_distinct_bytes),
                    static_cast<unsigned long long>(k.read_distinct_in_simdgroup_bytes),
                    static_cast<unsigned long long>(k.written_distinct_bytes));
        read += k.read_distinct_bytes;
        if (k.kernel.starts_with("mul_mv")) products += k.read_distinct_bytes;
    }
    const auto wanted = matrix_bytes(model);
    std::printf(
        "\none token: %zu command buffer(s), %zu dispatches, %zu barriers, %llu bytes read by all "
        "kernels\nmatrices: %zu bytes; read by their kernels, activations included: %llu (%.4f of "
        "it)\n",
        after.command_buffers - before.command_buffers, after.dispatches - before.dispatches,
        after.barriers - before.barriers, static_cast<unsigned long long>(read), wanted,
        static_cast<unsigned long long>(products),
        static_cast<double>(products) / static_cast<double>(wanted));
    return {};
}

}  // namespace
}  // namespace minfer

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: bench_metal_counters MODEL\n");
        return 2;
    }
    if (const auto done = minfer::count(argv[1]); !done) {
        std::fprintf(stderr, "error: %s\n", done.error().what.c_str());
        return 1;
    }
    return 0;
}

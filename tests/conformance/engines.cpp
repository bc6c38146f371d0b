#include "conformance/engines.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gguf/writer.h"
#include "model/vocab.h"
#include "random_model/random_model.h"

namespace minfer::test {
namespace {

// A context that nobody chose: small enough for the devices' memory and for the tests' time.
EngineOptions small(EngineOptions options) {
    if (options.n_ctx == EngineOptions().n_ctx) options.n_ctx = 256;
    return options;
}

Running start(const Model& model, std::vector<std::unique_ptr<Backend>> backends,
              EngineOptions options) {
    auto running = Running{.backends = std::move(backends)};
    auto borrowed = std::vector<Backend*>();
    for (const auto& backend : running.backends) borrowed.push_back(backend.get());
    auto engine = Engine::create(model, borrowed, small(options));
    EXPECT_TRUE(engine) << engine.error().what;
    MINFER_ASSERT(engine);
    running.engine = *std::move(engine);
    for (const auto& refusal : running.engine->offload().refusals) ADD_FAILURE() << refusal;
    return running;
}

}  // namespace

std::vector<float> Running::evaluate(std::span<const TokenId> tokens, size_t n_out) {
    const auto logits = engine->evaluate(tokens, n_out);
    if (!logits) {
        ADD_FAILURE() << logits.error().what;
        return {};
    }
    return {logits->begin(), logits->end()};
}

size_t Running::nodes_on(BackendId backend) const {
    return static_cast<size_t>(
        std::ranges::count(engine->graph().nodes, std::optional(backend), &Node::backend));
}

Running on_metal(const Model& model, const MetalOptions& metal, EngineOptions options) {
    auto device = make_metal_backend(metal);
    EXPECT_TRUE(device) << device.error().what;
    MINFER_ASSERT(device);
    auto backends = std::vector<std::unique_ptr<Backend>>();
    backends.push_back(*std::move(device));
    backends.push_back(make_cpu_backend({.activations = CpuActivations::F32}));
    return start(model, std::move(backends), options);
}

Running on_cpu(const Model& model, CpuActivations activations, EngineOptions options) {
    auto backends = std::vector<std::unique_ptr<Backend>>();
    backends.push_back(make_cpu_backend({.activations = activations}));
    return start(model, std::move(backends), options);
}

Model load_model(const std::filesystem::path& path) {
    auto model = Model::load(path);
    EXPECT_TRUE(model) << model.error().what;
    MINFER_ASSERT(model);
    return *std::move(model);
}

std::optional<std::string> why_not(const Model& model) {
    if (const auto tokenizer = read_tokenizer(model.file().metadata()); !tokenizer)
        return tokenizer.error().what;
    auto device = make_metal_backend({});
    if (!device) return device.error().what;
    const auto cpu = make_cpu_backend({.activations = CpuActivations::F32});
    const auto both = std::vector<Backend*>{device->get(), cpu.get()};
    const auto engine = Engine::create(model, both, small({}));
    if (!engine) return engine.error().what;
    const auto& refusals = (*engine)->offload().refusals;
    if (refusals.empty()) return std::nullopt;
    return refusals.front();
}

void write_random_model(std::string_view shape, DType type, const std::filesystem::path& to) {
    const auto known = std::ranges::find(random_model_shapes(), shape, &RandomModelShape::name);
    MINFER_ASSERT(known != random_model_shapes().end());
    write_random_model(*known, type, to);
}

void write_random_model(const RandomModelShape& shape, DType type,
                        const std::filesystem::path& to) {
    gguf::Writer writer;
    MINFER_ASSERT(add_random_model(writer, shape, type));
    MINFER_ASSERT(writer.write(to));
}

std::vector<TokenId> encode(const Model& model, std::string_view text) {
    const auto tokenizer = read_tokenizer(model.file().metadata());
    MINFER_ASSERT(tokenizer);
    return tokenizer->encode(text);
}

std::vector<TokenId> random_ids(const Model& model, size_t count) {
    auto ids = std::vector<TokenId>();
    for (size_t i = 0; i < count; ++i)
        ids.push_back(static_cast<TokenId>((7 + i * 7919) % model.hparams().n_vocab));
    return ids;
}

TokenId best(std::span<const float> logits) {
    return static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
}

float lead(std::span<const float> logits) {
    const auto first = static_cast<size_t>(best(logits));
    auto second = -std::numeric_limits<float>::infinity();
    for (size_t i = 0; i < logits.size(); ++i)
        if (i != first) second = std::max(second, logits[i]);
    return logits[first] - second;
}

}  // namespace minfer::test

#include "runtime/offload.h"

#include <algorithm>

#include "graph/liveness.h"
#include "model/placement.h"

namespace minfer {
namespace {

std::vector<const Weight*> weights_for(const Model& model, BackendId backend,
                                       const LayerPlan& plan) {
    std::vector<const Weight*> list;
    for (const auto& weight : model.weights())
        if (is_registered(weight.name, backend, plan)) list.push_back(&weight);
    return list;
}

// Why the device cannot run this step; nothing when it can.
Result<std::optional<std::string>> prepare(Backend& device, const Graph& graph) {
    const auto live = live_nodes(graph);
    for (const auto& node : graph.nodes) {
        if (!live[node.id] || node.backend != device.id()) continue;
        auto prepared = device.prepare(node);
        if (prepared) continue;
        if (prepared.error().fault == Fault::Unsupported) return std::move(prepared).error().what;
        return at(std::string(device.name()), std::move(prepared).error());
    }
    return std::nullopt;
}

// Why the device cannot run these weights or steps; nothing when it has them all.
Result<std::optional<std::string>> offer(const Model& model, Backend& device, const LayerPlan& plan,
                                         std::span<const LoweredGraph> steps) {
    const auto weights = weights_for(model, device.id(), plan);
    // All types and steps before the first weight, so that a refused model leaves nothing on the
    // device.
    for (const auto* const weight : weights) {
        // A matrix of one row looks like a vector: either may have the types of matrices.
        const bool is_vector = weight->shape[1] == 1;
        if (device.supports_weight(weight->dtype) || (is_vector && weight->dtype == DType::F32))
            continue;
        return fmt::format("weight '{}' is {}, which no kernel runs there", weight->name,
                           name(weight->dtype));
    }
    for (const auto& step : steps)
        if (auto refusal = MINFER_TRY(prepare(device, step.graph))) return refusal;
    for (const auto mapping : model.mappings()) device.add_mapping(mapping);
    for (const auto* const weight : weights) {
        auto registered = device.register_weight(*weight);
        if (registered) continue;
        if (registered.error().fault == Fault::Unsupported)
            return std::move(registered).error().what;
        return at(std::string(device.name()), std::move(registered).error());
    }
    if (auto finished = device.finish_weights(); !finished)
        return at(std::string(device.name()), std::move(finished).error());
    return std::nullopt;
}

}  // namespace

Result<Offload> offload(const Model& model, std::span<Backend* const> backends, size_t gpu_layers,
                        std::span<const LoweredGraph> steps) {
    const auto n_layers = model.hparams().n_layer;
    const auto plan = LayerPlan{
        .device = true, .gpu_layers = std::min(gpu_layers, n_layers), .n_layers = n_layers};
    Offload result;
    for (auto* const backend : backends) {
        if (backend->id() == BackendId::Cpu) {
            for (const auto& weight : model.weights()) MINFER_TRY(backend->register_weight(weight));
        } else if (plan.gpu_layers == 0) {
            continue;
        } else if (auto refusal = MINFER_TRY(offer(model, *backend, plan, steps))) {
            result.refusals.push_back(fmt::format("{}: {}", backend->name(), *refusal));
            continue;
        } else {
            result.gpu_layers = plan.gpu_layers;
        }
        result.backends.push_back(backend);
    }
    return result;
}

}  // namespace minfer

#pragma once
// Gets a model's weights to the backends: the CPU has all of them, and a device takes every weight
// the plan puts there or none. Decided when an engine is made, never later.

#include <span>
#include <string>
#include <vector>

#include "graph/backend.h"
#include "graph/lower.h"
#include "model/model.h"

namespace minfer {

struct Offload {
    std::vector<Backend*> backends;     // those in use, priority order, the CPU last
    size_t gpu_layers = 0;              // blocks on a device, from the first on; 0: all on the CPU
    std::vector<std::string> refusals;  // "metal: weight 'blk.0.ffn_up.weight' ...": why a device
                                        // is not in use; the first weight or node it has no kernel
                                        // for
    bool on_device() const { return gpu_layers > 0; }
};

// Registers the weights of `model`, with up to `gpu_layers` blocks on each device among `backends`.
// A dtype or shape that a device does not run, of a weight or of a node in one of the `steps` that
// will be run, lowered for these backends, is a refusal: the device is left out. Any other failure,
// as running out of memory, is an error. Preparing the steps builds their kernels: no later step
// waits for that.
Result<Offload> offload(const Model& model, std::span<Backend* const> backends, size_t gpu_layers,
                        std::span<const LoweredGraph> steps = {});

}  // namespace minfer

#pragma once
// Which weights a backend gets under an offload plan: one rule for every architecture, shared by
// whoever registers weights and whoever asks whether a device can take a model.

#include "graph/assign.h"

namespace minfer {

// The number in the last "blk.<i>." of a tensor's name; nothing for a tensor outside every block.
std::optional<uint32_t> weight_block(std::string_view name);

// The CPU gets every weight, since it borrows them; a device those of its blocks, and the
// embedding, final norm and head only when it has all blocks.
bool is_registered(std::string_view name, BackendId backend, const LayerPlan& plan);

}  // namespace minfer

#pragma once
// Which format the cells of an engine's KV cache have: settled once, when the engine is made.

#include <optional>
#include <span>

#include "graph/backend.h"
#include "model/hparams.h"

namespace minfer {

// What a device uses when nobody asks for a format: f16 where a token's decode reads so many cells
// that half their bytes pay for the conversion, n_layer * kv_width of 8192 and more; else f32.
// Never packed.
KvFormat auto_device_format(size_t n_layer, size_t kv_width);

// q8_0 cells are blocks of 32 elements.
bool fits_cells(KvFormat format, size_t kv_width);

// The format asked for, else that of auto_device_format() if there is a device among `backends` and
// all of them read it, else f32. Unsupported, naming the width, for cells that are no whole blocks.
Result<KvFormat> choose_kv_format(std::optional<KvFormat> asked, const HParams& hparams,
                                  std::span<Backend* const> backends);

}  // namespace minfer

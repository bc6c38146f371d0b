#include "runtime/kv_format.h"

#include <algorithm>

namespace minfer {

KvFormat auto_device_format(size_t n_layer, size_t kv_width) {
    constexpr size_t kLarge = 8192;  // the 7B class
    return n_layer * kv_width >= kLarge ? KvFormat::F16 : KvFormat::F32;
}

bool fits_cells(KvFormat format, size_t kv_width) {
    return format != KvFormat::Q8_0 || kv_width % 32 == 0;
}

Result<KvFormat> choose_kv_format(std::optional<KvFormat> asked, const HParams& hparams,
                                  std::span<Backend* const> backends) {
    if (asked) {
        if (!fits_cells(*asked, hparams.kv_width()))
            return fail(Fault::Unsupported,
                        "a {} KV cache takes cells of a multiple of 32 elements, this model's have "
                        "{} ({} KV heads of {})",
                        name(*asked), hparams.kv_width(), hparams.n_head_kv, hparams.head_dim);
        return *asked;
    }
    const auto wanted = auto_device_format(hparams.n_layer, hparams.kv_width());
    const bool on_device = std::ranges::any_of(
        backends, [](const Backend* backend) { return backend->id() != BackendId::Cpu; });
    const bool is_read = std::ranges::all_of(
        backends, [&](const Backend* backend) { return backend->reads_kv(wanted); });
    return on_device && is_read ? wanted : KvFormat::F32;
}

}  // namespace minfer

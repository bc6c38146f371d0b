#pragma once
// The Metal backend: one command buffer per split, weights used where the file lies, every kernel
// our own. It is written against metal-cpp alone and does not know whose Metal it runs on.
//
// A backend belongs to one thread at a time.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/backend.h"

namespace minfer {

// How attention is computed. Every switch leaves the result within its class.
struct AttentionOptions {
    // The order of preference: what is off, or has no kernel for the shape, goes to the next one
    // and in the end to the classic kernel.
    bool flash = true;               // one token: chunks of cells that are combined
    bool split = true;               // one token: two passes over chunks
    bool prefill_flash = true;       // more tokens: tiles of 8 queries by 64 cells
    bool three_pass = true;          // more tokens, f32 cells: scores, softmax, output
    bool window_flash = true;        // the tiles for explicit windows
    std::optional<uint32_t> chunks;  // of one token's cells, instead of one per 32 cells up to 16;
                                     // 1 to kMaxAttentionChunks
    bool stage_packed = false;       // one token over q8_0 cells: expand them to f32 first
    // Beyond the original rules.
    bool early_stop = true;       // tiles past a query's last cell are not visited
    bool skip_tiles = true;       // nor are those without a cell of an explicit window
    bool any_head_size = true;    // tiles and chunks for heads of 80, 96, 112 and 256 as well
    bool split_blocks = true;     // q8_0 cells lie as quants, then scales: whole vectors load
    size_t share_kv_from = 8192;  // cells from which query heads of one KV head share its loads
};
constexpr uint32_t kMaxAttentionChunks = 128;

// The sizes of heads that the flash kernels are made for, ascending.
std::vector<size_t> flash_head_sizes(const AttentionOptions& options);

// Read once, when the backend is made.
struct MetalOptions {
    std::string library;                        // kernels to use instead of the built-in ones:
                                                // .metal source, .metallib or .smlib
    double submit_bound_seconds = 10;           // the longest wait for one command buffer; > 0,
                                                // up to 1e6
    std::optional<size_t> memory_budget_bytes;  // none: three quarters of the device's working set
    bool copy_weights = false;                  // copy every weight instead of wrapping the file
    std::string gpu_trace;  // everything the device is given goes to this file, if one is named
    // Paths that give the same result in another way, for comparison.
    bool gemm = true;             // false: no matrix-matrix kernels
    bool gemm_f32_tiles = false;  // f32 tiles for every weight type, not only BF16 and F32
    bool multi_column = true;     // false: 2 to 8 rows by the thresholds of the original tier rule
    bool float_gemm = true;       // false: matrix-matrix kernels for quantised weights alone
    bool rms_norm_256 = true;     // false: 32 threads a row
    AttentionOptions attention;
    // Every dispatch label as it is encoded, when set.
    std::function<void(std::string_view)> trace_labels;
};

// Of everything submitted so far.
struct MetalCounters {
    size_t command_buffers = 0, dispatches = 0, barriers = 0;
};

namespace metal {
struct Context;
}

class MetalBackend final : public Backend {
  public:
    explicit MetalBackend(std::unique_ptr<metal::Context> context);
    // Submits what is pending, so that no encoder is left open. Waits without a bound for work that
    // was given up: mappings may go once this returns.
    ~MetalBackend() override;

    BackendId id() const override { return BackendId::Metal; }
    std::string_view name() const override { return "metal"; }

    bool supports(const Op& op, DType dtype) const override;
    bool supports_weight(DType dtype) const override;
    bool supports_attn_span() const override { return true; }
    bool supports_swiglu_fusion() const override { return true; }
    bool reads_kv(KvFormat format) const override;

    void add_mapping(std::span<const std::byte> pages) override;
    // Also builds the kernels for matrices of its type, unless it looks like a vector: F32, and of
    // one row. A failure names the kernel.
    Result<> register_weight(const Weight& weight) override;
    std::optional<WeightId> find_weight(std::string_view name) const override;
    // The sum of the registered extents, wrapped and copied alike.
    size_t weights_bytes() const override;
    // Of those, the ones that do not lie in the model file for the device: placed in no mapping or
    // at an address that kernels cannot load from, or copied on request.
    size_t copied_weights_bytes() const;
    // Wraps the pages of the mappings that hold new weights, copies the weights that lie in none,
    // and has the device touch what was wrapped. OutOfMemory naming weights, pool and budget when
    // the weights exceed it, before anything is copied. May be called again after an error.
    Result<> finish_weights() override;

    Result<BufferId> alloc(size_t bytes) override;
    Result<BufferId> alloc_fresh(size_t bytes) override;
    Result<BufferId> alloc_cells(size_t bytes) override;
    void free(BufferId id) override;
    size_t pool_count() const override;
    size_t pool_bytes() const override;
    size_t available_bytes() const override;

    Result<size_t> prepare(const Node& node) override;
    // An error ends the split: what was encoded before runs at once, and nothing of it is left for
    // a later one.
    Result<> execute(const Call& call) override;
    Result<> copy_cells(BufRef region, size_t dst_row, size_t src_row, size_t rows,
                        size_t row_bytes) override;
    // These submit what is pending first.
    Result<> read_cells(BufRef region, const KvLayout& layout, size_t first_row,
                        std::span<std::byte> to) override;
    Result<> write_cells(BufRef region, const KvLayout& layout, size_t first_row,
                         std::span<const std::byte> from) override;
    Result<> write(BufRef to, std::span<const std::byte> from) override;
    Result<> read(BufRef from, std::span<std::byte> to) override;
    // Adds no command buffer and no wait: the copy is one of the split's commands.
    Result<> capture(BufRef from, Seen seen) override;
    Result<> synchronize() override;

    // Facts for a banner.
    std::string device_name() const;
    bool has_unified_memory() const;
    size_t working_set_bytes() const;  // what the device recommends not to exceed
    MetalCounters counters() const;

  private:
    std::unique_ptr<metal::Context> context_;
};

// Why there is no Metal here, or nothing. Opens no queue and builds nothing.
std::optional<std::string> metal_unavailable();

// Device with the reason when there is no device, or a kernel library or a kernel cannot be built;
// Unsupported for a kernel that this device cannot hold; NotFound, Io or BadInput naming a library
// file that does not load; BadInput for a bound.
Result<std::unique_ptr<MetalBackend>> make_metal_backend(const MetalOptions& options = {});

}  // namespace minfer

#pragma once
// The one polymorphic seam between the graph and a device. The allocator owns buffers, the backend
// owns the pool they come from; placement is decided before execution and nothing here changes it.

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "graph/graph.h"
#include "graph/weight.h"

namespace minfer {

// One node ready to run: memory and weights were resolved when the graph was mapped, so that
// executing looks nothing up and allocates nothing.
struct Call {
    const Node* node = nullptr;
    std::span<const BufRef> in;
    BufRef out;                         // may alias in[0] (in-place ops)
    std::optional<KvPair> kv;           // for ops that touch the layer's regions
    BufRef scratch;                     // the bytes prepare() asked for, contents undefined
    std::span<const WeightId> weights;  // in the order of op_weights(node->op)
};

// Tokens whose keys a KvStore over cells of this width is given; BadInput for none, and for what is
// no whole rows.
Result<size_t> stored_tokens(const Call& call, size_t width);

// The part of a region that holds whole cells, `bytes` of them from row `first_row` on; BadInput
// when there are no such cells.
Result<BufRef> cells_of(BufRef region, const KvLayout& layout, size_t first_row, size_t bytes);

class Backend {
  public:
    virtual ~Backend() = default;

    virtual BackendId id() const = 0;
    virtual std::string_view name() const = 0;  // "cpu", "metal"

    // Capability: pure, asked while placing nodes.
    virtual bool supports(const Op& op, DType dtype) const = 0;
    virtual bool supports_weight(DType dtype) const = 0;  // as a 2-D weight
    virtual bool supports_attn_span() const { return false; }
    virtual bool supports_swiglu_fusion() const { return false; }
    virtual bool reads_kv(KvFormat format) const = 0;

    // Memory that stays mapped, whole pages of it, while the backend lives: weights lying in it may
    // be used in place. Told before the weights are registered.
    virtual void add_mapping(std::span<const std::byte>) {}

    // Weights. A known name with the same data is a no-op; with other data it is BadInput; a dtype
    // or shape no kernel runs is Unsupported, by name.
    virtual Result<> register_weight(const Weight& weight) = 0;
    virtual std::optional<WeightId> find_weight(std::string_view name) const = 0;
    virtual size_t weights_bytes() const = 0;
    // Makes the weights registered since the last call ready to be used.
    virtual Result<> finish_weights() { return {}; }

    // Pool, in bytes. alloc may recycle an idle buffer of exactly this size, alloc_fresh never
    // does; free returns a buffer to the pool, which keeps its memory.
    virtual Result<BufferId> alloc(size_t bytes) = 0;
    virtual Result<BufferId> alloc_fresh(size_t bytes) = 0;
    // alloc() for a KV region: zeroed where kernels multiply cells that no token sees by weights of
    // zero, as what is left in recycled memory need not be a number.
    virtual Result<BufferId> alloc_cells(size_t bytes) { return alloc(bytes); }
    virtual void free(BufferId id) = 0;
    virtual size_t pool_count() const = 0;  // buffers ever created; never shrinks
    virtual size_t pool_bytes() const = 0;
    // What alloc() can still hand out under the backend's budget, idle buffers included.
    virtual size_t available_bytes() const { return SIZE_MAX; }

    // Work. Errors name node, dtype, shapes and values; stale output is never read after one.
    virtual Result<> execute(const Call& call) = 0;
    // Moves rows inside one region with memmove semantics.
    virtual Result<> copy_cells(BufRef region, size_t dst_row, size_t src_row, size_t rows,
                                size_t row_bytes) = 0;
    // Makes ready whatever executing this node takes, and returns the bytes of memory it wants
    // besides sources and output, planned like an activation that lives for this node. Called when
    // a graph is mapped: Unsupported, with node and values, for a shape that no kernel can hold.
    virtual Result<size_t> prepare(const Node&) { return 0; }
    // Whole cells of a KV region in the layout of KvLayout's comment, whatever the backend keeps.
    // BadInput when the sizes do not fit.
    virtual Result<> read_cells(BufRef region, const KvLayout& layout, size_t first_row,
                                std::span<std::byte> to);
    virtual Result<> write_cells(BufRef region, const KvLayout& layout, size_t first_row,
                                 std::span<const std::byte> from);
    virtual Result<> write(BufRef to, std::span<const std::byte> from) = 0;  // sizes must be equal
    virtual Result<> read(BufRef from, std::span<std::byte> to) = 0;         // sizes must be equal
    // Shows `from` as it is after what was executed so far, whatever later work writes there: at
    // once, or when the work has ended in synchronize(); never when it ends in an error. `seen`
    // gets from.bytes bytes that are valid during the call.
    using Seen = std::function<void(std::span<const std::byte>)>;
    virtual Result<> capture(BufRef from, Seen seen);
    virtual Result<> synchronize() = 0;                  // submit and wait, bounded
    virtual Result<> retire() { return synchronize(); }  // order later copies behind this split
};

}  // namespace minfer

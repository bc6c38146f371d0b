#include "backend/metal/metal_backend.h"

#include <algorithm>

#include "backend/metal/cells.h"
#include "backend/metal/ops.h"

namespace minfer {
namespace {

using metal::Context;

// What an error is about: "node 'blk.0.attn_q' (MatMul Q4_K, [896, 3], source of 12 bytes)".
std::string describe(const Node& node, std::span<const BufRef> in = {}) {
    auto text = fmt::format("node '{}' ({} {}, shape {}", node.name, op_name(node.op),
                            name(node.dtype), shape_text(node.shape));
    for (const auto& source : in) text += fmt::format(", source of {} bytes", source.bytes);
    return text + ")";
}

template <class... Ops>
bool is_any(const Op& op) {
    return (std::holds_alternative<Ops>(op) || ...);
}

// A copy whose ends overlap is undefined: in runs no longer than the distance, those first that a
// later run would overwrite.
Result<> move_cells(Context& context, const metal::Slice& memory, size_t dst_row, size_t src_row,
                    size_t rows, size_t row_bytes) {
    const auto held = row_bytes ? memory.bytes / row_bytes : 0;
    if (rows > held || dst_row > held - rows || src_row > held - rows)
        return fail(Fault::BadInput,
                    "cannot move {} cells of {} bytes from {} to {} among {} cells", rows,
                    row_bytes, src_row, dst_row, held);
    if (row_bytes % sizeof(uint32_t) != 0)
        return fail(Fault::Unsupported,
                    "cells of {} bytes are not whole words, which copies of the device take",
                    row_bytes);
    if (dst_row == src_row || rows == 0) return {};
    auto* const commands = MINFER_TRY(context.open());
    const bool is_down = dst_row < src_row;
    const auto distance = is_down ? src_row - dst_row : dst_row - src_row;
    for (size_t moved = 0; moved < rows;) {
        const auto run = std::min(distance, rows - moved);
        const auto row = is_down ? moved : rows - moved - run;
        auto copied = commands->copy(memory.part((src_row + row) * row_bytes, run * row_bytes),
                                     memory.part((dst_row + row) * row_bytes, run * row_bytes));
        if (!copied)
            return at(fmt::format("{} of {} cells were moved from {} to {}", moved, rows, src_row,
                                  dst_row),
                      std::move(copied).error());
        moved += run;
    }
    return {};
}

}  // namespace

std::optional<std::string> metal_unavailable() {
    const metal::AutoreleaseScope scope;
    const auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
    if (!device) return "no Metal device";
    return std::nullopt;
}

Result<std::unique_ptr<MetalBackend>> make_metal_backend(const MetalOptions& options) {
    return std::make_unique<MetalBackend>(MINFER_TRY(Context::create(options)));
}

MetalBackend::MetalBackend(std::unique_ptr<Context> context) : context_(std::move(context)) {}

MetalBackend::~MetalBackend() = default;

bool MetalBackend::supports(const Op& op, DType dtype) const {
    if (is_any<op::Input, op::View>(op)) return dtype == DType::F32 || dtype == DType::I32;
    if (dtype != DType::F32) return false;
    if (is_any<op::MatMul, op::FusedQkv, op::FusedQkvNorm, op::FusedFfn>(op)) return true;
    if (is_any<op::Add, op::Mul, op::Silu, op::SwiGlu>(op)) return true;
    if (is_any<op::Embed, op::GatherRows>(op)) return true;
    if (is_any<op::RmsNorm, op::QkNorm>(op)) return true;
    if (is_any<op::Rope, op::KvStore, op::KvLoad, op::Attention>(op)) return true;
    return false;
}

bool MetalBackend::supports_weight(DType dtype) const { return metal::runs_as_weight(dtype); }

bool MetalBackend::reads_kv(KvFormat) const { return true; }

void MetalBackend::add_mapping(std::span<const std::byte> pages) {
    context_->weights.add_mapping(pages);
}

Result<> MetalBackend::register_weight(const Weight& weight) {
    const metal::AutoreleaseScope scope;
    const bool is_tall = weight.shape[1] > 1;
    if (!supports_weight(weight.dtype))
        return is_tall ? fail(Fault::Unsupported, "weight '{}': type {} does not run on Metal",
                              weight.name, minfer::name(weight.dtype))
                       : fail(Fault::Unsupported,
                              "weight '{}': one-dimensional weights are F32, found {}", weight.name,
                              minfer::name(weight.dtype));
    // Vectors are F32 and every model has some. An F32 matrix of one row looks like one: should a
    // node multiply it, Context::prepare_matrix() builds the kernels.
    if (is_tall || weight.dtype != DType::F32)
        MINFER_TRY(context_->kernels.build_for(*context_->device, weight.dtype, context_->options));
    return context_->weights.add(weight);
}

std::optional<WeightId> MetalBackend::find_weight(std::string_view name) const {
    return context_->weights.find(name);
}

size_t MetalBackend::copied_weights_bytes() const { return context_->weights.copied_bytes(); }

size_t MetalBackend::weights_bytes() const { return context_->weights.bytes(); }

Result<> MetalBackend::finish_weights() {
    const metal::AutoreleaseScope scope;
    auto& weights = context_->weights;
    if (const auto budget = context_->budget_bytes; weights.bytes() + pool_bytes() > budget)
        return fail(Fault::OutOfMemory,
                    "{} bytes of weights and {} in the pool exceed the device budget of {}",
                    weights.bytes(), pool_bytes(), budget);
    MINFER_TRY(weights.place(context_->options.copy_weights));
    if (auto touched = metal::warm_up(*context_, weights.untouched()); !touched)
        return context_->give_up_split(std::move(touched).error());
    weights.mark_touched();
    return {};
}

Result<BufferId> MetalBackend::alloc(size_t bytes) {
    const metal::AutoreleaseScope scope;
    return context_->pool.alloc(bytes, false, weights_bytes(), context_->budget_bytes);
}

Result<BufferId> MetalBackend::alloc_fresh(size_t bytes) {
    const metal::AutoreleaseScope scope;
    return context_->pool.alloc(bytes, true, weights_bytes(), context_->budget_bytes);
}

Result<BufferId> MetalBackend::alloc_cells(size_t bytes) {
    const auto id = MINFER_TRY(alloc(bytes));
    if (context_->pool.is_fresh(id)) return id;
    const metal::AutoreleaseScope scope;
    // Work that is encoded may still write to what was recycled.
    if (auto done = context_->submit(); !done) {
        free(id);
        return std::unexpected(std::move(done).error());
    }
    const auto all = BufRef{.backend = BackendId::Metal, .id = id, .bytes = bytes};
    std::fill_n(context_->pool.slice(all).host(), bytes, std::byte{});
    return id;
}

void MetalBackend::free(BufferId id) { context_->pool.free(id); }

size_t MetalBackend::pool_count() const { return context_->pool.count(); }

size_t MetalBackend::pool_bytes() const { return context_->pool.bytes(); }

size_t MetalBackend::available_bytes() const {
    const auto used = weights_bytes() + pool_bytes() - context_->pool.idle_bytes();
    return context_->budget_bytes - std::min(used, context_->budget_bytes);
}

Result<size_t> MetalBackend::prepare(const Node& node) {
    const metal::AutoreleaseScope scope;
    auto wanted =
        std::visit([&](const auto& op) { return metal::prepare(*context_, node, op); }, node.op);
    if (!wanted) return at(describe(node), std::move(wanted).error());
    return wanted;
}

Result<> MetalBackend::execute(const Call& call) {
    const metal::AutoreleaseScope scope;
    MINFER_ASSERT(call.node != nullptr);
    auto done =
        std::visit([&](const auto& op) { return metal::run(*context_, call, op); }, call.node->op);
    if (done) return {};
    return context_->give_up_split(
        at(describe(*call.node, call.in), std::move(done).error()).error());
}

Result<> MetalBackend::copy_cells(BufRef region, size_t dst_row, size_t src_row, size_t rows,
                                  size_t row_bytes) {
    const metal::AutoreleaseScope scope;
    auto done =
        move_cells(*context_, context_->pool.slice(region), dst_row, src_row, rows, row_bytes);
    if (done) return {};
    return context_->give_up_split(std::move(done).error());
}

Result<> MetalBackend::write(BufRef to, std::span<const std::byte> from) {
    const metal::AutoreleaseScope scope;
    if (to.bytes != from.size())
        return fail(Fault::BadInput, "{} bytes written to a buffer of {}", from.size(), to.bytes);
    MINFER_TRY(context_->submit());
    std::ranges::copy(from, context_->pool.slice(to).host());
    return {};
}

Result<> MetalBackend::read(BufRef from, std::span<std::byte> to) {
    const metal::AutoreleaseScope scope;
    if (from.bytes != to.size())
        return fail(Fault::BadInput, "{} bytes read from a buffer of {}", to.size(), from.bytes);
    MINFER_TRY(context_->submit());
    std::copy_n(context_->pool.slice(from).host(), to.size(), to.data());
    return {};
}

Result<> MetalBackend::read_cells(BufRef region, const KvLayout& layout, size_t first_row,
                                  std::span<std::byte> to) {
    const auto part = MINFER_TRY(cells_of(region, layout, first_row, to.size()));
    MINFER_TRY(read(part, to));
    if (metal::cell_type(layout.format, context_->options.attention) == metal::CellType::Q8_0Split)
        metal::join_blocks(layout, to);
    return {};
}

Result<> MetalBackend::write_cells(BufRef region, const KvLayout& layout, size_t first_row,
                                   std::span<const std::byte> from) {
    const auto part = MINFER_TRY(cells_of(region, layout, first_row, from.size()));
    if (metal::cell_type(layout.format, context_->options.attention) != metal::CellType::Q8_0Split)
        return write(part, from);
    auto cells = std::vector<std::byte>(from.begin(), from.end());
    metal::split_blocks(layout, cells);
    return write(part, cells);
}

Result<> MetalBackend::capture(BufRef from, Seen seen) {
    const metal::AutoreleaseScope scope;
    return context_->capture(from, std::move(seen));
}

Result<> MetalBackend::synchronize() {
    const metal::AutoreleaseScope scope;
    return context_->submit();
}

std::string MetalBackend::device_name() const { return context_->device->name(); }

bool MetalBackend::has_unified_memory() const { return context_->device->has_unified_memory(); }

size_t MetalBackend::working_set_bytes() const {
    return context_->device->limits().working_set_bytes;
}

MetalCounters MetalBackend::counters() const { return context_->counters; }

}  // namespace minfer

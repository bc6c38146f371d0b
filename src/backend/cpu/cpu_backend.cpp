#include "backend/cpu/cpu_backend.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backend/cpu/cpu_features.h"
#include "backend/cpu/ops.h"

namespace minfer {
namespace {

const cpu::Kernels& choose(CpuIsa isa) {
    const auto found = cpu::detect_kernels();
    if (isa == CpuIsa::Auto) return *found.back().kernels;
    const auto row = std::ranges::find(found, isa, &cpu::IsaKernels::isa);
    MINFER_ASSERT(row != found.end());
    return *row->kernels;
}

// What an error is about: "blk.0.attn_q (MatMul Q4_K, [896, 3] from [1024, 3])" and so on.
std::string describe(const Call& call) {
    const auto& node = *call.node;
    const auto dtype = [&] {
        if (const auto* matmul = std::get_if<op::MatMul>(&node.op)) return matmul->dtype;
        if (const auto* embed = std::get_if<op::Embed>(&node.op)) return embed->dtype;
        return node.dtype;
    }();
    auto text =
        fmt::format("node '{}' ({} {}, shape [{}, {}, {}, {}]", node.name, op_name(node.op),
                    name(dtype), node.shape[0], node.shape[1], node.shape[2], node.shape[3]);
    for (const auto& source : call.in) text += fmt::format(", source of {} bytes", source.bytes);
    return text + ")";
}

}  // namespace

std::vector<CpuIsa> cpu_isas() {
    auto isas = std::vector<CpuIsa>();
    for (const auto& row : cpu::detect_kernels()) isas.push_back(row.isa);
    return isas;
}

std::unique_ptr<CpuBackend> make_cpu_backend(CpuOptions options) {
    return std::make_unique<CpuBackend>(options);
}

CpuBackend::CpuBackend(CpuOptions options)
    : context_(std::make_unique<cpu::Context>(options, choose(options.isa))) {}

CpuBackend::~CpuBackend() = default;

Result<> CpuBackend::has_its_threads() const { return context_->threads.is_complete(); }

bool CpuBackend::supports(const Op& op, DType dtype) const {
    if (std::holds_alternative<op::Input>(op) || std::holds_alternative<op::View>(op))
        return dtype == DType::F32 || dtype == DType::I32;
    if (dtype != DType::F32) return false;
    if (const auto* matmul = std::get_if<op::MatMul>(&op)) return supports_weight(matmul->dtype);
    if (const auto* embed = std::get_if<op::Embed>(&op)) return supports_weight(embed->dtype);
    if (std::holds_alternative<op::FusedQkv>(op) || std::holds_alternative<op::FusedQkvNorm>(op) ||
        std::holds_alternative<op::FusedFfn>(op))
        return false;
    return true;  // every other operation, on f32; cells of every format
}

bool CpuBackend::supports_weight(DType dtype) const { return cpu::runs_as_matrix(dtype); }

Result<> CpuBackend::register_weight(const Weight& weight) { return context_->weights.add(weight); }

std::optional<WeightId> CpuBackend::find_weight(std::string_view name) const {
    return context_->weights.find(name);
}

size_t CpuBackend::weights_bytes() const { return context_->weights.bytes(); }

Result<BufferId> CpuBackend::alloc(size_t bytes) { return context_->pool.alloc(bytes); }

Result<BufferId> CpuBackend::alloc_fresh(size_t bytes) { return context_->pool.alloc_fresh(bytes); }

void CpuBackend::free(BufferId id) { context_->pool.free(id); }

size_t CpuBackend::pool_count() const { return context_->pool.count(); }

size_t CpuBackend::pool_bytes() const { return context_->pool.bytes(); }

Result<> CpuBackend::execute(const Call& call) {
    MINFER_ASSERT(call.node != nullptr);
    auto done =
        std::visit([&](const auto& op) { return cpu::run(*context_, call, op); }, call.node->op);
    if (!done) return at(describe(call), std::move(done).error());
    return {};
}

Result<> CpuBackend::copy_cells(BufRef region, size_t dst_row, size_t src_row, size_t rows,
                                size_t row_bytes) {
    const auto memory = host_view(region);
    const auto held = row_bytes ? memory.size() / row_bytes : 0;
    if (rows > held || dst_row > held - rows || src_row > held - rows)
        return fail(Fault::BadInput,
                    "cannot move {} cells of {} bytes from {} to {} among {} cells", rows,
                    row_bytes, src_row, dst_row, held);
    std::memmove(memory.data() + dst_row * row_bytes, memory.data() + src_row * row_bytes,
                 rows * row_bytes);
    return {};
}

Result<> CpuBackend::write(BufRef to, std::span<const std::byte> from) {
    const auto memory = host_view(to);
    if (memory.size() != from.size())
        return fail(Fault::BadInput, "{} bytes written to a buffer of {}", from.size(),
                    memory.size());
    std::ranges::copy(from, memory.begin());
    return {};
}

Result<> CpuBackend::read(BufRef from, std::span<std::byte> to) {
    const auto memory = host_view(from);
    if (memory.size() != to.size())
        return fail(Fault::BadInput, "{} bytes read from a buffer of {}", to.size(), memory.size());
    std::ranges::copy(memory, to.begin());
    return {};
}

std::span<std::byte> CpuBackend::host_view(BufRef ref) { return context_->pool.view(ref); }

std::string_view CpuBackend::isa() const { return context_->kernels.name; }

size_t CpuBackend::scratch_bytes() const {
    auto bytes = context_->activation_scratch.size();
    for (const auto& scratch : context_->worker_scratch) bytes += scratch.size();
    return bytes;
}

}  // namespace minfer

#include "conformance/columns.h"

#include <algorithm>

#include "backend/cpu/cpu_backend.h"

namespace minfer::test {
namespace {

// Exact mode: weights are dequantised, activations stay as they are.
Column cpu_column(std::string name, CpuIsa isa) {
    return {.name = std::move(name), .make = [isa]() -> Result<std::unique_ptr<Backend>> {
                return make_cpu_backend({.activations = CpuActivations::F32, .isa = isa});
            }};
}

Column cpu_simd_column() {
    const auto best = cpu_isas().back();
    auto column = cpu_column("cpu_simd", best);
    if (best == CpuIsa::Scalar)
        column.make = []() -> Result<std::unique_ptr<Backend>> {
            return fail(Fault::Unsupported, "this machine has no SIMD instruction set of ours");
        };
    return column;
}

}  // namespace

const std::vector<Column>& columns() {
    static const auto all = [] {
        auto list = metal_columns();
        list.push_back(cpu_column("cpu_scalar", CpuIsa::Scalar));
        list.push_back(cpu_simd_column());
        return list;
    }();
    return all;
}

const Column& column(std::string_view name) {
    const auto found = std::ranges::find(columns(), name, &Column::name);
    MINFER_ASSERT(found != columns().end());
    return *found;
}

bool half_tiles(const Column& column, const Row& row) {
    const auto* const matmul = std::get_if<op::MatMul>(&row.op);
    return matmul && column.half_tiles && column.half_tiles(*matmul, row.tokens());
}

std::string_view excuse(std::string_view backend, std::string_view op) {
    struct Excuse {
        std::string_view backend, op, why;
    };
    static constexpr Excuse kExcuses[] = {
        {"cpu", "FusedQkv", "decode fusions save dispatches, and the CPU has none"},
        {"cpu", "FusedQkvNorm", "decode fusions save dispatches, and the CPU has none"},
        {"cpu", "FusedFfn", "decode fusions save dispatches, and the CPU has none"},
        {"metal", "Scale", "no model uses it"},
        {"metal", "Softmax", "no model uses it outside attention, which has its own"},
    };
    for (const auto& entry : kExcuses)
        if (entry.backend == backend && entry.op == op) return entry.why;
    return {};
}

}  // namespace minfer::test

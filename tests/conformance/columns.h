#pragma once
// The columns of the op matrix: backends in every configuration that takes other kernels.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "conformance/op_row.h"
#include "support/op_rig.h"

namespace minfer::test {

struct Column {
    std::string name;
    std::function<Result<std::unique_ptr<Backend>>()> make;
    Placement placement = Placement::Padded;
    // Which products take tiles of half; none by default.
    std::function<bool(const op::MatMul&, size_t n_tokens)> half_tiles;
    // The rows it takes; all by default. A variant that only changes some operations leaves the
    // rest to the column it varies.
    std::function<bool(const Row&)> changes;
};

const std::vector<Column>& columns();
const Column& column(std::string_view name);

// Whether the column's answer to this row is held to the product of halves.
bool half_tiles(const Column& column, const Row& row);

// None in a build without Metal. `trace_labels` as in MetalOptions.
std::vector<Column> metal_columns(const std::function<void(std::string_view)>& trace_labels = {});

// Why a backend does not have an operation, or nothing where it has to.
std::string_view excuse(std::string_view backend, std::string_view op);

}  // namespace minfer::test

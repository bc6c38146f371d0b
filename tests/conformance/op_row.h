#pragma once
// The rows of the op matrix, as data: an operation, how large, and with which indices and windows.
// Operands follow from the row alone (op_trial.h), so that every column computes the same thing.

#include <cstdint>
#include <string>
#include <vector>

#include "graph/op.h"
#include "support/attention_cells.h"
#include "support/weight_types.h"

namespace minfer::test {

struct Row {
    Op op;
    Shape shape{1, 1, 1, 1};            // of the output
    std::vector<int32_t> indices = {};  // id, position or cell of each token
    std::vector<Runs> windows = {};     // of Attention: what each token sees
    bool map = false;     // the window input lists runs of cells; else it is a span for each token
    float magnitude = 1;  // standard deviation of the activations
    bool slow = false;

    size_t tokens() const { return shape[1] * shape[2] * shape[3]; }
};

const std::vector<Row>& op_rows();

// What is tested together: the operation, and the weight type where it has one: "MatMul_Q4_K".
std::string family(const Op& op);

std::string label(const Row& row);  // for messages

}  // namespace minfer::test

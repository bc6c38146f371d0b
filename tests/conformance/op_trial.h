#pragma once
// One row of the op matrix with its operands and the answer in double precision, and how a
// backend's answer is held to it.

#include <optional>

#include "conformance/op_row.h"
#include "support/op_rig.h"
#include "support/reference.h"

namespace minfer::test {

struct Operand {
    std::vector<float> floats;
    std::vector<int32_t> ints;  // used when there are no floats
};

struct StoredWeight {
    std::string name;
    DType dtype = DType::F32;
    Shape shape{1, 1, 1, 1};
    std::vector<std::byte> bytes;
};

struct Trial {
    Op op;
    Shape shape{1, 1, 1, 1};
    std::vector<Operand> sources;
    std::vector<StoredWeight> weights;
    KvLayout layout;                          // of the layer's cells
    std::vector<std::byte> k_cells, v_cells;  // before, as KvLayout has them; empty: it has none
    std::vector<float> k, v;                  // what those cells stand for
    std::vector<int32_t> stored_cells;        // cells that are written
    reference::Values want;
    double bar = 0;  // 0: the exact result rounded once, bit for bit
};

Trial make_trial(const Row& row);

// The same product of operands rounded to half, as tiles of half hold them.
reference::Values product_of_halves(const Trial& trial);

struct Answer {
    std::vector<float> values;    // the output
    std::vector<std::byte> k, v;  // the layer's cells after, as KvLayout has them
};
// The layer's regions with the cells of before in them.
KvPair place_cells(OpRig& rig, const Trial& trial);

// Errors of the backend and writes beside the output become test failures.
Answer answer(OpRig& rig, const Trial& trial);

// What is wrong with an answer, empty for a right one. `half_tiles`: the operands of this product
// are rounded to half, so it is held to the product of those, and loosely to the exact one.
std::vector<std::string> faults(const Trial& trial, const Answer& got, bool half_tiles);

}  // namespace minfer::test

#include "graph/graph.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace minfer {

const Node* Graph::find(std::string_view name) const {
    const auto found = std::ranges::find(nodes, name, &Node::name);
    return found == nodes.end() ? nullptr : &*found;
}

std::string shape_text(const Shape& shape) {
    size_t dims = shape.size();
    while (dims > 1 && shape[dims - 1] == 1) --dims;
    return fmt::format("[{}]", fmt::join(shape.begin(), shape.begin() + dims, ", "));
}

}  // namespace minfer

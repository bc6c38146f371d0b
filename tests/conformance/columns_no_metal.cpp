// A build without Metal has no column for it.

#include "conformance/columns.h"

namespace minfer::test {

std::vector<Column> metal_columns(const std::function<void(std::string_view)>&) { return {}; }

}  // namespace minfer::test

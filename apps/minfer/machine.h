#pragma once
// What the machine we run on has.

#include <cstddef>
#include <optional>
#include <string>

namespace minfer {

// Physical cores this process may use, the fast kind where there are two; at least 1.
int performance_cores();

// The processor's marketing name; empty when the system does not tell.
std::string cpu_model();

// Bytes of memory the machine has; nothing when the system does not tell.
std::optional<size_t> physical_memory();

}  // namespace minfer

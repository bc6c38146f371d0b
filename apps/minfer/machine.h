#pragma once
// What the machine we run on has.

#include <string>

namespace minfer {

// Physical cores this process may use, the fast kind where there are two; at least 1.
int performance_cores();

// The processor's marketing name; empty when the system does not tell.
std::string cpu_model();

}  // namespace minfer

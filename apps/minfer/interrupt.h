#pragma once
// Ctrl+C: the first asks the work in progress to finish early, the second ends the process at once.

namespace minfer {

void watch_interrupts();
bool interrupted();

}  // namespace minfer

#pragma once
// Ctrl+C: while input is read it ends the process at once. Once there is work in progress, the
// first asks it to finish early and the second ends the process.

namespace minfer {

void exit_at_interrupt();
void watch_interrupts();
bool interrupted();

}  // namespace minfer

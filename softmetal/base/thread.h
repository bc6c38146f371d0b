// Starting threads where the system may refuse one (ulimit -u, ulimit -v): an answer, not an
// exception, which no caller of Metal would expect.
#pragma once

#include <functional>
#include <thread>

#include "softmetal/base/result.h"

namespace softmetal {

// The error says that a thread could not be started, and why.
Result<std::thread> start_thread(std::function<void()> work);

// From now on every start_thread is refused. For tests.
void refuse_new_threads(bool on);

}  // namespace softmetal

// A recording as text, one line per command: what a capture holds.
#pragma once

#include <string>

#include "softmetal/api/command.h"

namespace softmetal::api {

// Lines end in '\n'. Buffers are named by their labels as they are now.
std::string describe(const Recording& recording);

}  // namespace softmetal::api

#pragma once
// Waits until a file, or the names in a folder, would survive a power failure.

#include "base/descriptor.h"

namespace minfer {

int sync_file(const Descriptor& file);  // 0, or -1 and errno

}  // namespace minfer

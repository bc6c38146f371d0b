#include <unistd.h>

#include "base/sync_file.h"

namespace minfer {

int sync_file(const Descriptor& file) { return ::fsync(file.number()); }

}  // namespace minfer

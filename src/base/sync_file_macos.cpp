#include <fcntl.h>
#include <unistd.h>

#include "base/sync_file.h"

namespace minfer {

// fsync() there leaves data in the drive's cache; not every file system can do more.
int sync_file(const Descriptor& file) {
    if (::fcntl(file.number(), F_FULLFSYNC) == 0) return 0;
    return ::fsync(file.number());
}

}  // namespace minfer

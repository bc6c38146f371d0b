#include "base/result.h"

#include <cstdio>
#include <cstdlib>

namespace minfer {

void assertion_failed(const char* expression, const char* file, int line) {
    std::fprintf(stderr, "error: internal: %s does not hold (%s:%d)\n", expression, file, line);
    std::abort();
}

}  // namespace minfer

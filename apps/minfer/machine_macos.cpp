#include <sys/sysctl.h>

#include <algorithm>
#include <cstdint>

#include "machine.h"

namespace minfer {

int performance_cores() {
    int cores = 0;
    auto size = sizeof cores;
    // Performance level 0 is the fast kind; Intel Macs have no levels.
    if (::sysctlbyname("hw.perflevel0.physicalcpu", &cores, &size, nullptr, 0) != 0)
        ::sysctlbyname("hw.physicalcpu", &cores, &size, nullptr, 0);
    return std::max(cores, 1);
}

std::string cpu_model() {
    char name[128] = {};
    auto size = sizeof name - 1;
    if (::sysctlbyname("machdep.cpu.brand_string", name, &size, nullptr, 0) != 0) return {};
    return name;
}

std::optional<size_t> physical_memory() {
    uint64_t bytes = 0;
    auto size = sizeof bytes;
    if (::sysctlbyname("hw.memsize", &bytes, &size, nullptr, 0) != 0) return std::nullopt;
    return bytes;
}

}  // namespace minfer

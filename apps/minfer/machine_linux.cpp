#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "base/parse.h"
#include "fmt/format.h"
#include "machine.h"

namespace minfer {
namespace {

std::string first_line(const std::string& path) {
    std::ifstream in(path);
    std::string line;
    std::getline(in, line);
    return line;
}

// The share of CPU time a container may use: "200000 100000" means two cores.
int quota_cores() {
    std::istringstream in(first_line("/sys/fs/cgroup/cpu.max"));
    double quota = 0, period = 0;
    if (!(in >> quota >> period) || quota <= 0 || period <= 0) return INT32_MAX;  // "max"
    return std::max(1, static_cast<int>(std::lround(quota / period)));
}

}  // namespace

int performance_cores() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
    // Two threads of one core share its arithmetic units: count each group of siblings once.
    std::set<std::string> cores;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &allowed)) continue;
        const auto siblings = first_line(
            fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
        cores.insert(siblings.empty() ? fmt::format("cpu{}", cpu) : siblings);
    }
    return std::clamp(std::min(static_cast<int>(cores.size()), quota_cores()), 1, 512);
}

std::string cpu_model() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);)
        if (line.starts_with("model name"))
            if (const auto colon = line.find(": "); colon != std::string::npos)
                return line.substr(colon + 2);
    return {};
}

std::optional<size_t> physical_memory() {
    const auto pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page_bytes <= 0) return std::nullopt;
    return static_cast<size_t>(pages) * static_cast<size_t>(page_bytes);
}

}  // namespace minfer

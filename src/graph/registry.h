#pragma once
// Which backends exist in this build, which the user allows, and which work here. The program owns
// one registry and fills it with what was compiled in; nothing is global.

#include <functional>
#include <memory>
#include <span>

#include "graph/backend.h"

namespace minfer {

// Fixed facts: ids appear in files and exports, priority orders assignment (highest first).
struct KnownBackend {
    BackendId id;
    std::string_view name;
    int priority;
};

// Every backend there is a name for, compiled in or not, by id.
std::span<const KnownBackend> known_backends();

// A backend that this build has.
struct BackendEntry {
    BackendId id = BackendId::Cpu;
    bool software = false;  // emulates a device: used only when named
    // Why it cannot work on this machine, or nothing. Cheap: no device is opened.
    std::function<std::optional<std::string>()> unavailable;
    std::function<Result<std::unique_ptr<Backend>>()> make;
};

struct BackendChoice {
    std::vector<const BackendEntry*> entries;  // in priority order, the CPU always last
    std::vector<std::string> skipped;          // "metal: no Metal device", for the startup lines
};

class BackendRegistry {
  public:
    // Each id once.
    void add(BackendEntry entry);
    bool has(BackendId id) const { return find(id) != nullptr; }

    // What to use, given the values of every --backend NAME[,NAME]: letter case and blanks around
    // names do not matter, none at all means every usable device that is not software. The CPU is
    // always allowed. Names are checked before any device is asked. BadInput for a name nobody
    // knows, Unsupported for one that is not compiled in, Device for one that does not work here.
    Result<BackendChoice> choose(std::span<const std::string> named) const;

  private:
    const BackendEntry* find(BackendId id) const;

    std::vector<BackendEntry> entries_;
};

}  // namespace minfer

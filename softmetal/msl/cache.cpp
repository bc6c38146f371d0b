#include "softmetal/msl/cache.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "softmetal/msl/process.h"

namespace softmetal::msl {

namespace fs = std::filesystem;

std::optional<Cache> Cache::of_user() {
    const auto variable = [](const char* name) {
        const char* value = std::getenv(name);
        return std::string(value != nullptr ? value : "");
    };
    if (variable("SOFTMETAL_CACHE") == "off") return std::nullopt;
    if (const auto folder = variable("XDG_CACHE_HOME"); folder.starts_with('/')) {
        return Cache(fs::path(folder) / "softmetal");
    }
    if (const auto home = variable("HOME"); home.starts_with('/')) {
        return Cache(fs::path(home) / ".cache/softmetal");
    }
    return std::nullopt;
}

std::optional<CompiledUnit> Cache::find(const std::string& key) const {
    const auto path = folder_ / (key + ".smlib");
    const auto bytes = read_file(path);
    if (!bytes) return std::nullopt;
    auto library = deserialize(*bytes);
    if (!library || library->units.size() != 1) return std::nullopt;
    // The date of the last use, for shrink().
    std::error_code ignored;
    fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
    return std::move(library->units.front());
}

void Cache::store(const std::string& key, const CompiledUnit& unit) const {
    static std::atomic<uint64_t> number = 0;
    std::error_code error;
    fs::create_directories(folder_, error);
    // Complete under a name of its own, then renamed: readers see all of it or nothing.
    const auto mine = folder_ / (key + "-" + std::to_string(getpid()) + "-" +
                                 std::to_string(number.fetch_add(1)) + ".tmp");
    CompiledLibrary library;
    library.units.push_back(unit);
    if (!write_file(mine, serialize(library))) {
        fs::remove(mine, error);
        return;
    }
    fs::rename(mine, folder_ / (key + ".smlib"), error);
    if (error) fs::remove(mine, error);
    shrink();
}

void Cache::shrink() const {
    struct File {
        fs::file_time_type used;
        uint64_t bytes;
        fs::path path;
    };
    std::vector<File> files;
    uint64_t total = 0;
    std::error_code error;
    for (auto entry = fs::directory_iterator(folder_, error);
         !error && entry != fs::directory_iterator(); entry.increment(error)) {
        std::error_code gone;  // another process may be at the same
        const File file{entry->last_write_time(gone), entry->file_size(gone), entry->path()};
        if (gone) continue;
        files.push_back(file);
        total += file.bytes;
    }
    std::sort(files.begin(), files.end(),
              [](const File& a, const File& b) { return a.used < b.used; });
    for (const auto& file : files) {
        if (total <= max_bytes_) return;
        if (fs::remove(file.path, error)) total -= file.bytes;
    }
}

}  // namespace softmetal::msl

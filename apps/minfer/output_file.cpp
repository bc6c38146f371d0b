#include "output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace minfer {

Result<> write_file(const std::string& path, std::string_view content) {
    struct stat existing = {};
    const bool special =  // a device or pipe cannot be renamed over: write into it
        ::stat(path.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode);
    if (special && S_ISDIR(existing.st_mode)) return fail(Fault::Io, "{}: is a folder", path);
    // A link goes on pointing at the file that is replaced.
    std::error_code unresolved;
    const auto target = std::filesystem::canonical(path, unresolved);
    const auto place = unresolved ? path : target.string();
    auto name = special ? place : place + ".XXXXXX";
    const int file = special ? ::open(name.c_str(), O_WRONLY) : ::mkstemp(name.data());
    if (file < 0) return fail(Fault::Io, "{}: cannot be written: {}", path, std::strerror(errno));
    const auto give_up = [&]() -> Result<> {
        const auto reason = std::strerror(errno);
        ::close(file);
        if (!special) ::unlink(name.c_str());
        return fail(Fault::Io, "{}: cannot be written: {}", path, reason);
    };
    for (auto rest = content; !rest.empty();) {
        const auto written = ::write(file, rest.data(), rest.size());
        if (written < 0 && errno != EINTR) return give_up();
        if (written > 0) rest.remove_prefix(static_cast<size_t>(written));
    }
    if (special) {
        ::close(file);
        return {};
    }
    // mkstemp makes the file private; give it the rights a plain new file would have.
    const auto mask = ::umask(0);
    ::umask(mask);
    if (::fchmod(file, 0666 & ~mask) != 0 || ::fsync(file) != 0 ||
        ::rename(name.c_str(), place.c_str()) != 0)
        return give_up();
    ::close(file);
    return {};
}

}  // namespace minfer

#include "output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/atomic_file.h"

namespace minfer {
namespace {

// A device or pipe cannot be renamed over.
Result<> write_into(const std::string& path, std::string_view content) {
    const auto file = Descriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.number() < 0)
        return fail(Fault::Io, "{}: cannot be written: {}", path, std::strerror(errno));
    while (!content.empty()) {
        const auto written = ::write(file.number(), content.data(), content.size());
        if (written < 0 && errno != EINTR)
            return fail(Fault::Io, "{}: cannot be written: {}", path, std::strerror(errno));
        if (written > 0) content.remove_prefix(static_cast<size_t>(written));
    }
    return {};
}

}  // namespace

Result<> write_file(const std::string& path, std::string_view content) {
    struct stat existing = {};
    const bool exists = ::stat(path.c_str(), &existing) == 0;
    if (exists && !S_ISREG(existing.st_mode) && !S_ISDIR(existing.st_mode))
        return write_into(path, content);
    auto file = MINFER_TRY(AtomicFile::create(path, {.mode = new_file_mode(), .before_step = {}}));
    MINFER_TRY(file.write(std::as_bytes(std::span(content))));
    return file.commit();
}

}  // namespace minfer

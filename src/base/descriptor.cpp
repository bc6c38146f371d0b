#include "base/descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace minfer {

Descriptor::~Descriptor() {
    if (number_ >= 0) ::close(number_);
}

Result<RegularFile> open_regular_file(const std::filesystem::path& path) {
    // Without O_NONBLOCK a named pipe would be waited for; regular files ignore it.
    auto file = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.number() < 0)
        return fail(errno == ENOENT ? Fault::NotFound : Fault::Io, "{}: {}", path.string(),
                    std::strerror(errno));
    struct stat status{};
    if (::fstat(file.number(), &status) != 0)
        return fail(Fault::Io, "{}: {}", path.string(), std::strerror(errno));
    if (!S_ISREG(status.st_mode))
        return fail(Fault::Io, "{}: is {}, expected a regular file", path.string(),
                    S_ISDIR(status.st_mode) ? "a directory" : "a special file");
    return RegularFile{.descriptor = std::move(file),
                       .size = static_cast<uint64_t>(status.st_size)};
}

Result<> read_at(const Descriptor& file, uint64_t offset, std::span<std::byte> to) {
    while (!to.empty()) {
        const auto got = ::pread(file.number(), to.data(), to.size(), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return fail(Fault::Io, "cannot be read at byte {}: {}", offset, std::strerror(errno));
        if (got == 0)
            return fail(Fault::Io, "has become shorter: {} bytes at byte {} are gone", to.size(),
                        offset);
        offset += static_cast<uint64_t>(got);
        to = to.subspan(static_cast<size_t>(got));
    }
    return {};
}

}  // namespace minfer

#include "base/mapped_file.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/descriptor.h"

namespace minfer {
namespace {

size_t round_up(size_t value, size_t step) { return (value + step - 1) / step * step; }

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
    const auto file = MINFER_TRY(open_regular_file(path));
    const auto size = static_cast<size_t>(file.size);
    const auto reserved = round_up(size, kMetalPage);
    if (size == 0) return MappedFile(nullptr, 0, 0);

    // Anonymous memory first, with room to align; the file then replaces its head.
    const auto span = reserved + kMetalPage;
    void* raw = ::mmap(nullptr, span, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED)
        return fail(Fault::OutOfMemory, "{}: cannot reserve {} bytes of address space: {}",
                    path.string(), span, std::strerror(errno));
    auto* const first = static_cast<std::byte*>(raw);
    auto* const base = first + (round_up(reinterpret_cast<uintptr_t>(first), kMetalPage) -
                                reinterpret_cast<uintptr_t>(first));
    if (base != first) ::munmap(first, static_cast<size_t>(base - first));
    auto* const tail = base + reserved;
    auto* const end = first + span;
    if (tail != end) ::munmap(tail, static_cast<size_t>(end - tail));

    if (::mmap(base, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, file.descriptor.number(), 0) ==
        MAP_FAILED) {
        const auto error =
            fail(Fault::Io, "{}: cannot map: {}", path.string(), std::strerror(errno));
        ::munmap(base, reserved);
        return error;
    }
    return MappedFile(base, size, reserved);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      reserved_(std::exchange(other.reserved_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(size_, other.size_);
    std::swap(reserved_, other.reserved_);
    return *this;
}

MappedFile::~MappedFile() {
    if (base_) ::munmap(const_cast<std::byte*>(base_), reserved_);
}

}  // namespace minfer

#pragma once
// Session files as bytes in memory, to be damaged.

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <span>
#include <vector>

#include "base/descriptor.h"
#include "base/xxh3.h"
#include "runtime/session_file.h"
#include "support/temp_dir.h"

namespace minfer::test {

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of_file(const std::filesystem::path& path) {
    const auto file = open_regular_file(path);
    MINFER_ASSERT(file);
    Bytes bytes(file->size);
    MINFER_ASSERT(read_at(file->descriptor, 0, bytes));
    return bytes;
}

// The same file with other bytes. Not emptied first: file systems take that for a replacement which
// has to reach the disk, and tests write very many.
inline void put(const std::filesystem::path& path, std::span<const std::byte> bytes) {
    const auto file = Descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const auto size = static_cast<ssize_t>(bytes.size());
    MINFER_ASSERT(::pwrite(file.number(), bytes.data(), bytes.size(), 0) == size);
    MINFER_ASSERT(::ftruncate(file.number(), size) == 0);
}

// Makes the checksum that of the bytes before it.
inline void resum(std::span<std::byte> bytes) {
    const auto before = bytes.first(bytes.size() - sizeof(uint64_t));
    Xxh3 hash;
    hash.add(before);
    const auto sum = hash.sum();
    std::memcpy(bytes.data() + before.size(), &sum, sizeof sum);
}

template <class T>
void patch(std::span<std::byte> bytes, size_t offset, T value) {
    MINFER_ASSERT(offset <= bytes.size() && sizeof value <= bytes.size() - offset);
    std::memcpy(bytes.data() + offset, &value, sizeof value);
}
template <class T>
T field(std::span<const std::byte> bytes, size_t offset) {
    MINFER_ASSERT(offset <= bytes.size() && sizeof(T) <= bytes.size() - offset);
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

// What is said about a file of these bytes; "" for one that is accepted.
class SessionProbe {
  public:
    explicit SessionProbe(const SessionShape& run) : run_(run) {}

    std::string operator()(std::span<const std::byte> bytes) const {
        put(path(), bytes);
        const auto session = SavedSession::open(path(), run_);
        if (session) return {};
        const auto prefix = path().string() + ": ";
        MINFER_ASSERT(session.error().what.starts_with(prefix));
        return session.error().what.substr(prefix.size());
    }
    std::filesystem::path path() const { return dir_.path() / "probe"; }

  private:
    TempDir dir_;
    SessionShape run_;
};

}  // namespace minfer::test

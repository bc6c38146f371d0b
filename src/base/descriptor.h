#pragma once
// File descriptors that close themselves, and regular files read by position.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>

#include "base/result.h"

namespace minfer {

class Descriptor {
  public:
    explicit Descriptor(int number = -1) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor();

    int number() const { return number_; }  // -1 for none

  private:
    int number_;
};

struct RegularFile {
    Descriptor descriptor;
    uint64_t size = 0;  // when it was opened
};

// For reading. NotFound when there is no such file, Io when it cannot be read or is not a regular
// file; a named pipe is not waited for.
Result<RegularFile> open_regular_file(const std::filesystem::path& path);

// Fills `to` with the bytes from `offset` on. Io when they cannot be read, or are not there.
Result<> read_at(const Descriptor& file, uint64_t offset, std::span<std::byte> to);

}  // namespace minfer

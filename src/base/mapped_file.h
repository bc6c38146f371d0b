#pragma once
// A file mapped read-only, at a base and with a readable tail that let a Metal device wrap it
// without a copy: the base is aligned to Apple's 16 KiB pages and the bytes between the end of the
// file and the next 16 KiB boundary are readable zeros.
//
// A file that another program shrinks while it is mapped faults on access (SIGBUS); that is the one
// hostile case not turned into an error.

#include <cstddef>
#include <filesystem>
#include <span>

#include "base/result.h"

namespace minfer {

constexpr size_t kMetalPage = 16384;  // Apple's page size: newBufferWithBytesNoCopy wants it

class MappedFile {
  public:
    // NotFound when there is no such file, Io when it cannot be read or is not a regular file.
    static Result<MappedFile> open(const std::filesystem::path& path);

    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    ~MappedFile();

    // The file's bytes, valid while this object lives.
    std::span<const std::byte> bytes() const { return {base_, size_}; }
    // The same rounded up to kMetalPage; the tail past bytes() is zeros.
    std::span<const std::byte> pages() const { return {base_, reserved_}; }

  private:
    MappedFile(const std::byte* base, size_t size, size_t reserved)
        : base_(base), size_(size), reserved_(reserved) {}

    const std::byte* base_ = nullptr;
    size_t size_ = 0;
    size_t reserved_ = 0;
};

}  // namespace minfer

#pragma once
// GGUF v2 and v3 files, trusting nothing: every count, length, product and offset is checked
// against the bytes present before it is used, and no allocation is sized by an unchecked number.
// Tensor data is never copied; it lies in the mapping.
//
// Names are in the file's order of dimensions: shape[0] is the row, the fastest.

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "gguf/metadata.h"
#include "tensor/dtype.h"

namespace minfer::gguf {

struct TensorInfo {
    std::string_view name;
    DType dtype = DType::F32;
    std::array<uint64_t, 4> shape = {1, 1, 1, 1};  // unused dimensions are 1
    uint32_t n_dims = 1;
    std::span<const std::byte> data;  // exactly rows() rows of row_bytes(dtype, shape[0])
    size_t part = 0;                  // which of File::parts() holds it

    uint64_t rows() const { return shape[1] * shape[2] * shape[3]; }
    uint64_t values() const { return shape[0] * rows(); }
};

// "[896, 151936]"
std::string shape_text(const TensorInfo& tensor);

// Everything handed out is valid while this File lives; moving it keeps the views valid.
class File {
  public:
    // A single file, or the first part `STEM-00001-of-0000N.gguf` of a split, whose other parts
    // are opened from the same folder. Errors begin with the path of the file they are about.
    static Result<File> open(const std::filesystem::path& path);
    // One file already in memory, borrowed. Its base should be aligned like a mapping for kernels
    // that load whole words.
    static Result<File> parse(std::span<const std::byte> bytes);

    const Metadata& metadata() const { return metadata_; }            // of the first part
    std::span<const TensorInfo> tensors() const { return tensors_; }  // file order, part by part
    const TensorInfo* find(std::string_view name) const;              // nullptr when absent
    std::span<const MappedFile> parts() const { return parts_; }      // empty after parse()
    uint32_t version() const { return version_; }
    uint32_t alignment() const { return alignment_; }  // of the first part

  private:
    File() = default;
    // Takes the tensors of part number `part`; gives back its keys.
    Result<Metadata> add_part(std::span<const std::byte> bytes, size_t part);

    std::vector<MappedFile> parts_;
    Metadata metadata_;
    std::vector<TensorInfo> tensors_;
    std::map<std::string_view, size_t> index_;
    uint32_t version_ = 0;
    uint32_t alignment_ = 0;
};

}  // namespace minfer::gguf

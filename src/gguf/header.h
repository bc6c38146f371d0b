#pragma once
// One file's bytes, read and checked: what lies before the tensors' data, and where each tensor's
// data lies.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "gguf/metadata.h"
#include "gguf/reader.h"

namespace minfer::gguf {

constexpr uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr uint32_t kVersion = 3;         // 2 has the same layout
constexpr uint32_t kDefaultAlignment = 32;
constexpr size_t kMaxNameBytes = 63;  // ggml keeps tensor names in char[64]

struct Header {
    uint32_t version = 0;
    uint32_t alignment = 0;
    Metadata metadata;
    std::vector<TensorInfo> tensors;  // names not yet checked for being unique
};

// Views in the result borrow from `bytes`.
Result<Header> read_header(std::span<const std::byte> bytes);

// The rules of `general.alignment`; absent means the default.
Result<uint32_t> check_alignment(const Value* value);

}  // namespace minfer::gguf

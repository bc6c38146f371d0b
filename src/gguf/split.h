#pragma once
// The naming of files that hold one model in parts: STEM-00001-of-00003.gguf.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace minfer::gguf {

constexpr uint32_t kMaxParts = 99999;  // five digits

struct PartName {
    std::string stem;
    uint32_t number = 1;  // from 1, as in the name; `split.no` counts from 0
    uint32_t count = 1;
};

// Nothing when `file_name` (no folder) does not follow the pattern. The numbers are as written:
// number may be 0 or above count.
std::optional<PartName> parse_part_name(std::string_view file_name);

std::string part_file_name(std::string_view stem, uint32_t number, uint32_t count);

}  // namespace minfer::gguf

#pragma once
// Reference values that lie beside the scripts that made them, in tests/golden.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "base/result.h"

namespace minfer {

inline std::filesystem::path golden_path(std::string_view name) {
    return std::filesystem::path(MINFER_GOLDEN_DIR) / name;
}

inline std::string read_golden(std::string_view name) {
    auto file = std::ifstream(golden_path(name), std::ios::binary);
    MINFER_ASSERT(file.good());
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace minfer

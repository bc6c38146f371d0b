#pragma once
// A fresh folder per test, gone with the object.

#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/result.h"

namespace minfer {

class TempDir {
  public:
    TempDir() {
        auto name = (std::filesystem::temp_directory_path() / "minfer-XXXXXX").string();
        MINFER_ASSERT(::mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    ~TempDir() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;

    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace minfer

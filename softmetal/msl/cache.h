// Compiled units kept between runs, so that a program that compiles the same source at every start
// waits for clang once. One file per unit; damaged files count as missing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "softmetal/msl/compiler.h"

namespace softmetal::msl {

class Cache {
  public:
    static constexpr uint64_t kDefaultBytes = uint64_t{512} << 20;

    explicit Cache(std::filesystem::path folder, uint64_t max_bytes = kDefaultBytes)
        : folder_(std::move(folder)), max_bytes_(max_bytes) {}

    // $XDG_CACHE_HOME/softmetal, or ~/.cache/softmetal. Nothing when there is neither, or when
    // SOFTMETAL_CACHE is "off".
    static std::optional<Cache> of_user();

    std::optional<CompiledUnit> find(const std::string& key) const;

    // Never fails: a cache that cannot be written is no reason not to run. Drops the units that
    // were used longest ago once all together are larger than allowed.
    void store(const std::string& key, const CompiledUnit& unit) const;

  private:
    void shrink() const;

    std::filesystem::path folder_;
    uint64_t max_bytes_;
};

}  // namespace softmetal::msl

// A kernel module in memory: the shared object of one MSL translation unit, loaded with one set of
// function constant values. Every load is its own copy, so two specialisations do not share
// globals.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "softmetal/base/result.h"
#include "softmetal/exec/abi.h"

namespace softmetal::exec {

struct ConstantValue {
    std::string name;  // empty: set by index
    uint32_t index = 0;
    uint32_t type = 0;  // MTLDataType number
    std::string bytes;  // the value
};

class Module {
  public:
    // Loads the ELF bytes. Fails on a wrong ABI version or a constant whose type differs from the
    // module's declaration.
    static Result<std::shared_ptr<const Module>> load(std::string_view object,
                                                      const std::vector<ConstantValue>& constants);
    ~Module();

    const sm_module& table() const;
    const sm_kernel* find(std::string_view kernel) const;  // null when there is none

    // What only running the entry's query can tell.
    struct Limits {
        uint32_t max_total_threads = 0;  // 0: not restricted by the kernel
        uint64_t static_threadgroup_bytes = 0;
    };
    Limits limits(const sm_kernel& kernel) const;

    // The function constants that a kernel depends on; of checked modules only.
    struct ConstantUse {
        std::string_view name;
        bool is_read = false;    // its value
        bool is_tested = false;  // whether it has one
    };
    bool knows_constant_uses() const;
    std::vector<ConstantUse> constant_uses(const sm_kernel& kernel) const;

    std::string file_name(uint32_t hash) const;  // "" when unknown

    // What the module occupies in memory. Nothing of it may be written by a kernel.
    struct Segment {
        const char* begin = nullptr;
        uint64_t bytes = 0;
        bool is_code = false;
    };
    std::span<const Segment> segments() const;

  private:
    struct Loaded;
    static Limits ask_limits(const sm_module& table, const sm_kernel& kernel);
    explicit Module(std::unique_ptr<Loaded> loaded);
    std::unique_ptr<Loaded> loaded_;
};

}  // namespace softmetal::exec

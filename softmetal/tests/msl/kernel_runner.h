// Compiles MSL text and runs its kernels on the executor: for tests of the compiler, which must not
// depend on the Metal API above it.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "softmetal/exec/grid.h"
#include "softmetal/exec/module.h"
#include "softmetal/msl/compiler.h"

namespace softmetal::msl::test {

// The compiler's log when the source is refused, "" when it compiles.
inline std::string refusal(std::string_view source, const CompileOptions& options = {}) {
    const auto unit = compile(source, "program_source", "", options);
    return unit ? "" : unit.error();
}

class Program {
  public:
    explicit Program(std::string_view source, CompileOptions options = {.cache = false})
        : Program(source, "program_source", "", options) {}

    Program(std::string_view source, const std::string& name, const std::filesystem::path& folder,
            CompileOptions options) {
        auto unit = compile(source, name, folder, options);
        if (!unit) {
            ADD_FAILURE() << unit.error();
            return;
        }
        unit_ = std::move(*unit);
        load({});
    }

    const CompiledUnit& unit() const { return unit_; }
    const sm_module& table() const { return module_->table(); }
    const exec::Module& module() const { return *module_; }
    explicit operator bool() const { return module_ != nullptr; }

    // Specialises the program anew.
    void load(const std::vector<exec::ConstantValue>& constants) {
        auto module = exec::Module::load(unit_.plain, constants);
        if (!module) {
            ADD_FAILURE() << module.error();
            return;
        }
        module_ = *module;
    }

    // Runs threads x 1 x 1 in groups of `group`; buffers by index.
    void run(const std::string& kernel, uint32_t threads, uint32_t group,
             const std::vector<void*>& buffers,
             const std::vector<uint32_t>& threadgroup_bytes = {}) {
        if (!module_) return;
        exec::Launch launch;
        launch.module = module_;
        launch.kernel = module_->find(kernel);
        if (launch.kernel == nullptr) {
            ADD_FAILURE() << "no kernel '" << kernel << "'";
            return;
        }
        launch.threads = {threads, 1, 1};
        launch.threads_per_threadgroup = {group, 1, 1};
        for (size_t i = 0; i < buffers.size(); ++i) launch.buffers[i] = buffers[i];
        for (size_t i = 0; i < threadgroup_bytes.size(); ++i)
            launch.threadgroup_bytes[i] = threadgroup_bytes[i];
        static exec::Executor executor(1);
        const auto done = executor.run(launch);
        if (!done) ADD_FAILURE() << done.error();
    }

  private:
    CompiledUnit unit_;
    std::shared_ptr<const exec::Module> module_;
};

template <class T>
exec::ConstantValue constant(uint32_t index, uint32_t type, T value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return {.name = "", .index = index, .type = type, .bytes = std::move(bytes)};
}

}  // namespace softmetal::msl::test

// Compiles MSL text and runs its kernels on the executor: for tests of the compiler, which must not
// depend on the Metal API above it.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "softmetal/exec/grid.h"
#include "softmetal/exec/module.h"
#include "softmetal/msl/compiler.h"

namespace softmetal::msl::test {

// The compiler's log when the source is refused, "" when it compiles.
inline std::string refusal(std::string_view source) {
    const auto unit = compile(source, "program_source", "", {.checked = false, .cache = false});
    return unit ? "" : unit.error();
}

// What a kernel gets for one [[buffer(n)]].
struct Bytes {
    void* data = nullptr;
    size_t size = 0;
};
template <class T>
Bytes bytes_of(std::vector<T>& all) {
    return {all.data(), all.size() * sizeof(T)};
}
template <class T>
Bytes bytes_of(T& one) {
    return {const_cast<std::remove_const_t<T>*>(&one), sizeof one};
}

template <class T>
exec::ConstantValue constant(uint32_t index, uint32_t type, T value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return {.name = "", .index = index, .type = type, .bytes = std::move(bytes)};
}
inline exec::ConstantValue flag(uint32_t index, bool value) { return constant(index, 53, value); }

class Program {
  public:
    explicit Program(std::string_view source,
                     CompileOptions options = {.checked = false, .cache = false})
        : Program(source, "program_source", "", options) {}

    Program(std::string_view source, const std::string& name, const std::filesystem::path& folder,
            const CompileOptions& options) {
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
    std::shared_ptr<const exec::Module> shared() const { return module_; }
    explicit operator bool() const { return module_ != nullptr; }

    // Specialises the program anew, the checked module where there is one.
    void load(const std::vector<exec::ConstantValue>& constants) {
        const bool checked = !unit_.checked.empty();
        auto module = exec::Module::load(checked ? unit_.checked : unit_.plain, constants);
        if (!module) {
            ADD_FAILURE() << module.error();
            return;
        }
        module_ = *module;
        EXPECT_EQ(module_->table().is_checked != 0, checked);
    }

    Result<exec::Counters> dispatch(const std::string& kernel, exec::Size3 threads,
                                    exec::Size3 group, const std::vector<Bytes>& buffers,
                                    const std::vector<uint32_t>& threadgroup_bytes = {}) {
        if (!module_) return fail("the program did not compile");
        exec::Launch launch;
        launch.module = module_;
        launch.kernel = module_->find(kernel);
        if (launch.kernel == nullptr) return fail("no kernel '" + kernel + "'");
        launch.threads = threads;
        launch.threads_per_threadgroup = group;
        std::vector<exec::MemoryRange> memory;
        for (size_t i = 0; i < buffers.size(); ++i) {
            launch.buffers[i] = buffers[i].data;
            if (buffers[i].size > 0)
                memory.push_back({.begin = buffers[i].data, .bytes = buffers[i].size});
        }
        for (size_t i = 0; i < threadgroup_bytes.size(); ++i)
            launch.threadgroup_bytes[i] = threadgroup_bytes[i];
        launch.memory = memory;
        if (module_->table().is_checked) launch.checks = exec::Checks::Bounds;
        static exec::Executor executor(1);
        return executor.run(launch);
    }

    void run(const std::string& kernel, exec::Size3 threads, exec::Size3 group,
             const std::vector<Bytes>& buffers,
             const std::vector<uint32_t>& threadgroup_bytes = {}) {
        const auto done = dispatch(kernel, threads, group, buffers, threadgroup_bytes);
        if (!done) ADD_FAILURE() << kernel << ": " << done.error();
    }

    // The same in one dimension, buffers by their addresses: without checks only.
    void run(const std::string& kernel, uint32_t threads, uint32_t group,
             const std::vector<void*>& buffers,
             const std::vector<uint32_t>& threadgroup_bytes = {}) {
        std::vector<Bytes> all;
        for (void* data : buffers) all.push_back({data, 0});
        run(kernel, exec::Size3{threads}, exec::Size3{group}, all, threadgroup_bytes);
    }

  private:
    CompiledUnit unit_;
    std::shared_ptr<const exec::Module> module_;
};

}  // namespace softmetal::msl::test

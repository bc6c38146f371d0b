// Loads the test modules and runs their kernels with little ceremony.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "softmetal/exec/grid.h"

namespace softmetal::exec {

inline std::string module_bytes(const std::string& name) {
    auto file =
        std::ifstream(std::string(SOFTMETAL_TEST_MODULES) + "/" + name + ".so", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// "NAME.cpp:LINE:" of the line of a module's source that ends in the comment `mark`.
inline std::string place(const std::string& name, const std::string& mark) {
    auto file = std::ifstream(std::string(SOFTMETAL_TEST_SOURCES) + "/" + name + ".cpp");
    std::string line;
    for (int number = 1; std::getline(file, line); ++number) {
        if (line.ends_with("// " + mark)) return name + ".cpp:" + std::to_string(number) + ":";
    }
    ADD_FAILURE() << "no line of " << name << ".cpp ends in // " << mark;
    return "";
}

inline std::shared_ptr<const Module> load_module(const std::string& name,
                                                 const std::vector<ConstantValue>& constants = {}) {
    auto module = Module::load(module_bytes(name), constants);
    if (!module) {
        ADD_FAILURE() << module.error();
        return nullptr;
    }
    return *module;
}

// A launch of threads in one dimension.
inline Launch launch_of(const std::shared_ptr<const Module>& module, const char* kernel,
                        uint32_t threads, uint32_t per_group, std::vector<void*> buffers = {}) {
    auto launch = Launch{.module = module,
                         .kernel = module->find(kernel),
                         .threads = {.x = threads},
                         .threads_per_threadgroup = {.x = per_group}};
    std::ranges::copy(buffers, launch.buffers.begin());
    return launch;
}

inline Result<Counters> run(const Launch& launch, int workers = 1) {
    auto executor = Executor(workers);
    return executor.run(launch);
}

// "" when the run went well.
inline std::string error_of(const Launch& launch, int workers = 1) {
    const auto result = run(launch, workers);
    return result ? "" : result.error();
}

}  // namespace softmetal::exec

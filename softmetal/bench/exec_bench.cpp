// What the executor costs: barriers, SIMD functions, threads, launches, checks. Prints one line for
// each; the best of several rounds, because other programs only ever make it slower. An argument
// picks one part: barriers, simd, threads, launches, checks, matrices.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "softmetal/exec/grid.h"
#include "softmetal/msl/compiler.h"

namespace {

using namespace softmetal::exec;
using Clock = std::chrono::steady_clock;

std::shared_ptr<const Module> load(const std::string& name) {
    auto file = std::ifstream(std::string(SOFTMETAL_BENCH_MODULES) + "/" + name, std::ios::binary);
    auto module = Module::load(std::string(std::istreambuf_iterator<char>(file), {}), {});
    if (module) return *module;
    fmt::print(stderr, "{}: {}\n", name, module.error());
    std::exit(1);
}

double nanoseconds(Executor& executor, const Launch& launch, int rounds = 20, int runs = 1) {
    double best = 1e300;
    for (int round = 0; round < rounds; ++round) {
        const auto start = Clock::now();
        for (int i = 0; i < runs; ++i) {
            const auto result = executor.run(launch);
            if (result) continue;
            fmt::print(stderr, "{}\n", result.error());
            std::exit(1);
        }
        const auto elapsed = std::chrono::duration<double, std::nano>(Clock::now() - start);
        best = std::min(best, elapsed.count() / runs);
    }
    return best;
}

class Bench {
  public:
    void barriers() { per_call("barriers"); }
    void simd() { per_call("simd_sums"); }

    void threads() {
        constexpr uint32_t kThreads = 1 << 18;
        for (const uint32_t per_group : {1, 32, 256, 1024}) {
            const double all = nanoseconds(one_, launch_of(plain_, "nothing", kThreads, per_group));
            fmt::print("an empty thread, {:4} a threadgroup: {:.2f} ns\n", per_group,
                       all / kThreads);
        }
    }

    void launches() {
        n_ = 1;
        const auto microseconds = [this](Executor& executor, const char* kernel, uint32_t threads,
                                         uint32_t per_group) {
            return nanoseconds(executor, launch_of(plain_, kernel, threads, per_group), 100, 50) /
                   1000;
        };
        auto all = Executor(static_cast<int>(std::thread::hardware_concurrency()));
        for (auto* executor : {&one_, &all}) {
            fmt::print(
                "launch of 1 thread: {:.2f} us; of 256 with a barrier: {:.2f} us; of 8 "
                "threadgroups of 32 with a barrier: {:.2f} us ({})\n",
                microseconds(*executor, "nothing", 1, 1),
                microseconds(*executor, "barriers", 256, 256),
                microseconds(*executor, "barriers", 256, 32),
                executor == &one_ ? "one worker" : "all cores");
        }
    }

    void checks() {
        auto a = std::vector<float>(1 << 18), b = a, c = a;
        const MemoryRange ranges[] = {{.begin = a.data(), .bytes = a.size() * 4},
                                      {.begin = b.data(), .bytes = b.size() * 4},
                                      {.begin = c.data(), .bytes = c.size() * 4}};
        for (const std::string kernel : {"add", "multiply"}) {
            const uint32_t threads = kernel == "add" ? 1 << 18 : 1 << 12;
            const auto with = [&](const auto& module, Checks checks, bool counts) {
                auto launch = launch_of(module, kernel.c_str(), threads, 256);
                launch.buffers = {a.data(), b.data(), c.data()};
                launch.memory = ranges;
                launch.checks = checks;
                launch.count_memory = counts;
                return nanoseconds(one_, launch, 10) / threads;
            };
            fmt::print(
                "{}: {:.2f} ns a thread; checked module {:.2f} with checks off, {:.2f} with "
                "checks, {:.2f} counting bytes\n",
                kernel, with(plain_, Checks::Off, false), with(checked_, Checks::Off, false),
                with(checked_, Checks::All, false), with(checked_, Checks::All, true));
        }
    }

    void matrices() {
        const std::string folder = SOFTMETAL_BENCH_SOURCES;
        auto file = std::ifstream(folder + "/matrix.metal");
        const auto unit =
            softmetal::msl::compile(std::string(std::istreambuf_iterator<char>(file), {}),
                                    "matrix.metal", folder, {.checked = false});
        if (!unit) return fmt::print(stderr, "{}\n", unit.error());
        const auto module = Module::load(unit->plain, {});
        if (!module) return fmt::print(stderr, "{}\n", module.error());
        constexpr uint32_t kSize = 64, kDepth = 256;  // one threadgroup
        uint32_t size[] = {kSize, kSize, kDepth, 0};
        auto a = std::vector<float>(kSize * kDepth), b = a, c = a;
        for (const char* kernel : {"multiply_float", "multiply_half"}) {
            auto launch = launch_of(*module, kernel, kSize / 64 * 128, 128);
            launch.threads.y = kSize / 64;
            launch.buffers = {a.data(), b.data(), c.data(), size};
            const double time = nanoseconds(one_, launch, 200);
            fmt::print("{}, {} x {} x {}: {:.2f} GFLOP/s on one core\n", kernel, kSize, kSize,
                       kDepth, 2.0 * kSize * kSize * kDepth / time);
        }
    }

  private:
    Launch launch_of(const std::shared_ptr<const Module>& module, const char* kernel,
                     uint32_t threads, uint32_t per_group) {
        auto launch = Launch{.module = module,
                             .kernel = module->find(kernel),
                             .threads = {.x = threads},
                             .threads_per_threadgroup = {.x = per_group}};
        launch.buffers[0] = &n_;
        return launch;
    }

    // A kernel that makes n_ calls of one kind.
    void per_call(const char* kernel) {
        for (const uint32_t threads : {32, 64, 128, 256, 512, 1024}) {
            n_ = 0;
            const double none = nanoseconds(one_, launch_of(plain_, kernel, threads, threads));
            n_ = 100'000 / threads;  // a round shorter than a time slice
            const double all = nanoseconds(one_, launch_of(plain_, kernel, threads, threads), 50);
            fmt::print("{}, {:4} threads: {:.2f} ns a call and thread\n", kernel, threads,
                       (all - none) / n_ / threads);
        }
    }

    std::shared_ptr<const Module> plain_ = load("exec_kernels.so");
    std::shared_ptr<const Module> checked_ = load("exec_kernels_checked.so");
    Executor one_ = Executor(1);
    uint32_t n_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    const std::string part = argc > 1 ? argv[1] : "";
    auto bench = Bench();
    if (part.empty() || part == "barriers") bench.barriers();
    if (part.empty() || part == "simd") bench.simd();
    if (part.empty() || part == "threads") bench.threads();
    if (part.empty() || part == "launches") bench.launches();
    if (part.empty() || part == "checks") bench.checks();
    if (part.empty() || part == "matrices") bench.matrices();
}

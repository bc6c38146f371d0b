#include "bench/timing.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <span>
#include <string_view>

#include "base/parse.h"

namespace minfer::bench {
namespace {

struct Timed {
    std::string name;
    Case work;
    std::vector<double> seconds{};
    double processor_seconds = 0, total = 0;
};

Result<> step(Timed& timed, bool counts) {
    const auto processor = std::clock();
    const auto start = std::chrono::steady_clock::now();
    auto done = timed.work.step();
    const auto taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - start);
    const auto busy = static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC;
    if (done && timed.work.settle) done = timed.work.settle();
    if (!done) return at(timed.name, done.error());
    if (!counts) return {};
    timed.seconds.push_back(taken.count());
    timed.total += taken.count();
    timed.processor_seconds += busy;
    return {};
}

void print(Timed& timed) {
    std::ranges::sort(timed.seconds);
    const auto steps = timed.seconds.size();
    const auto median = timed.seconds[steps / 2];
    std::printf("%-44s %11.1f us %11.1f us %11.1f us", timed.name.c_str(), 1e6 * median,
                1e6 * timed.seconds.front(),
                1e6 * timed.processor_seconds / static_cast<double>(steps));
    for (const auto& [unit, amount] : timed.work.rates)
        std::printf(" %9.3f %s", amount / median, unit);
    std::printf("%s%s\n", timed.work.note.empty() ? "" : "  ", timed.work.note.c_str());
    std::fflush(stdout);
}

Result<Bench::Options> parse(std::span<char*> arguments) {
    auto options = Bench::Options();
    for (size_t i = 1; i < arguments.size(); ++i) {
        const auto name = std::string_view(arguments[i]);
        if (name == "--smoke") {
            options.smoke = true;
            continue;
        }
        if (name != "--filter" && name != "--seconds")
            return fail(Fault::BadInput, "unknown argument '{}'", name);
        if (++i == arguments.size()) return fail(Fault::BadInput, "{} wants a value", name);
        const auto value = std::string_view(arguments[i]);
        if (name == "--filter") {
            options.filter = value;
            continue;
        }
        const auto seconds = parse_number<double>(value);
        if (!seconds || !(*seconds > 0 && *seconds <= 3600))
            return fail(Fault::BadInput, "--seconds is '{}'; allowed: above 0, up to 3600", value);
        options.seconds = *seconds;
    }
    return options;
}

}  // namespace

Result<> Bench::compare(const std::vector<Candidate>& group) {
    auto all = std::vector<Timed>();
    for (const auto& [name, make] : group) {
        if (name.find(options_.filter) == std::string::npos) continue;
        auto made = make();
        if (!made) return at(name, made.error());
        all.push_back({.name = name, .work = *std::move(made)});
    }
    if (measured_ == 0 && !all.empty())
        std::printf("%-44s %14s %14s %14s\n", "case", "median", "shortest", "processor");
    measured_ += all.size();
    const size_t least = options_.smoke ? 1 : 5;
    const auto goes_on = [&](const Timed& timed) {
        return timed.seconds.size() < least || (!options_.smoke && timed.total < options_.seconds);
    };
    if (!options_.smoke)
        for (auto& timed : all) MINFER_TRY(step(timed, false));
    while (std::ranges::any_of(all, goes_on))
        for (auto& timed : all) MINFER_TRY(step(timed, true));
    std::ranges::for_each(all, print);
    return {};
}

int run(int argc, char** argv, const std::function<Result<>(Bench&)>& measure) {
    auto options = parse({argv, static_cast<size_t>(argc)});
    if (!options) {
        std::fprintf(stderr, "error: %s\nusage: %s [--filter TEXT] [--seconds S] [--smoke]\n",
                     options.error().what.c_str(), argv[0]);
        return 2;
    }
    auto bench = Bench(*options);
    auto done = measure(bench);
    if (done && bench.measured() == 0)
        done = fail(Fault::NotFound, "no case matches '{}'", options->filter);
    if (done) return 0;
    std::fprintf(stderr, "error: %s\n", done.error().what.c_str());
    return 1;
}

}  // namespace minfer::bench

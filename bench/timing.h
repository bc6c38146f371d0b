#pragma once
// The timed programs' main(): options, and cases that take turns so that a busy machine slows all
// of them alike. Compare medians of one group.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace minfer::bench {

struct Case {
    std::function<Result<>()> step;      // what is timed, in full: it waits for what it starts
    std::function<Result<>()> settle{};  // after each step, and not timed
    // Work of one step in a unit, e.g. {"GB/s", bytes / 1e9}.
    std::vector<std::pair<const char*, double>> rates{};
    std::string note{};  // printed behind the line
};

struct Candidate {
    std::string name;
    std::function<Result<Case>()> make;  // only when the case is wanted
};

class Bench {
  public:
    struct Options {
        std::string filter;  // cases whose name contains it
        double seconds = 1;  // of steps, for each case
        bool smoke = false;  // one step of each case, to see that it runs
    };
    explicit Bench(Options options) : options_(std::move(options)) {}

    // What a program should measure the smallest of.
    bool smoke() const { return options_.smoke; }

    // Makes the cases that are wanted, times them in turns after one step of each that does not
    // count, and prints a line for each: median and shortest time of a step, processor time of all
    // threads for one, and the rates of the median. At least 5 steps, 1 in a smoke run. The first
    // error of a case ends the program.
    Result<> compare(const std::vector<Candidate>& group);

    size_t measured() const { return measured_; }

  private:
    Options options_;
    size_t measured_ = 0;
};

// PROGRAM [--filter TEXT] [--seconds S] [--smoke]: the exit code. A filter that no case matches is
// an error.
int run(int argc, char** argv, const std::function<Result<>(Bench&)>& measure);

}  // namespace minfer::bench

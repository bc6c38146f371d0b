// `mslc --strict`: a second run of clang that refuses what Apple's Metal compiler refuses.
//
// The plain run compiles MSL flat (address spaces stripped, vectors as class templates), so it
// accepts much that Metal does not. This run keeps the user's tokens and lets clang enforce the
// rules, over declarations of Metal's library (library/). Why the dialect is C++ for OpenCL, and
// what it costs, is in README.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "softmetal/base/result.h"
#include "softmetal/msl/process.h"
#include "softmetal/msl/toolchain.h"
#include "softmetal/msl/translate/diagnostic.h"

namespace softmetal::msl::strict {

// What the check does before clang reads the text.
struct Reading {
    std::string prepared;
    std::vector<Diagnostic> broken_rules;
};

// Nothing of a text whose brackets do not match or are nested too deep: the compilation proper
// refuses it, in better words.
std::optional<Reading> read(std::string_view preprocessed);

// A check under way: clang works while the caller compiles.
class Check {
  public:
    // `source` is the main file's text, `name` what diagnostics call it.
    static Result<Check> start(const Toolchain& tools, std::string_view preprocessed,
                               std::string_view source, const std::string& name);

    // The error is the compiler log.
    Result<> finish();

  private:
    struct Run {
        Reading reading;
        TemporaryFolder temporary;
        Process process;
    };
    Check(const Toolchain& tools, std::string_view source, std::string name)
        : tools_(tools), source_(source), name_(std::move(name)) {}

    Toolchain tools_;
    std::string_view source_;
    std::string name_;
    std::optional<Run> run_;  // none when there is nothing to check
};

}  // namespace softmetal::msl::strict

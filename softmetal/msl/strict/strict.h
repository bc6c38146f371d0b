// `mslc --strict`: a second run of clang that refuses what Apple's Metal compiler refuses.
//
// The plain run compiles MSL flat (address spaces stripped, vectors as class templates), so it
// accepts much that Metal does not. This run keeps the user's tokens and lets clang enforce the
// rules, over declarations of Metal's library (library/). Why the dialect is C++ for OpenCL, and
// what it costs, is in README.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "softmetal/base/result.h"
#include "softmetal/msl/process.h"
#include "softmetal/msl/toolchain.h"
#include "softmetal/msl/translate/diagnostic.h"

namespace softmetal::msl::strict {

// A check under way: clang works while the caller compiles.
class Check {
  public:
    // `source` is the main file's text, `name` what diagnostics call it.
    static Result<Check> start(const Toolchain& tools, std::string_view preprocessed,
                               std::string_view source, const std::string& name);

    // The error is the compiler log.
    Result<> finish();

  private:
    Check(const Toolchain& tools, std::string prepared, std::string_view source, std::string name,
          std::vector<Diagnostic> broken_rules, TemporaryFolder temporary, Process process);

    Toolchain tools_;
    std::string prepared_;
    std::string_view source_;
    std::string name_;
    std::vector<Diagnostic> broken_rules_;
    TemporaryFolder temporary_;
    Process process_;
};

}  // namespace softmetal::msl::strict

#pragma once
// The program under test and a folder for its models.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/small_model.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace minfer {

inline std::vector<std::string> command(std::vector<std::string> args) {
    args.insert(args.begin(), MINFER_PROGRAM);
    return args;
}

inline Outcome minfer_says(std::vector<std::string> args, const ProcessOptions& options = {}) {
    return run_process(command(std::move(args)), options);
}

// The error line; empty when there is none.
inline std::string error_line(const Outcome& outcome) {
    const auto at = outcome.err.rfind("error: ", 0) == 0 ? 0 : outcome.err.find("\nerror: ");
    if (at == std::string::npos) return {};
    const auto begin = outcome.err.find("error: ", at);
    return outcome.err.substr(begin, outcome.err.find('\n', begin) - begin);
}

class WithModel : public testing::Test {
  protected:
    void SetUp() override { write_small_model(model); }

    TempDir dir;
    std::string model = (dir.path() / "small.gguf").string();
};

}  // namespace minfer

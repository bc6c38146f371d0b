// Turns what clang and the translator say into a compiler log about the user's source.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "softmetal/msl/translate/diagnostic.h"

namespace softmetal::msl {

class Log {
  public:
    // The main file's text, for the lines quoted; other files are read when needed.
    Log(std::string_view source, std::string name) : source_(source), name_(std::move(name)) {}

    // Columns of `diagnostics` count in `read`, the text that was read when they were found; ""
    // when it was the source itself.
    std::string render(const std::vector<Diagnostic>& diagnostics, std::string_view read) const;
    // The same for clang's own text.
    std::string rewrite(std::string_view clang_output, std::string_view read) const;

  private:
    std::string_view source_;
    std::string name_;
};

}  // namespace softmetal::msl

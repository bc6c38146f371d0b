// Turns what clang and the translator say into a compiler log about the user's source: positions,
// quoted lines and names are those of MSL, and nothing of the translation shows.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "softmetal/msl/translate/diagnostic.h"

namespace softmetal::msl {

class Log {
  public:
    // `source` is the text of the main file; included ones are read when a line of theirs is
    // quoted. Diagnostics in files under `own` are ours, not the user's.
    Log(std::string_view source, std::string name, std::filesystem::path own)
        : source_(source), name_(std::move(name)), own_(std::move(own)) {}

    std::string render(std::vector<Diagnostic> diagnostics) const;
    // The same for clang's own text. `read` is the text that clang read; "" when it was the source.
    std::string rewrite(std::string_view clang_output, std::string_view read) const;

    const std::string& name() const { return name_; }

  private:
    bool is_own(const Diagnostic& diagnostic) const;
    std::vector<Diagnostic> only_the_users(const std::vector<Diagnostic>& all) const;
    std::string line_of(const std::string& file, uint32_t line) const;

    std::string_view source_;
    std::string name_;
    std::filesystem::path own_;
};

// MSL's names for the types a message speaks of: vec<float, 4> is float4, _Float16 half.
std::string in_msl_words(std::string message);

}  // namespace softmetal::msl

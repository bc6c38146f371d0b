#pragma once
// Command-line flags of one command, on top of CLI11. What CLI11 does not do: the multi-letter
// single-dash names people know from llama.cpp (-ngl), values taken exactly as typed, an answer for
// flags this program is going to have but this build has not, and suggestions for unknown ones.

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/parse.h"
#include "base/result.h"
#include "console.h"

namespace minfer {

class Flags {
  public:
    // Receives the text given for a flag, once per occurrence and in order. An error is shown as a
    // usage error beginning with the flag's name.
    using Set = std::function<Result<>(std::string_view text)>;

    // `usage` is the first line of the help: "minfer run MODEL [PROMPT]".
    Flags(std::string usage, std::string_view description);
    ~Flags();

    void group(std::string name);  // heading of what follows
    // `names` as in "-ngl,--gpu-layers,--n-gpu-layers", with at least one letter or --long name.
    void value(std::string_view names, std::string_view metavar, std::string help, Set set);
    void flag(std::string_view names, std::string help, std::function<void()> set);
    // In order. Those left out stay empty.
    void positional(std::string name, std::string help, std::optional<std::string>& target);
    void footer(std::string text);

    // An exit code when there is nothing more to do: help was asked for, or the line was wrong.
    std::optional<int> parse(Console& console, std::span<const std::string> args);
    // Reports a command line that parses and makes no sense.
    int usage_error(Console& console, const Error& error) const;

  private:
    struct Parser;  // keeps CLI11 out of every file that declares a flag
    std::unique_ptr<Parser> parser_;
};

// Setters for the usual kinds of value.
Flags::Set set_text(std::optional<std::string>& target);
Flags::Set append_text(std::vector<std::string>& target);

template <class T>
Result<T> parse_in_range(std::string_view text, T low, T high) {
    const auto value = parse_number<T>(text);
    if (!value || !(*value >= low && *value <= high)) {  // a NaN is in no range
        const auto kind = std::is_integral_v<T> ? "a whole number" : "a number";
        if (high == std::numeric_limits<T>::max())
            return fail(Fault::BadInput, "'{}' is not {} of at least {}", text, kind, low);
        return fail(Fault::BadInput, "'{}' is not {} from {} to {}", text, kind, low, high);
    }
    return *value;
}

template <class T>
Flags::Set set_number(std::optional<T>& target, T low, T high = std::numeric_limits<T>::max()) {
    return [&target, low, high](std::string_view text) -> Result<> {
        target = MINFER_TRY(parse_in_range<T>(text, low, high));
        return {};
    };
}

// The closest of `known` to what was typed, when it is close enough to be meant.
std::optional<std::string> closest(std::string_view typed, std::span<const std::string> known);

}  // namespace minfer

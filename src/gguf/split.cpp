#include "gguf/split.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/parse.h"

namespace minfer::gguf {
namespace {

// Five digits, no sign.
std::optional<uint32_t> five_digits(std::string_view text) {
    if (text.size() != 5 || !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }))
        return std::nullopt;
    return parse_number<uint32_t>(text);
}

}  // namespace

std::optional<PartName> parse_part_name(std::string_view file_name) {
    constexpr std::string_view kTail = "-00001-of-00001.gguf";
    if (file_name.size() < kTail.size()) return std::nullopt;
    const auto tail = file_name.substr(file_name.size() - kTail.size());
    const auto number = five_digits(tail.substr(1, 5));
    const auto count = five_digits(tail.substr(10, 5));
    if (tail.substr(0, 1) != "-" || tail.substr(6, 4) != "-of-" || tail.substr(15) != ".gguf" ||
        !number || !count)
        return std::nullopt;
    return PartName{.stem = std::string(file_name.substr(0, file_name.size() - kTail.size())),
                    .number = *number,
                    .count = *count};
}

std::string part_file_name(std::string_view stem, uint32_t number, uint32_t count) {
    return fmt::format("{}-{:05}-of-{:05}.gguf", stem, number, count);
}

}  // namespace minfer::gguf

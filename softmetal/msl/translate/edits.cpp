#include "softmetal/msl/translate/edits.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>

namespace softmetal::msl {
namespace {

// What of a blanked stretch must stay: its line structure.
std::string line_structure(std::string_view text, bool at_line_start) {
    std::string out;
    while (!text.empty()) {
        const size_t newline = text.find('\n');
        const auto line = text.substr(0, newline);
        const bool is_marker = at_line_start && line.starts_with("# ") && line.size() > 2 &&
                               std::isdigit(static_cast<unsigned char>(line[2]));
        if (is_marker) out += line;
        if (newline == std::string_view::npos) break;
        out += '\n';
        text.remove_prefix(newline + 1);
        at_line_start = true;
    }
    return out;
}

}  // namespace

void Edits::replace(size_t begin, size_t end, std::string text) {
    changes_.push_back({begin, end, std::move(text), false});
}

void Edits::blank(size_t begin, size_t end) { changes_.push_back({begin, end, {}, true}); }

std::string Edits::apply(std::string_view text) const {
    // By position; at one position insertions first, in the order they came, then the largest
    // blank.
    std::vector<size_t> order(changes_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto key = [&](size_t i) {
        const auto& change = changes_[i];
        const int rank = change.begin == change.end ? 0 : change.blanks ? 1 : 2;
        return std::tuple(change.begin, rank, rank == 1 ? SIZE_MAX - change.end : 0, i);
    };
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
    std::string out;
    out.reserve(text.size() + text.size() / 8);
    size_t at = 0;
    for (const size_t i : order) {
        const auto& change = changes_[i];
        if (change.begin < at) continue;  // inside a blank
        out += text.substr(at, change.begin - at);
        at = change.end;
        if (!change.blanks) {
            out += change.text;
            continue;
        }
        const bool at_line_start = change.begin == 0 || text[change.begin - 1] == '\n';
        const auto kept =
            line_structure(text.substr(change.begin, change.end - change.begin), at_line_start);
        out += kept.empty() ? " " : kept;
    }
    out += text.substr(at);
    return out;
}

}  // namespace softmetal::msl

#include "number_list.h"

#include <algorithm>
#include <optional>

#include "base/parse.h"

namespace minfer {
namespace {

constexpr size_t kMaxValues = 1000;

struct Range {
    int64_t first, last, step;
    bool multiply;
};

// One item of the list: a number, lo-hi, lo-hi+step or lo-hi*factor.
std::optional<Range> parse_item(std::string_view item) {
    const auto dash = item.find('-', 1);
    if (dash == std::string_view::npos) {
        const auto value = parse_number<int64_t>(item);
        if (!value) return std::nullopt;
        return Range{*value, *value, 1, false};
    }
    const auto first = parse_number<int64_t>(item.substr(0, dash));
    const auto rest = item.substr(dash + 1);
    const auto mark = rest.find_first_of("+*");
    const auto last = parse_number<int64_t>(rest.substr(0, mark));
    auto step = std::optional<int64_t>(1);
    if (mark != std::string_view::npos) step = parse_number<int64_t>(rest.substr(mark + 1));
    if (!first || !last || !step || *last < *first) return std::nullopt;
    const bool multiply = mark != std::string_view::npos && rest[mark] == '*';
    if (multiply ? *step < 2 || *first < 1 : *step < 1) return std::nullopt;
    return Range{*first, *last, *step, multiply};
}

}  // namespace

Result<std::vector<int64_t>> parse_number_list(std::string_view text, int64_t low, int64_t high) {
    std::vector<int64_t> values;
    for (bool more = true; more;) {
        const auto comma = text.find(',');
        const auto item = text.substr(0, comma);
        more = comma != std::string_view::npos;
        text.remove_prefix(more ? comma + 1 : text.size());
        const auto range = parse_item(item);
        if (!range)
            return fail(Fault::BadInput,
                        "'{}' is not a number or a range lo-hi, lo-hi+step, lo-hi*factor", item);
        if (range->first < low || range->last > high)
            return fail(Fault::BadInput, "'{}': allowed are {} to {}", item, low, high);
        for (auto value = range->first;;) {
            values.push_back(value);
            if (values.size() > kMaxValues)
                return fail(Fault::BadInput, "'{}': more than {} values", item, kMaxValues);
            if (range->multiply ? value > range->last / range->step
                                : value > range->last - range->step)
                break;
            value = range->multiply ? value * range->step : value + range->step;
        }
    }
    return values;
}

}  // namespace minfer

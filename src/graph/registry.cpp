#include "graph/registry.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace minfer {
namespace {

constexpr KnownBackend kKnown[] = {
    {BackendId::Cpu, "cpu", 100},
    {BackendId::Metal, "metal", 300},
    {BackendId::Cuda, "cuda", 200},
};

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r\n";
    const size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string lower_case(std::string_view text) {
    auto lower = std::string(text);
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lower;
}

std::string known_names() {
    auto names = std::vector<std::string_view>();
    for (const auto& known : kKnown) names.push_back(known.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

Result<std::vector<const KnownBackend*>> parse_names(std::span<const std::string> lists) {
    auto found = std::vector<const KnownBackend*>();
    for (const std::string_view list : lists) {
        for (size_t start = 0; start <= list.size();) {
            const size_t comma = std::min(list.find(',', start), list.size());
            const auto name = trimmed(list.substr(start, comma - start));
            const auto* const known =
                std::ranges::find(kKnown, lower_case(name), &KnownBackend::name);
            if (known == std::end(kKnown))
                return fail(Fault::BadInput, "backend '{}' is unknown; there are: {}", name,
                            known_names());
            found.push_back(known);
            start = comma + 1;
        }
    }
    return found;
}

}  // namespace

std::span<const KnownBackend> known_backends() { return kKnown; }

void BackendRegistry::add(BackendEntry entry) {
    MINFER_ASSERT(find(entry.id) == nullptr);
    entries_.push_back(std::move(entry));
}

const BackendEntry* BackendRegistry::find(BackendId id) const {
    const auto found = std::ranges::find(entries_, id, &BackendEntry::id);
    return found == entries_.end() ? nullptr : &*found;
}

Result<BackendChoice> BackendRegistry::choose(std::span<const std::string> named) const {
    const auto names = MINFER_TRY(parse_names(named));
    auto built = std::vector<std::string_view>();
    for (const auto& known : kKnown)
        if (has(known.id)) built.push_back(known.name);
    for (const auto* known : names)
        if (!has(known->id))
            return fail(Fault::Unsupported, "backend '{}' is not part of this build, which has: {}",
                        known->name, fmt::join(built, ", "));

    auto order = std::vector<KnownBackend>(std::begin(kKnown), std::end(kKnown));
    std::ranges::sort(order, {}, [](const KnownBackend& known) {
        return std::pair(known.id == BackendId::Cpu, -known.priority);
    });
    auto choice = BackendChoice();
    for (const auto& known : order) {
        const auto* const entry = find(known.id);
        if (entry == nullptr) continue;
        const bool is_cpu = known.id == BackendId::Cpu;
        const bool is_named = std::ranges::any_of(
            names, [&](const KnownBackend* name) { return name->id == known.id; });
        if (!is_named && !is_cpu && (!names.empty() || entry->software)) continue;
        if (const auto reason = entry->unavailable()) {
            if (is_named || is_cpu)
                return fail(Fault::Device, "backend '{}' does not work here: {}", known.name,
                            *reason);
            choice.skipped.push_back(fmt::format("{}: {}", known.name, *reason));
            continue;
        }
        choice.entries.push_back(entry);
    }
    return choice;
}

}  // namespace minfer

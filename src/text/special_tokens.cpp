#include "text/special_tokens.h"

#include <algorithm>
#include <tuple>

namespace minfer {

SpecialTokens::SpecialTokens(std::vector<Entry> entries) : entries_(std::move(entries)) {
    std::erase_if(entries_, [](const Entry& entry) { return entry.text.empty(); });
    std::ranges::sort(entries_, {}, [](const Entry& e) { return std::tie(e.text, e.id); });
    const auto repeated = std::ranges::unique(entries_, {}, &Entry::text);
    entries_.erase(repeated.begin(), repeated.end());
    for (const auto& entry : entries_) first_bytes_.set(static_cast<uint8_t>(entry.text[0]));
}

std::optional<SpecialTokens::Match> SpecialTokens::find(std::string_view text, size_t from,
                                                        bool parse_control) const {
    for (size_t begin = from; begin < text.size(); ++begin) {
        if (!first_bytes_[static_cast<uint8_t>(text[begin])]) continue;
        const auto* entry = longest_prefix(text.substr(begin), parse_control);
        if (entry) return Match{begin, begin + entry->text.size(), entry->id};
    }
    return std::nullopt;
}

// Narrows the sorted entries byte by byte to those that begin like the text; the one that is all
// used up comes first among them. Its cost hardly depends on how many entries there are: some
// vocabularies have thousands that begin with '<'.
const SpecialTokens::Entry* SpecialTokens::longest_prefix(std::string_view text,
                                                          bool parse_control) const {
    const Entry* longest = nullptr;
    auto begin = entries_.begin();
    auto end = entries_.end();
    for (size_t depth = 0; depth < text.size() && begin != end; ++depth) {
        const auto byte_there = [&](const Entry& entry) -> int {
            return entry.text.size() > depth ? static_cast<uint8_t>(entry.text[depth]) : -1;
        };
        const auto same =
            std::ranges::equal_range(begin, end, static_cast<uint8_t>(text[depth]), {}, byte_there);
        begin = same.begin();
        end = same.end();
        if (begin == end || begin->text.size() != depth + 1) continue;
        if (parse_control || !begin->control) longest = &*begin;
    }
    return longest;
}

}  // namespace minfer

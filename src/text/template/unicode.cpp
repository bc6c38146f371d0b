#include "text/template/unicode.h"

#include <algorithm>
#include <span>

#include "text/template/unicode_tables.h"

namespace minfer::jinja {

namespace {

constexpr char32_t kCapitalSigma = 0x3a3, kSmallSigma = 0x3c3, kFinalSigma = 0x3c2;

bool in_ranges(std::span<const CharRange> ranges, char32_t c) {
    const auto after = std::ranges::upper_bound(ranges, c, {}, &CharRange::first);
    return after != ranges.begin() && c <= std::prev(after)->last;
}

bool is_cased(char32_t c) { return in_ranges({kCased, kCasedCount}, c); }
bool is_sigma_transparent(char32_t c) {
    return in_ranges({kSigmaTransparent, kSigmaTransparentCount}, c);
}

void append_mapped(std::string& out, char32_t c, std::span<const CaseRow> rows,
                   std::span<const CaseSpecial> specials) {
    const auto special = std::ranges::lower_bound(specials, c, {}, &CaseSpecial::from);
    if (special != specials.end() && special->from == c) {
        for (const char32_t to : special->to)
            if (to != 0) append_point(out, to);
        return;
    }
    // Rows may interleave (two alternating series), so a few before the last candidate count too.
    auto row = std::ranges::upper_bound(rows, c, {}, &CaseRow::first);
    for (int back = 0; back < 4 && row != rows.begin(); ++back) {
        --row;
        if (c <= row->last && (c - row->first) % row->step == 0) {
            append_point(out, static_cast<char32_t>(static_cast<int64_t>(c) + row->delta));
            return;
        }
    }
    append_point(out, c);
}

// Unicode's final-sigma rule: a capital sigma that ends a word becomes the final form.
bool is_final_sigma(const std::vector<char32_t>& points, size_t at) {
    size_t before = at;
    while (before > 0 && is_sigma_transparent(points[before - 1])) --before;
    if (before == 0 || !is_cased(points[before - 1])) return false;
    size_t after = at + 1;
    while (after < points.size() && is_sigma_transparent(points[after])) ++after;
    return after == points.size() || !is_cased(points[after]);
}

void append_lower(std::string& out, const std::vector<char32_t>& points, size_t at) {
    if (points[at] == kCapitalSigma)
        append_point(out, is_final_sigma(points, at) ? kFinalSigma : kSmallSigma);
    else
        append_mapped(out, points[at], {kLowerRows, kLowerRowsCount},
                      {kLowerSpecials, kLowerSpecialsCount});
}

void append_title(std::string& out, char32_t c) {
    append_mapped(out, c, {kTitleRows, kTitleRowsCount}, {kTitleSpecials, kTitleSpecialsCount});
}

// Bytes of the sequence that starts with `lead`, 0 if none does.
size_t sequence_length(unsigned char lead) {
    if (lead < 0x80) return 1;
    if (lead < 0xc2) return 0;
    if (lead < 0xe0) return 2;
    if (lead < 0xf0) return 3;
    return lead < 0xf5 ? 4 : 0;
}

}  // namespace

size_t find_invalid_utf8(std::string_view text) {
    size_t at = 0;
    while (at < text.size()) {
        const auto lead = static_cast<unsigned char>(text[at]);
        const size_t length = sequence_length(lead);
        if (length == 0 || length > text.size() - at) return at;
        for (size_t i = 1; i < length; ++i)
            if ((static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80) return at;
        if (length > 2) {  // overlong forms, surrogates, beyond U+10FFFF
            const auto second = static_cast<unsigned char>(text[at + 1]);
            if (lead == 0xe0 && second < 0xa0) return at;
            if (lead == 0xed && second > 0x9f) return at;
            if (lead == 0xf0 && second < 0x90) return at;
            if (lead == 0xf4 && second > 0x8f) return at;
        }
        at += length;
    }
    return std::string_view::npos;
}

bool is_ascii(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

size_t count_points(std::string_view text) {
    return static_cast<size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

char32_t next_point(std::string_view text, size_t& at) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
    const size_t length = sequence_length(byte(0));
    char32_t c = byte(0);
    if (length > 1) {
        c &= 0xffu >> (length + 1);
        for (size_t i = 1; i < length; ++i) c = (c << 6) | (byte(i) & 0x3fu);
    }
    at += length;
    return c;
}

void append_point(std::string& out, char32_t c) {
    const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xc0 | (c >> 6)), put(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        put(0xe0 | (c >> 12)), put(0x80 | ((c >> 6) & 0x3f)), put(0x80 | (c & 0x3f));
    } else {
        put(0xf0 | (c >> 18)), put(0x80 | ((c >> 12) & 0x3f));
        put(0x80 | ((c >> 6) & 0x3f)), put(0x80 | (c & 0x3f));
    }
}

size_t byte_offset(std::string_view text, size_t index) {
    size_t at = 0;
    for (size_t i = 0; i < index && at < text.size(); ++i)
        at += sequence_length(static_cast<unsigned char>(text[at]));
    return at;
}

std::vector<char32_t> to_points(std::string_view text) {
    std::vector<char32_t> out;
    out.reserve(text.size());
    for (size_t at = 0; at < text.size();) out.push_back(next_point(text, at));
    return out;
}

bool is_space(char32_t c) {
    if (c < 0x80) return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20);
    return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
           c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

bool is_printable(char32_t c) { return !in_ranges({kUnprintable, kUnprintableCount}, c); }

std::string_view strip_left(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
        const size_t start = at;
        if (!is_space(next_point(text, at))) return text.substr(start);
    }
    return {};
}

std::string_view strip_right(std::string_view text) {
    while (!text.empty()) {
        size_t start = text.size() - 1;
        while ((static_cast<unsigned char>(text[start]) & 0xc0) == 0x80) --start;
        size_t at = start;
        if (!is_space(next_point(text, at))) return text;
        text = text.substr(0, start);
    }
    return text;
}

std::string to_lower(std::string_view text) {
    std::string out;
    const auto points = to_points(text);
    for (size_t i = 0; i < points.size(); ++i) append_lower(out, points, i);
    return out;
}

std::string to_upper(std::string_view text) {
    std::string out;
    for (const char32_t c : to_points(text))
        append_mapped(out, c, {kUpperRows, kUpperRowsCount}, {kUpperSpecials, kUpperSpecialsCount});
    return out;
}

std::string to_title(std::string_view text) {
    std::string out;
    const auto points = to_points(text);
    bool inside_word = false;
    for (size_t i = 0; i < points.size(); ++i) {
        if (inside_word)
            append_lower(out, points, i);
        else
            append_title(out, points[i]);
        inside_word = is_cased(points[i]);
    }
    return out;
}

std::string to_capitalized(std::string_view text) {
    std::string out;
    const auto points = to_points(text);
    for (size_t i = 0; i < points.size(); ++i) {
        if (i == 0)
            append_title(out, points[i]);
        else
            append_lower(out, points, i);
    }
    return out;
}

}  // namespace minfer::jinja

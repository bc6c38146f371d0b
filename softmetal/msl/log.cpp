#include "softmetal/msl/log.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "softmetal/msl/process.h"
#include "softmetal/msl/translate/kernels.h"
#include "softmetal/msl/translate/tokens.h"

namespace softmetal::msl {
namespace {

std::optional<uint32_t> number(std::string_view digits) {
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return value;
}

struct ClangDiagnostic {
    std::string file;
    uint32_t line = 0, column = 0;
    std::string severity, message;
};

// FILE:LINE:COLUMN: severity: message
std::optional<ClangDiagnostic> parse(std::string_view line) {
    for (const std::string_view severity :
         {": fatal error: ", ": error: ", ": warning: ", ": note: "}) {
        const size_t at = line.find(severity);
        if (at == std::string_view::npos) continue;
        ClangDiagnostic out;
        out.severity = severity.substr(2, severity.size() - 4);
        if (out.severity == "fatal error") out.severity = "error";
        out.message = line.substr(at + severity.size());
        auto place = line.substr(0, at);
        for (uint32_t* into : {&out.column, &out.line}) {
            const size_t colon = place.rfind(':');
            if (colon == std::string_view::npos) return std::nullopt;
            const auto value = number(place.substr(colon + 1));
            if (!value) return std::nullopt;
            *into = *value;
            place = place.substr(0, colon);
        }
        out.file = place;
        return out;
    }
    return std::nullopt;
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
    for (size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + with.size()))
        text.replace(at, what.size(), with);
}

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Replaces whole words only.
void replace_word(std::string& text, std::string_view what, std::string_view with) {
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
        const size_t end = at + what.size();
        const bool whole = (at == 0 || !is_word_character(text[at - 1])) &&
                           (end == text.size() || !is_word_character(text[end]));
        if (whole) text.replace(at, what.size(), with);
        at += whole ? with.size() : what.size();
    }
}

// name<float, 4> -> float4, name<float, 4, 2> -> float4x2; `prefix` is "" or "packed_".
void shorten_vectors(std::string& text, std::string_view name, std::string_view prefix) {
    const std::string open = std::string(name) + "<";
    for (size_t at = text.find(open); at != std::string::npos; at = text.find(open, at + 1)) {
        if (at > 0 && is_word_character(text[at - 1])) continue;
        const size_t close = text.find('>', at);
        if (close == std::string::npos) return;
        const auto inside = text.substr(at + open.size(), close - at - open.size());
        const size_t comma = inside.find(", ");
        if (comma == std::string::npos) continue;
        const auto element = inside.substr(0, comma);
        auto size = inside.substr(comma + 2);
        const bool plain = std::all_of(element.begin(), element.end(), is_word_character) &&
                           size.find_first_not_of("0123456789, ") == std::string::npos;
        if (!plain) continue;
        replace_all(size, ", ", "x");
        text.replace(at, close + 1 - at, std::string(prefix) + element + size);
    }
}

// 'X' (aka 'X') says nothing.
void drop_equal_aliases(std::string& text) {
    for (size_t at = text.find("' (aka '"); at != std::string::npos;
         at = text.find("' (aka '", at + 1)) {
        const size_t open = text.rfind('\'', at - 1);
        const size_t close = text.find("')", at + 8);
        if (open == std::string::npos || close == std::string::npos) return;
        if (text.substr(open + 1, at - open - 1) == text.substr(at + 8, close - at - 8))
            text.erase(at + 1, close + 1 - at);
    }
}

// Assertions of the reflection table name their token: "SM:ORDINAL:SPELLING:text".
void take_apart_assertion(Diagnostic& diagnostic) {
    if (!diagnostic.message.starts_with("static assertion failed")) return;
    const size_t mark = diagnostic.message.find("SM:");
    if (mark == std::string::npos) return;
    const auto text = std::string_view(diagnostic.message).substr(mark + 3);
    const size_t first = text.find(':'), second = text.find(':', first + 1);
    if (second == std::string_view::npos) return;
    diagnostic.place.ordinal = number(text.substr(0, first)).value_or(0);
    diagnostic.place.spelling = text.substr(first + 1, second - first - 1);
    diagnostic.place.column = 0;
    diagnostic.message = std::string(text.substr(second + 1));
}

// The column of a token in the text that holds it.
uint32_t column_of(const Tokens& tokens, size_t token) {
    const size_t offset = tokens.offset(token);
    const size_t newline =
        offset == 0 ? std::string_view::npos : tokens.text.rfind('\n', offset - 1);
    return static_cast<uint32_t>(newline == std::string_view::npos ? offset + 1 : offset - newline);
}

// The line, what of it lies around the column when it is long, and a caret below.
std::string quotation(const std::string& line, uint32_t column) {
    constexpr size_t kLongest = 200;
    constexpr std::string_view kCut = "...";
    const size_t at = column == 0 ? 0 : std::min<size_t>(column - 1, line.size());
    size_t begin = 0;
    if (line.size() > kLongest && at > kLongest / 2)
        begin = std::min(at - kLongest / 2, line.size() - kLongest);
    const size_t end = std::min(begin + kLongest, line.size());
    const std::string before(begin > 0 ? kCut : "");
    std::string out = before + line.substr(begin, end - begin);
    if (end < line.size()) out += kCut;
    out += '\n';
    if (column == 0) return out;
    out.append(before.size(), ' ');
    for (const char c : line.substr(begin, at - begin)) out += c == '\t' ? '\t' : ' ';
    return out + "^\n";
}

// Pairs the tokens of two lines: longest common subsequence. The translation inserts and drops
// tokens, and macros expand, but what is common keeps its order.
std::vector<size_t> partners_of(const std::vector<std::string_view>& from,
                                const std::vector<std::string_view>& to) {
    std::vector<std::vector<uint32_t>> length(from.size() + 1,
                                              std::vector<uint32_t>(to.size() + 1, 0));
    for (size_t i = from.size(); i-- > 0;)
        for (size_t k = to.size(); k-- > 0;)
            length[i][k] = from[i] == to[k] ? length[i + 1][k + 1] + 1
                                            : std::max(length[i + 1][k], length[i][k + 1]);
    std::vector<size_t> out(from.size(), SIZE_MAX);
    for (size_t i = 0, k = 0; i < from.size() && k < to.size();) {
        if (from[i] == to[k])
            out[i++] = k++;
        else if (length[i + 1][k] >= length[i][k + 1])
            ++i;
        else
            ++k;
    }
    return out;
}

// The translator writes 0.5f for 0.5.
std::string_view without_suffix(const Token& token) {
    const bool marked = token.kind == TokenKind::Number && token.text.ends_with('f') &&
                        token.text.find('.') != std::string_view::npos;
    return marked ? token.text.substr(0, token.text.size() - 1) : token.text;
}

// The user's column of a column in the text that clang read; 0 when it is not known. Clang also
// points just behind a token.
uint32_t user_column(const Tokens& read, const ClangDiagnostic& at, const std::string& user_line) {
    std::vector<std::string_view> from, to;
    size_t standing = SIZE_MAX, ending = SIZE_MAX, line_start = SIZE_MAX;
    for (size_t i = 0; i < read.size(); ++i) {
        if (read[i].line != at.line || read.files[read[i].file] != at.file) continue;
        const uint32_t begin = column_of(read, i);
        const uint32_t end = begin + static_cast<uint32_t>(read[i].text.size());
        if (const size_t start = read.offset(i) + 1 - begin; start != line_start) {
            // The reflection table has lines of the same number: the first that fits is the
            // source's.
            if (standing != SIZE_MAX || ending != SIZE_MAX) break;
            line_start = start;
            from.clear();
        }
        if (at.column >= begin && at.column < end) standing = from.size();
        if (at.column == end) ending = from.size();
        from.push_back(without_suffix(read[i]));
    }
    const size_t token = standing != SIZE_MAX ? standing : ending;
    if (token == SIZE_MAX) return 0;
    const auto user = tokenize(user_line);
    for (const auto& each : user.tokens) to.push_back(without_suffix(each));
    size_t partner = partners_of(from, to)[token];
    // A macro's expansion may hold one token of the user's several times.
    if (partner == SIZE_MAX && std::count(to.begin(), to.end(), from[token]) == 1)
        partner = static_cast<size_t>(std::find(to.begin(), to.end(), from[token]) - to.begin());
    if (partner == SIZE_MAX) return 0;
    const auto length = static_cast<uint32_t>(user[partner].text.size());
    return column_of(user, partner) + (standing != SIZE_MAX ? 0 : length);
}

// Where a place is on the user's line; 0: not to be seen there.
uint32_t column_on(const std::string& line, const Place& place) {
    if (place.column != 0) return place.column;
    const auto tokens = tokenize(line);
    uint32_t ordinal = place.ordinal;
    for (size_t i = 0; i < tokens.size(); ++i)
        if (tokens[i].text == place.spelling && ordinal-- == 0) return column_of(tokens, i);
    return 0;
}

}  // namespace

std::string in_msl_words(std::string message) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kWords = {
        {{"unsigned int", "uint"},
         {"unsigned short", "ushort"},
         {"unsigned char", "uchar"},
         {"unsigned long", "ulong"},
         {"signed char", "char"},
         {"_Float16", "half"},
         {"__bf16", "bfloat"}}};
    replace_all(message, "metal::", "");
    for (const auto& [ours, theirs] : kWords) replace_word(message, ours, theirs);
    shorten_vectors(message, "packed_vec", "packed_");
    shorten_vectors(message, "vec", "");
    shorten_vectors(message, "matrix", "");
    drop_equal_aliases(message);
    for (size_t at = message.find("sm_is_defined_"); at != std::string::npos;
         at = message.find("sm_is_defined_", at)) {
        size_t end = at + 14;
        while (end < message.size() && is_word_character(message[end])) ++end;
        message.replace(
            at, end - at,
            "is_function_constant_defined(" + message.substr(at + 14, end - at - 14) + ")");
    }
    replace_all(message, "sm_type_", "");
    return message;
}

bool Log::is_own(const Diagnostic& diagnostic) const {
    return diagnostic.place.file.starts_with('<') ||
           diagnostic.place.file.starts_with(own_.string());
}

// An error inside our headers moves to the line of the user's that led there; notes about ours go.
std::vector<Diagnostic> Log::only_the_users(const std::vector<Diagnostic>& all) const {
    std::vector<Diagnostic> out, hidden;
    for (size_t i = 0; i < all.size();) {
        size_t next = i + 1;
        while (next < all.size() && all[next].severity == "note") ++next;
        Diagnostic first = all[i];
        size_t notes = i + 1;
        if (is_own(first))
            for (; notes < next && is_own(first); ++notes)
                if (!is_own(all[notes])) first.place = all[notes].place;
        auto& into = is_own(first) ? hidden : out;
        into.push_back(first);
        for (; notes < next; ++notes)
            if (!is_own(all[notes])) into.push_back(all[notes]);
        i = next;
    }
    // What only our own text complains of is shown when there is nothing else to show.
    const bool has_error =
        std::any_of(out.begin(), out.end(), [](const auto& d) { return d.severity == "error"; });
    if (!has_error) out.insert(out.end(), hidden.begin(), hidden.end());
    return out;
}

std::string Log::line_of(const std::string& file, uint32_t line) const {
    std::string text;
    if (file == name_) {
        text = source_;
    } else if (auto read = read_file(file)) {
        text = std::move(*read);
    }
    size_t begin = 0;
    for (uint32_t at = 1; at < line; ++at) {
        begin = text.find('\n', begin);
        if (begin == std::string::npos) return "";
        ++begin;
    }
    auto out = text.substr(begin, text.find('\n', begin) - begin);
    if (out.ends_with('\r')) out.pop_back();
    return out;
}

std::string Log::rewrite(std::string_view clang_output, std::string_view read) const {
    const auto tokens = tokenize(read);
    std::vector<Diagnostic> found;
    std::string other;
    while (!clang_output.empty()) {
        const size_t newline = clang_output.find('\n');
        const auto line = clang_output.substr(0, newline);
        clang_output.remove_prefix(newline == std::string_view::npos ? clang_output.size()
                                                                     : newline + 1);
        if (const auto said = parse(line)) {
            // Preprocessor errors have the user's columns already.
            const auto column = read.empty()
                                    ? said->column
                                    : user_column(tokens, *said, line_of(said->file, said->line));
            const Place place{.file = said->file,
                              .line = said->line,
                              .spelling = "",
                              .ordinal = 0,
                              .column = column};
            found.push_back({place, said->severity, said->message});
        } else if (!line.ends_with(" generated.")) {
            other += std::string(line) + "\n";
        }
    }
    return found.empty() ? other : render(std::move(found));
}

std::string Log::render(std::vector<Diagnostic> diagnostics) const {
    for (auto& diagnostic : diagnostics) {
        take_apart_assertion(diagnostic);
        diagnostic.message = in_msl_words(diagnostic.message);
    }
    std::set<std::tuple<std::string, uint32_t, std::string>> said;
    std::string out;
    for (const auto& diagnostic : only_the_users(diagnostics)) {
        const auto& place = diagnostic.place;
        if (!said.insert({place.file, place.line, diagnostic.message}).second) continue;
        const auto line = line_of(place.file, place.line);
        const auto column = column_on(line, place);
        // Without a column the line's first word stands for it, and there is no caret.
        const size_t first = line.find_first_not_of(" \t");
        out += place.file + ":" + std::to_string(place.line) + ":";
        out += std::to_string(column != 0                  ? column
                              : first == std::string::npos ? 1
                                                           : first + 1) +
               ": ";
        out += diagnostic.severity + ": " + diagnostic.message + "\n";
        if (!line.empty()) out += quotation(line, column);
    }
    return out;
}

}  // namespace softmetal::msl

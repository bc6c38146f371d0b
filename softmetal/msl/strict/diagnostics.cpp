#include "softmetal/msl/strict/diagnostics.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

namespace softmetal::msl::strict {
namespace {

struct Line {
    std::string place;  // FILE:LINE:COLUMN
    std::string severity;
    std::string message;
    std::string flag;  // -Wname
};

std::optional<Line> parse(std::string_view text) {
    for (const std::string_view severity : {"fatal error", "error", "warning", "note"}) {
        const std::string mark = ": " + std::string(severity) + ": ";
        const size_t at = text.find(mark);
        if (at == std::string_view::npos) continue;
        Line out{std::string(text.substr(0, at)), std::string(severity),
                 std::string(text.substr(at + mark.size())), ""};
        if (const size_t flag = out.message.rfind(" [-W");
            flag != std::string::npos && out.message.ends_with(']')) {
            out.flag = out.message.substr(flag + 2, out.message.size() - flag - 3);
            out.message.resize(flag);
        }
        return out;
    }
    return std::nullopt;
}

bool contains(std::string_view text, std::string_view what) {
    return text.find(what) != std::string_view::npos;
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
    for (size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + with.size()))
        text.replace(at, what.size(), with);
}

// The parts of a message between single quotes.
std::vector<std::string> quoted(std::string_view message) {
    std::vector<std::string> out;
    for (size_t open = message.find('\''); open != std::string_view::npos;
         open = message.find('\'', open)) {
        const size_t close = message.find('\'', open + 1);
        if (close == std::string_view::npos) break;
        out.emplace_back(message.substr(open + 1, close - open - 1));
        open = close + 1;
    }
    return out;
}

constexpr std::string_view kDevice = "__attribute__((address_space(1)))";
constexpr std::string_view kElement = "__attribute__((address_space(2)))";

bool has_space(std::string_view type) {
    for (const auto space :
         {std::string_view("__private"), std::string_view("__local"), std::string_view("__global"),
          std::string_view("__generic"), std::string_view("device "), kDevice, kElement})
        if (contains(type, space)) return true;
    return false;
}

std::string without_qualifiers(std::string type) {
    for (const auto word :
         {std::string_view("__attribute__((address_space(1))) "),
          std::string_view("__attribute__((address_space(2))) "), std::string_view("device "),
          std::string_view("const "), std::string_view("__private "), std::string_view("__local "),
          std::string_view("__global "), std::string_view("__generic ")})
        replace_all(type, word, "");
    return type;
}

// ---- what is not wrong in MSL ----

// A temporary has no address space in clang, so a `const thread` reference does not take it, and a
// method of the thread does not take one that a function returned, or the iterators of a range.
// (Calls of functions with such references: see prepare.cpp.)
bool takes_no_temporary(const Line& error, const std::vector<Line>& notes) {
    const auto is_about_this = [](const Line& note) {
        return contains(note.message, "'this' object is in default address space");
    };
    if (std::any_of(notes.begin(), notes.end(), is_about_this)) return true;
    const auto types = quoted(error.message);
    if (types.empty() || !contains(types[0], "__private")) return false;
    if (contains(error.message, "cannot bind to a temporary object because of address space"))
        return types[0].starts_with("const ");
    if (types.size() != 2 || has_space(types[1])) return false;
    return error.message.starts_with("cannot initialize object parameter of type") ||
           (error.message.starts_with("binding reference of type") &&
            types[0].starts_with("const "));
}

// `c ? a : b` of one class in two address spaces: vectors are classes here only.
bool mixes_spaces_in_conditional(const Line& error) {
    if (!error.message.starts_with("incompatible operand types")) return false;
    const auto types = quoted(error.message);
    return types.size() >= 2 && !contains(types.front(), "*") &&
           without_qualifiers(types.front()) == without_qualifiers(types.back());
}

// C++17 that Apple's compiler takes as an extension of C++14.
bool is_accepted_extension(std::string_view message) {
    constexpr std::array<std::string_view, 11> kAccepted = {
        "nested namespace definition",
        "inline variables",
        "pack fold expression",
        "decomposition declarations",
        "constexpr if",
        "initialization statements",
        "'static_assert' with no message",
        "template template parameter using 'typename'",
        "pack expansion using declaration",
        "default scope specifier for attributes",
        "attributes on"};
    return std::any_of(kAccepted.begin(), kAccepted.end(),
                       [&](auto accepted) { return contains(message, accepted); });
}

// Makes an error of a warning that is one in Metal; false when it is none.
bool is_error(Line& line) {
    if (line.severity != "warning") return true;
    line.severity = "error";
    if (line.flag == "-Wpre-c++17-compat") {
        size_t end = line.message.find(" is incompatible with");
        if (end == std::string::npos) end = line.message.find(" are incompatible with");
        if (end == std::string::npos || is_accepted_extension(line.message)) return false;
        line.message = line.message.substr(0, end) + ": a C++17 feature, and Metal 3.1 is C++14";
        return true;
    }
    return line.flag.starts_with("-Wc++2");
}

// ---- Metal's words ----

std::string type_in_metal_words(std::string type, std::string_view before) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kSpaces = {
        {{"1", "device"},
         {"__private", "thread"},
         {"__local", "threadgroup"},
         {"__global", "constant"},
         {"__generic", "generic"}}};
    for (const auto& [clangs, metals] : kSpaces)
        if (type == clangs && before.ends_with("address space ")) return std::string(metals);
    const bool points = contains(type, "*") || contains(type, "&");
    replace_all(type, kDevice, "device");
    // Clang writes `device float const *` where the words came from a macro.
    if (const size_t late = type.find(" const *");
        type.starts_with("device ") && late != std::string::npos)
        type = "const " + type.erase(late, 6);
    replace_all(type, "const __global ", "constant ");
    replace_all(type, "__global ", "constant ");
    replace_all(type, "__local ", "threadgroup ");
    for (const std::string_view space : {"__private", "__generic"}) {
        for (const std::string_view star : {"*", "&", "const "}) {
            const std::string end = std::string(star) + std::string(space);
            if (type.ends_with(end)) type.resize(type.size() - space.size());
        }
    }
    if (type.ends_with(' ')) type.pop_back();
    replace_all(type, "__private ", points ? "thread " : "");
    replace_all(type, "__generic ", "");
    return type;
}

// A threadgroup variable's type has a name of ours: what it stands for says more.
std::string without_our_types(std::string message) {
    for (size_t at = message.find("sm_type_"); at != std::string::npos;
         at = message.find("sm_type_", at + 1)) {
        const size_t open = message.rfind('\'', at), close = message.find('\'', at);
        if (open == std::string::npos || close == std::string::npos) break;
        if (message.compare(close, 8, "' (aka '") != 0) continue;
        const size_t end = message.find("')", close + 8);
        if (end == std::string::npos) break;
        const auto meaning = message.substr(close + 8, end - close - 8);
        message.replace(open + 1, end + 1 - open, meaning + "'");
    }
    return message;
}

std::string in_words(const std::string& of_clang) {
    const auto message = without_our_types(of_clang);
    std::string out;
    for (size_t at = 0; at < message.size();) {
        const size_t open = message.find('\'', at);
        const size_t close = open == std::string::npos ? open : message.find('\'', open + 1);
        if (close == std::string::npos) {
            out += message.substr(at);
            break;
        }
        out += message.substr(at, open - at);
        const auto type = type_in_metal_words(message.substr(open + 1, close - open - 1), out);
        out += "'" + type + "'";
        at = close + 1;
    }
    constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kWords = {
        {{"C++ for OpenCL version 2021 does not support the 'thread_local' storage class specifier",
          "'thread_local' is not supported in Metal"},
         {"ISO C++17 does not allow 'register' storage class specifier",
          "Metal does not support the 'register' storage class specifier"},
         {"function scope variable cannot be declared in global address space",
          "automatic variable qualified with an address space"},
         {"automatic variable qualified with an invalid address space",
          "automatic variable qualified with an address space"},
         {"'default ", "'"},
         {"C++ for OpenCL version 2021", "Metal"},
         {"C++ for OpenCL", "Metal"},
         {"OpenCL", "Metal"}}};
    for (const auto& [clangs, metals] : kWords) replace_all(out, clangs, metals);
    replace_all(out, "sm_word_", "");
    return out;
}

std::pair<std::string, uint32_t> line_of(const std::string& place) {
    const size_t column = place.rfind(':');
    const size_t line = column == std::string::npos ? column : place.rfind(':', column - 1);
    if (line == std::string::npos) return {place, 0};
    uint32_t number = 0;
    std::from_chars(place.data() + line + 1, place.data() + column, number);
    return {place.substr(0, line), number};
}

// A component of a vector is a property, or an object in an address space of its own.
void speak_of_vectors(Line& line) {
    const bool is_element = contains(line.message, kElement);
    if (line.message.starts_with("address of property expression") ||
        (is_element && contains(line.message, "*")))
        line.message = "address of vector element requested";
    else if (is_element && contains(line.message, "reference"))
        line.message = "non-const reference cannot bind to vector element";
}

}  // namespace

std::string in_metal_words(std::string_view clang_output, const Lines& known) {
    std::vector<Line> lines;
    while (!clang_output.empty()) {
        const size_t newline = clang_output.find('\n');
        if (auto line = parse(clang_output.substr(0, newline))) lines.push_back(std::move(*line));
        clang_output.remove_prefix(newline == std::string_view::npos ? clang_output.size()
                                                                     : newline + 1);
    }
    std::string out;
    for (size_t i = 0; i < lines.size();) {
        size_t next = i + 1;
        while (next < lines.size() && lines[next].severity == "note") ++next;
        Line& first = lines[i];
        const auto notes = std::vector<Line>(lines.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                             lines.begin() + static_cast<std::ptrdiff_t>(next));
        const bool is_right = takes_no_temporary(first, notes) ||
                              mixes_spaces_in_conditional(first) || !is_error(first) ||
                              known.contains(line_of(first.place));
        for (size_t k = i; k < next && !is_right; ++k) {
            speak_of_vectors(lines[k]);
            out += lines[k].place + ": " + lines[k].severity + ": " + in_words(lines[k].message) +
                   "\n";
        }
        i = next;
    }
    return out;
}

}  // namespace softmetal::msl::strict

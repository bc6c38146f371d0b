#include <algorithm>
#include <limits>

#include "text/template/methods.h"
#include "text/template/unicode.h"

namespace minfer::jinja {
namespace {

using Given = std::vector<std::optional<Value>>;

bool absent(const std::optional<Value>& v) { return !v || v->is<None>(); }

Result<std::string_view> text_argument(std::string_view method, const std::optional<Value>& v) {
    if (v && v->string()) return std::string_view(v->string()->text);
    return fail(Fault::BadInput, "{}() argument must be str, not {}", method,
                v ? type_name(*v) : "missing");
}

Result<int64_t> int_argument(std::string_view method, const std::optional<Value>& v,
                             int64_t fallback) {
    if (!v) return fallback;
    const auto i = as_integer(*v);
    if (!i)
        return fail(Fault::BadInput, "{}() argument must be an integer, not {}", method,
                    type_name(*v));
    return clamp_to_int64(*i);
}

Result<Value> list_of(Runtime& runtime, std::vector<std::string> parts) {
    std::vector<Value> items;
    items.reserve(parts.size());
    for (auto& part : parts) {
        auto item = MINFER_TRY(runtime.string(std::move(part)));
        items.push_back(std::move(item));
    }
    return runtime.sequence(std::move(items));
}

Result<Value> strip(Runtime& runtime, const String& self, std::string_view name, const Args& args) {
    const auto given = MINFER_TRY(bind(name, args, {"chars"}, 0));
    const bool left = name != "rstrip", right = name != "lstrip";
    std::string_view text = self.text;
    if (absent(given[0])) {
        if (left) text = strip_left(text);
        if (right) text = strip_right(text);
    } else {
        const auto set = MINFER_TRY(text_argument(name, given[0]));
        MINFER_TRY(runtime.charge(1 + static_cast<int64_t>((text.size() + set.size()) / 16)));
        text = strip_set(text, set, left, right);
    }
    return runtime.string(std::string(text), self.markup);
}

// Parts in order; `most` splits at most.
std::vector<std::string> split_at(std::string_view text, std::string_view separator, int64_t most) {
    std::vector<std::string> out;
    size_t found = 0;
    while (most-- > 0 && (found = text.find(separator)) != std::string_view::npos) {
        out.emplace_back(text.substr(0, found));
        text = text.substr(found + separator.size());
    }
    out.emplace_back(text);
    return out;
}

std::vector<std::string> split_at_from_right(std::string_view text, std::string_view separator,
                                             int64_t most) {
    std::vector<std::string> out;
    size_t found = 0;
    while (most-- > 0 && (found = text.rfind(separator)) != std::string_view::npos) {
        out.emplace_back(text.substr(found + separator.size()));
        text = text.substr(0, found);
    }
    out.emplace_back(text);
    std::ranges::reverse(out);
    return out;
}

std::vector<std::string> split_at_space(std::string_view text, int64_t most) {
    std::vector<std::string> out;
    for (text = strip_left(text); !text.empty(); text = strip_left(text)) {
        if (most-- <= 0) {
            out.emplace_back(text);
            break;
        }
        size_t end = text.size();
        for (size_t at = 0; at < text.size();) {
            const size_t start = at;
            if (!is_space(next_point(text, at))) continue;
            end = start;
            break;
        }
        out.emplace_back(text.substr(0, end));
        text = text.substr(end);
    }
    return out;
}

std::vector<std::string> split_at_space_from_right(std::string_view text, int64_t most) {
    std::vector<std::string> out;
    for (text = strip_right(text); !text.empty(); text = strip_right(text)) {
        if (most-- <= 0) {
            out.emplace_back(text);
            break;
        }
        size_t start = text.size();
        while (start > 0) {
            size_t at = start - 1;
            while ((static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) --at;
            size_t after = at;
            if (is_space(next_point(text, after))) break;
            start = at;
        }
        out.emplace_back(text.substr(start));
        text = text.substr(0, start);
    }
    std::ranges::reverse(out);
    return out;
}

Result<Value> split(Runtime& runtime, const String& self, std::string_view name, const Args& args) {
    const auto given = MINFER_TRY(bind(name, args, {"sep", "maxsplit"}, 0));
    auto most = MINFER_TRY(int_argument(name, given[1], -1));
    if (most < 0) most = std::numeric_limits<int64_t>::max();
    const bool left = name == "split";
    if (absent(given[0]))
        return list_of(runtime, left ? split_at_space(self.text, most)
                                     : split_at_space_from_right(self.text, most));
    const auto separator = MINFER_TRY(text_argument(name, given[0]));
    if (separator.empty()) return fail(Fault::BadInput, "empty separator");
    return list_of(runtime, left ? split_at(self.text, separator, most)
                                 : split_at_from_right(self.text, separator, most));
}

// The part of a string that the optional start and end of find, count, startswith select.
struct Window {
    std::string_view text;
    size_t first_point;
    bool exists;  // false: start lies behind the end, where not even "" is found
};

Result<Window> window(std::string_view name, const String& self, const Given& given) {
    const auto size = static_cast<int64_t>(self.ascii ? self.text.size() : count_points(self.text));
    const auto none_is_absent = [](const std::optional<Value>& v) {
        return absent(v) ? std::nullopt : v;
    };
    auto start = MINFER_TRY(int_argument(name, none_is_absent(given[1]), 0));
    auto end = MINFER_TRY(int_argument(name, none_is_absent(given[2]), size));
    if (end > size) end = size;
    if (end < 0) end = std::max<int64_t>(end + size, 0);
    if (start < 0) start = std::max<int64_t>(start + size, 0);
    if (start > end) return Window{{}, 0, false};
    const auto offset = [&](int64_t point) {
        return self.ascii ? static_cast<size_t>(point)
                          : byte_offset(self.text, static_cast<size_t>(point));
    };
    const size_t from = offset(start), to = offset(end);
    return Window{std::string_view(self.text).substr(from, to - from), static_cast<size_t>(start),
                  true};
}

Result<Value> find(const String& self, std::string_view name, const Args& args) {
    const auto given = MINFER_TRY(bind(name, args, {"sub", "start", "end"}, 1));
    const auto sub = MINFER_TRY(text_argument(name, given[0]));
    const auto part = MINFER_TRY(window(name, self, given));
    const bool from_right = name[0] == 'r';
    const size_t found = !part.exists ? std::string_view::npos
                         : from_right ? part.text.rfind(sub)
                                      : part.text.find(sub);
    if (found == std::string_view::npos) {
        if (name.ends_with("index")) return fail(Fault::BadInput, "substring not found");
        return make_int(-1);
    }
    const size_t points = self.ascii ? found : count_points(part.text.substr(0, found));
    return make_int(static_cast<Integer>(part.first_point + points));
}

Result<Value> count(const String& self, const Args& args) {
    const auto given = MINFER_TRY(bind("count", args, {"sub", "start", "end"}, 1));
    const auto sub = MINFER_TRY(text_argument("count", given[0]));
    const auto part = MINFER_TRY(window("count", self, given));
    if (!part.exists) return make_int(0);
    if (sub.empty()) return make_int(static_cast<Integer>(count_points(part.text) + 1));
    Integer n = 0;
    for (size_t at = part.text.find(sub); at != std::string_view::npos;
         at = part.text.find(sub, at + sub.size()))
        ++n;
    return make_int(n);
}

Result<Value> starts_or_ends(const String& self, std::string_view name, const Args& args) {
    const auto given = MINFER_TRY(bind(name, args, {"prefix", "start", "end"}, 1));
    const auto part = MINFER_TRY(window(name, self, given));
    std::vector<Value> wanted{*given[0]};
    if (const auto* tuple = given[0]->sequence(); tuple && tuple->form == Sequence::Form::Tuple)
        wanted = tuple->items;
    bool found = false;
    for (const Value& one : wanted) {
        const auto affix = MINFER_TRY(text_argument(name, one));
        found |= part.exists &&
                 (name == "startswith" ? part.text.starts_with(affix) : part.text.ends_with(affix));
    }
    return make_bool(found);
}

Result<Value> join(Runtime& runtime, const String& self, const Args& args) {
    const auto given = MINFER_TRY(bind("join", args, {"iterable"}, 1));
    const auto items = MINFER_TRY(runtime.items(*given[0]));
    std::string out;
    for (size_t i = 0; i < items.size(); ++i) {
        const auto* s = items[i].string();
        if (!s)
            return fail(Fault::BadInput, "sequence item {}: expected str instance, {} found", i,
                        type_name(items[i]));
        MINFER_TRY(runtime.charge(1, s->text.size() + self.text.size()));
        if (i > 0) out += self.text;
        out += s->text;
    }
    return runtime.string(std::move(out));
}

Result<Value> replace(Runtime& runtime, const String& self, const Args& args) {
    const auto given = MINFER_TRY(bind("replace", args, {"old", "new", "count"}, 2));
    const auto from = MINFER_TRY(text_argument("replace", given[0]));
    const auto to = MINFER_TRY(text_argument("replace", given[1]));
    const auto most = MINFER_TRY(int_argument("replace", given[2], -1));
    auto out = MINFER_TRY(replace_all(runtime, self.text, from, to, most));
    return runtime.string(std::move(out));
}

Result<Value> remove_affix(Runtime& runtime, const String& self, std::string_view name,
                           const Args& args) {
    const auto given = MINFER_TRY(bind(name, args, {"affix"}, 1));
    const auto affix = MINFER_TRY(text_argument(name, given[0]));
    std::string_view text = self.text;
    if (name == "removeprefix" && text.starts_with(affix)) text.remove_prefix(affix.size());
    if (name == "removesuffix" && text.ends_with(affix)) text.remove_suffix(affix.size());
    return runtime.string(std::string(text));
}

}  // namespace

std::string_view strip_set(std::string_view text, std::string_view set, bool left, bool right) {
    auto points = to_points(set);
    std::ranges::sort(points);
    const auto member = [&](char32_t c) { return std::ranges::binary_search(points, c); };
    while (left && !text.empty()) {
        size_t at = 0;
        if (!member(next_point(text, at))) break;
        text = text.substr(at);
    }
    while (right && !text.empty()) {
        size_t start = text.size() - 1;
        while ((static_cast<unsigned char>(text[start]) & 0xc0) == 0x80) --start;
        size_t at = start;
        if (!member(next_point(text, at))) break;
        text = text.substr(0, start);
    }
    return text;
}

std::vector<std::string> split_lines(std::string_view text, bool keep_ends) {
    const auto breaks = [](char32_t c) {
        return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
               c == 0x2029;
    };
    std::vector<std::string> out;
    size_t line = 0;
    for (size_t at = 0; at < text.size();) {
        const size_t start = at;
        const char32_t c = next_point(text, at);
        if (!breaks(c)) continue;
        if (c == '\r' && at < text.size() && text[at] == '\n') ++at;
        out.emplace_back(text.substr(line, (keep_ends ? at : start) - line));
        line = at;
    }
    if (line < text.size()) out.emplace_back(text.substr(line));
    return out;
}

Result<std::string> replace_all(Runtime& runtime, std::string_view text, std::string_view from,
                                std::string_view to, int64_t count) {
    if (count < 0) count = std::numeric_limits<int64_t>::max();
    MINFER_TRY(runtime.charge(1 + static_cast<int64_t>(text.size() / 64)));
    std::string out;
    const auto put = [&](std::string_view piece) -> Result<> {
        MINFER_TRY(runtime.charge(1, to.size()));
        out += piece;
        return {};
    };
    if (from.empty()) {  // before every character and at the end
        size_t at = 0;
        while (count-- > 0) {
            MINFER_TRY(put(to));
            if (at == text.size()) return out;
            const size_t start = at;
            next_point(text, at);
            out += text.substr(start, at - start);
        }
        out += text.substr(at);
        return out;
    }
    size_t found = 0;
    while (count-- > 0 && (found = text.find(from)) != std::string_view::npos) {
        out += text.substr(0, found);
        MINFER_TRY(put(to));
        text = text.substr(found + from.size());
    }
    out += text;
    return out;
}

Result<Value> call_string_method(Runtime& runtime, const String& self, std::string_view name,
                                 const Args& args) {
    MINFER_TRY(runtime.charge(1 + static_cast<int64_t>(self.text.size() / 64)));
    if (name == "strip" || name == "lstrip" || name == "rstrip")
        return strip(runtime, self, name, args);
    if (name == "split" || name == "rsplit") return split(runtime, self, name, args);
    if (name == "startswith" || name == "endswith") return starts_or_ends(self, name, args);
    if (name == "replace") return replace(runtime, self, args);
    if (name == "join") return join(runtime, self, args);
    if (name == "count") return count(self, args);
    if (name == "find" || name == "rfind" || name == "index" || name == "rindex")
        return find(self, name, args);
    if (name == "removeprefix" || name == "removesuffix")
        return remove_affix(runtime, self, name, args);
    if (name == "format") return format_method(runtime, self, args);
    if (name == "splitlines") {
        const auto given = MINFER_TRY(bind(name, args, {"keepends"}, 0));
        return list_of(runtime, split_lines(self.text, given[0] && truthy(*given[0])));
    }
    MINFER_TRY(bind(name, args, {}, 0));
    MINFER_TRY(runtime.charge(static_cast<int64_t>(self.text.size() / 8)));
    if (name == "lower") return runtime.string(to_lower(self.text), self.markup);
    if (name == "upper") return runtime.string(to_upper(self.text), self.markup);
    if (name == "title") return runtime.string(to_title(self.text), self.markup);
    MINFER_ASSERT(name == "capitalize");
    return runtime.string(to_capitalized(self.text), self.markup);
}

}  // namespace minfer::jinja

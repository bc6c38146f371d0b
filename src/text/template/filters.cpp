#include "text/template/filters.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "text/template/methods.h"
#include "text/template/operators.h"
#include "text/template/print.h"
#include "text/template/sequence_filters.h"
#include "text/template/string_literal.h"
#include "text/template/unicode.h"

namespace minfer::jinja {
namespace {

Result<Value> length(Runtime&, const Value& self, const Args& args) {
    MINFER_TRY(bind("length", args, {}, 0));
    const auto cursor = Cursor::over(self);
    const auto size = cursor ? cursor->size() : std::nullopt;
    if (size) return make_int(*size);
    return fail(Fault::BadInput, "object of type '{}' has no len()", type_name(self));
}

Result<Value> tojson(Runtime& runtime, const Value& self, const Args& args) {
    const auto given =
        MINFER_TRY(bind("tojson", args, {"ensure_ascii", "indent", "separators", "sort_keys"}, 0));
    JsonStyle style;
    style.ascii_only = given[0] && truthy(*given[0]);
    style.sort_keys = given[3] && truthy(*given[3]);
    if (given[1] && !given[1]->is<None>()) {
        style.indented = true;
        style.item_separator = ",";
        if (const auto* s = given[1]->string()) {
            style.indent = s->text;
        } else if (const auto width = as_integer(*given[1])) {
            if (*width > 64) return fail(Fault::BadInput, "tojson: indent over 64");
            style.indent.assign(static_cast<size_t>(std::max<Integer>(*width, 0)), ' ');
        } else {
            return fail(Fault::BadInput, "tojson: indent is neither a number nor a string");
        }
    }
    if (given[2] && !given[2]->is<None>()) {
        const auto* pair = given[2]->sequence();
        if (!pair || pair->items.size() != 2 || !pair->items[0].string() ||
            !pair->items[1].string())
            return fail(Fault::BadInput, "tojson: separators is not a pair of strings");
        style.item_separator = pair->items[0].string()->text;
        style.key_separator = pair->items[1].string()->text;
    }
    auto out = MINFER_TRY(to_json(runtime, self, style));
    return runtime.string(std::move(out));
}

// A filter that maps str(value).
template <auto map>
Result<Value> on_text(Runtime& runtime, const Value& self, const Args& args) {
    MINFER_TRY(bind("filter", args, {}, 0));
    const auto text = MINFER_TRY(to_str(runtime, self));
    MINFER_TRY(runtime.charge(static_cast<int64_t>(text.size() / 8)));
    return runtime.string(map(text), self.string() && self.string()->markup);
}

// Not Python's title(): words start after white space, hyphens and opening brackets.
std::string title_words(std::string_view text) {
    std::string out, word;
    const auto flush = [&] {
        if (word.empty()) return;
        size_t first = 0;
        next_point(word, first);
        out += to_upper(word.substr(0, first)) + to_lower(word.substr(first));
        word.clear();
    };
    bool was_break = false;
    for (size_t at = 0; at < text.size();) {
        const size_t start = at;
        const char32_t c = next_point(text, at);
        const bool is_break =
            is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
        if (is_break != was_break) flush();
        was_break = is_break;
        word += text.substr(start, at - start);
    }
    flush();
    return out;
}

Result<Value> trim(Runtime& runtime, const Value& self, const Args& args) {
    const auto given = MINFER_TRY(bind("trim", args, {"chars"}, 0));
    const auto text = MINFER_TRY(to_str(runtime, self));
    if (!given[0] || given[0]->is<None>())
        return runtime.string(std::string(strip_left(strip_right(text))));
    if (!given[0]->string()) return fail(Fault::BadInput, "trim: chars is not a string");
    const auto& set = given[0]->string()->text;
    MINFER_TRY(runtime.charge(1 + static_cast<int64_t>((text.size() + set.size()) / 16)));
    return runtime.string(std::string(strip_set(text, set, true, true)));
}

Result<Value> string(Runtime& runtime, const Value& self, const Args& args) {
    MINFER_TRY(bind("string", args, {}, 0));
    if (self.string()) return self;
    auto text = MINFER_TRY(to_str(runtime, self));
    return runtime.string(std::move(text));
}

Result<Value> safe(Runtime& runtime, const Value& self, const Args& args) {
    MINFER_TRY(bind("safe", args, {}, 0));
    auto text = MINFER_TRY(to_str(runtime, self));
    return runtime.string(std::move(text), true);
}

Result<Value> replace(Runtime& runtime, const Value& self, const Args& args) {
    const auto given = MINFER_TRY(bind("replace", args, {"old", "new", "count"}, 2));
    const auto text = MINFER_TRY(to_str(runtime, self));
    const auto from = MINFER_TRY(to_str(runtime, *given[0]));
    const auto to = MINFER_TRY(to_str(runtime, *given[1]));
    int64_t most = -1;
    if (given[2] && !given[2]->is<None>()) {
        const auto count = as_integer(*given[2]);
        if (!count) return fail(Fault::BadInput, "replace: count is not an integer");
        most = clamp_to_int64(*count);
    }
    auto out = MINFER_TRY(replace_all(runtime, text, from, to, most));
    return runtime.string(std::move(out));
}

Result<Value> default_value(Runtime&, const Value& self, const Args& args) {
    const auto given = MINFER_TRY(bind("default", args, {"default_value", "boolean"}, 0));
    const bool also_false = given[1] && truthy(*given[1]);
    if (!self.is_undefined() && !(also_false && !truthy(self))) return self;
    return given[0] ? *given[0] : make_string("");
}

std::optional<Integer> truncated(double d) {
    if (!std::isfinite(d) || std::fabs(d) >= 0x1p126) return std::nullopt;
    return static_cast<Integer>(d);
}

Result<Value> to_int(Runtime&, const Value& self, const Args& args) {
    const auto given = MINFER_TRY(bind("int", args, {"default", "base"}, 0));
    if (given[1] && !equal(*given[1], make_int(10)))
        return fail(Fault::Unsupported, "int with a base other than 10");
    const Value fallback = given[0].value_or(make_int(0));
    if (self.is_undefined()) return undefined_error(self);
    if (const auto i = as_integer(self)) return make_int(*i);
    std::optional<double> number = as_double(self);
    if (const auto* s = self.string()) {
        if (const auto i = python_int(s->text)) return make_int(*i);
        number = python_float(s->text);
    }
    if (!number || !std::isfinite(*number)) return fallback;
    const auto i = truncated(*number);
    if (!i) return fail(Fault::BadInput, "int: {} grows beyond 127 bits", *number);
    return make_int(*i);
}

Result<Value> to_float(Runtime&, const Value& self, const Args& args) {
    const auto given = MINFER_TRY(bind("float", args, {"default"}, 0));
    if (self.is_undefined()) return undefined_error(self);
    if (const auto d = as_double(self)) return Value{*d};
    if (const auto* s = self.string())
        if (const auto d = python_float(s->text)) return Value{*d};
    return given[0].value_or(Value{0.0});
}

Result<Value> absolute(Runtime&, const Value& self, const Args& args) {
    MINFER_TRY(bind("abs", args, {}, 0));
    if (const auto* d = self.get<double>()) return Value{std::fabs(*d)};
    const auto i = as_integer(self);
    if (!i) return fail(Fault::BadInput, "bad operand type for abs(): '{}'", type_name(self));
    return *i < 0 ? unary(Op::Neg, self) : unary(Op::Pos, self);
}

Result<Value> indent(Runtime& runtime, const Value& self, const Args& args) {
    const auto given = MINFER_TRY(bind("indent", args, {"width", "first", "blank"}, 0));
    if (!self.string() || self.string()->markup)
        return fail(self.string() ? Fault::Unsupported : Fault::BadInput, "indent of a '{}'",
                    type_name(self));
    std::string indentation(4, ' ');
    if (given[0]) {
        const auto width = as_integer(*given[0]);
        if (!width && !given[0]->string())
            return fail(Fault::BadInput, "indent: width is neither a number nor a string");
        if (width && *width > 1024) return fail(Fault::BadInput, "indent: width over 1024");
        indentation = width ? std::string(static_cast<size_t>(std::max<Integer>(*width, 0)), ' ')
                            : given[0]->string()->text;
    }
    const bool first = given[1] && truthy(*given[1]), blank = given[2] && truthy(*given[2]);
    std::string out = first ? indentation : "";
    const auto lines = split_lines(self.string()->text + "\n", false);
    for (size_t i = 0; i < lines.size(); ++i) {
        MINFER_TRY(runtime.charge(1, lines[i].size() + indentation.size()));
        if (i > 0) out += "\n";
        if (i > 0 && (blank || !lines[i].empty())) out += indentation;
        out += lines[i];
    }
    return runtime.string(std::move(out));
}

constexpr FilterInfo kFilters[] = {
    {"abs", absolute},
    {"capitalize", on_text<to_capitalized>},
    {"count", length},
    {"d", default_value},
    {"default", default_value},
    {"first", first_filter},
    {"float", to_float},
    {"indent", indent},
    {"int", to_int},
    {"items", items_filter},
    {"join", join_filter},
    {"last", last_filter},
    {"length", length},
    {"list", list_filter},
    {"lower", on_text<to_lower>},
    {"map", map_filter},
    {"reject", reject_filter},
    {"rejectattr", rejectattr_filter},
    {"replace", replace},
    {"reverse", reverse_filter},
    {"safe", safe},
    {"select", select_filter},
    {"selectattr", selectattr_filter},
    {"string", string},
    {"title", on_text<title_words>},
    {"tojson", tojson},
    {"trim", trim},
    {"upper", on_text<to_upper>},
};

}  // namespace

const FilterInfo* find_filter(std::string_view name) {
    const auto found = std::ranges::find(kFilters, name, &FilterInfo::name);
    return found == std::end(kFilters) ? nullptr : found;
}

}  // namespace minfer::jinja

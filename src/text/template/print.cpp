#include "text/template/print.h"

#include <algorithm>
#include <cmath>

#include "text/template/loop.h"
#include "text/template/unicode.h"

namespace minfer::jinja {
namespace {

void append_string_repr(std::string& out, std::string_view text) {
    const bool has_single = text.find('\'') != std::string_view::npos;
    const bool has_double = text.find('"') != std::string_view::npos;
    const char quote = has_single && !has_double ? '"' : '\'';
    out.push_back(quote);
    for (size_t at = 0; at < text.size();) {
        const char32_t c = next_point(text, at);
        const auto value = static_cast<uint32_t>(c);
        if (c == static_cast<unsigned char>(quote) || c == '\\') {
            out.push_back('\\');
            out.push_back(static_cast<char>(c));
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\r') {
            out += "\\r";
        } else if (c == '\t') {
            out += "\\t";
        } else if (is_printable(c)) {
            append_point(out, c);
        } else if (c < 0x100) {
            out += fmt::format("\\x{:02x}", value);
        } else if (c < 0x10000) {
            out += fmt::format("\\u{:04x}", value);
        } else {
            out += fmt::format("\\U{:08x}", value);
        }
    }
    out.push_back(quote);
}

Result<> append_repr(std::string& out, const Value& value);

Result<> append_items(std::string& out, const std::vector<Value>& items) {
    for (size_t i = 0; i < items.size(); ++i) {
        if (i > 0) out += ", ";
        MINFER_TRY(append_repr(out, items[i]));
    }
    return {};
}

Result<> append_sequence(std::string& out, const Sequence& sequence) {
    using Form = Sequence::Form;
    const bool is_tuple = sequence.form == Form::Tuple;
    const bool is_view = !is_tuple && sequence.form != Form::List;
    if (is_view)
        out += type_name(Value{std::make_shared<const Sequence>(Sequence{sequence.form, {}, {}})}) +
               "(";
    out += is_tuple ? "(" : "[";
    MINFER_TRY(append_items(out, sequence.items));
    if (is_tuple && sequence.items.size() == 1) out += ",";
    out += is_tuple ? ")" : "]";
    if (is_view) out += ")";
    return {};
}

Result<> append_dict(std::string& out, const Dict& dict) {
    out += "{";
    bool first = true;
    for (const auto& [key, item] : dict.entries) {
        if (!first) out += ", ";
        first = false;
        MINFER_TRY(append_repr(out, key));
        out += ": ";
        MINFER_TRY(append_repr(out, item));
    }
    out += "}";
    return {};
}

void append_range(std::string& out, const Range& range) {
    out += fmt::format("range({}, {}", range.start, range.stop);
    if (range.step != 1) out += fmt::format(", {}", range.step);
    out += ")";
}

Result<> append_repr(std::string& out, const Value& value) {
    if (value.is_undefined()) {
        out += "Undefined";
    } else if (value.is<None>()) {
        out += "None";
    } else if (const auto* b = value.get<bool>()) {
        out += *b ? "True" : "False";
    } else if (const auto* i = value.get<Integer>()) {
        out += fmt::format("{}", *i);
    } else if (const auto* d = value.get<double>()) {
        out += float_repr(*d);
    } else if (const auto* s = value.string()) {
        if (s->markup) out += "Markup(";
        append_string_repr(out, s->text);
        if (s->markup) out += ")";
    } else if (const auto* sequence = value.sequence()) {
        return append_sequence(out, *sequence);
    } else if (const auto* dict = value.dict()) {
        return append_dict(out, *dict);
    } else if (const auto* range = value.get<Range>()) {
        append_range(out, *range);
    } else if (const auto* loop = value.get<Loop*>()) {
        const auto length = MINFER_TRY((*loop)->length());
        out += fmt::format("<LoopContext {}/{}>", (*loop)->index0 + 1, length);
    } else if (const auto* macro = value.get<const Macro*>()) {
        out += "<Macro ";
        append_string_repr(out, macro_name(**macro));
        out += ">";
    } else {  // Python would print an address or an internal name
        return fail(Fault::Unsupported, "printing a '{}' object", type_name(value));
    }
    return {};
}

void append_json_string(std::string& out, std::string_view text, bool ascii_only) {
    out.push_back('"');
    for (size_t at = 0; at < text.size();) {
        const char32_t c = next_point(text, at);
        const auto value = static_cast<uint32_t>(c);
        constexpr std::string_view kFrom = "\"\\\n\r\t\f\b", kTo = "\"\\nrtfb";
        const size_t k = c < 0x80 ? kFrom.find(static_cast<char>(c)) : std::string_view::npos;
        if (k != std::string_view::npos) {
            out.push_back('\\');
            out.push_back(kTo[k]);
        } else if (c < 0x20 || (ascii_only && c >= 0x7f && c < 0x10000)) {
            out += fmt::format("\\u{:04x}", value);
        } else if (ascii_only && c >= 0x10000) {
            out +=
                fmt::format("\\u{:04x}\\u{:04x}", 0xd7c0 + (value >> 10), 0xdc00 + (value & 0x3ff));
        } else {
            append_point(out, c);
        }
    }
    out.push_back('"');
}

std::string json_float(double d) {
    if (std::isnan(d)) return "NaN";
    if (std::isinf(d)) return d < 0 ? "-Infinity" : "Infinity";
    return float_repr(d);
}

class JsonWriter {
  public:
    JsonWriter(Runtime& runtime, const JsonStyle& style) : runtime_(runtime), style_(style) {}

    Result<> write(const Value& value) {
        if (const auto* s = value.string()) {
            append_json_string(out, s->text, style_.ascii_only);
            return {};
        }
        if (const auto* dict = value.dict()) return write_dict(*dict);
        if (const auto* sequence = value.sequence();
            sequence &&
            (sequence->form == Sequence::Form::List || sequence->form == Sequence::Form::Tuple))
            return write_list(*sequence);
        const auto text = scalar(value);
        if (!text)
            return fail(Fault::BadInput, "Object of type {} is not JSON serializable",
                        type_name(value));
        out += *text;
        return {};
    }

    std::string out;

  private:
    static std::optional<std::string> scalar(const Value& value) {
        if (value.is<None>()) return "null";
        if (const auto* b = value.get<bool>()) return *b ? "true" : "false";
        if (const auto* i = value.get<Integer>()) return fmt::format("{}", *i);
        if (const auto* d = value.get<double>()) return json_float(*d);
        return std::nullopt;
    }

    Result<> new_line() {
        if (!style_.indented) return {};
        const size_t bytes = level_ * style_.indent.size() + 1;
        MINFER_TRY(runtime_.charge(1, bytes));
        out.push_back('\n');
        for (size_t i = 0; i < level_; ++i) out += style_.indent;
        return {};
    }

    Result<> write_list(const Sequence& list) {
        if (list.items.empty()) {
            out += "[]";
            return {};
        }
        out += "[";
        ++level_;
        for (size_t i = 0; i < list.items.size(); ++i) {
            if (i > 0) out += style_.item_separator;
            MINFER_TRY(new_line());
            MINFER_TRY(write(list.items[i]));
        }
        --level_;
        MINFER_TRY(new_line());
        out += "]";
        return {};
    }

    Result<> write_dict(const Dict& dict) {
        if (dict.entries.empty()) {
            out += "{}";
            return {};
        }
        std::vector<const std::pair<Value, Value>*> entries;
        for (const auto& entry : dict.entries) entries.push_back(&entry);
        if (style_.sort_keys) MINFER_TRY(sort(entries));
        out += "{";
        ++level_;
        for (size_t i = 0; i < entries.size(); ++i) {
            if (i > 0) out += style_.item_separator;
            MINFER_TRY(new_line());
            const Value& key = entries[i]->first;
            const auto* s = key.string();
            const auto text = s ? s->text : scalar(key);
            if (!text)
                return fail(Fault::BadInput, "keys must be str, int, float, bool or None, not {}",
                            type_name(key));
            append_json_string(out, *text, style_.ascii_only);
            out += style_.key_separator;
            MINFER_TRY(write(entries[i]->second));
        }
        --level_;
        MINFER_TRY(new_line());
        out += "}";
        return {};
    }

    static Result<> sort(std::vector<const std::pair<Value, Value>*>& entries) {
        for (const auto* entry : entries)
            if (!entry->first.string() && entries.size() > 1)
                return fail(Fault::Unsupported,
                            "tojson with sort_keys of keys that are no strings");
        std::ranges::sort(entries, {}, [](const auto* entry) {
            const auto* s = entry->first.string();
            return s ? std::string_view(s->text) : std::string_view();
        });
        return {};
    }

    Runtime& runtime_;
    const JsonStyle& style_;
    size_t level_ = 0;
};

}  // namespace

std::string float_repr(double d) {
    if (std::isnan(d)) return "nan";
    if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
    auto text = fmt::format("{}", d);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
}

Result<> append_str(Runtime& runtime, std::string& out, const Value& value) {
    if (value.is_undefined()) return {};
    if (const auto* s = value.string()) {
        MINFER_TRY(runtime.charge(1, s->text.size()));
        out += s->text;
        return {};
    }
    MINFER_TRY(runtime.charge_walk(value));
    const size_t before = out.size();
    MINFER_TRY(append_repr(out, value));
    return runtime.charge(1, out.size() - before);
}

Result<std::string> to_str(Runtime& runtime, const Value& value) {
    std::string out;
    MINFER_TRY(append_str(runtime, out, value));
    return out;
}

Result<std::string> to_repr(Runtime& runtime, const Value& value) {
    MINFER_TRY(runtime.charge_walk(value));
    std::string out;
    MINFER_TRY(append_repr(out, value));
    return out;
}

Result<std::string> to_json(Runtime& runtime, const Value& value, const JsonStyle& style) {
    MINFER_TRY(runtime.charge_walk(value));
    JsonWriter writer(runtime, style);
    MINFER_TRY(writer.write(value));
    return std::move(writer.out);
}

}  // namespace minfer::jinja

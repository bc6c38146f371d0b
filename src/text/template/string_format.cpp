// str.format and the % operator of strings: the parts that templates use. What is left out is
// refused by name.
#include <algorithm>
#include <cmath>
#include <limits>

#include "text/template/methods.h"
#include "text/template/operators.h"
#include "text/template/print.h"
#include "text/template/string_literal.h"
#include "text/template/unicode.h"

namespace minfer::jinja {
namespace {

// [[fill]align][sign][0][width][,][.precision][type]
struct Spec {
    std::string fill = " ";
    char align = 0;  // < > ^ =, 0: by type
    char sign = '-';
    bool commas = false;
    int64_t width = 0;
    std::optional<int64_t> precision;
    char type = 0;
};

constexpr int64_t kMaxWidth = 1 << 20, kMaxPrecision = 100;

Result<int64_t> read_number(std::string_view& text, int64_t most) {
    int64_t value = 0;
    while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
        value = value * 10 + (text[0] - '0');
        if (value > most) return fail(Fault::BadInput, "format width or precision over {}", most);
        text.remove_prefix(1);
    }
    return value;
}

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

Result<Spec> parse_spec(std::string_view text) {
    const auto whole = text;
    Spec spec;
    if (!text.empty()) {
        size_t at = 0;
        next_point(text, at);
        if (at < text.size() && is_align(text[at])) {
            spec.fill = text.substr(0, at);
            spec.align = text[at];
            text.remove_prefix(at + 1);
        } else if (is_align(text[0])) {
            spec.align = text[0];
            text.remove_prefix(1);
        }
    }
    if (!text.empty() && (text[0] == '+' || text[0] == '-' || text[0] == ' ')) {
        spec.sign = text[0];
        text.remove_prefix(1);
    }
    if (!text.empty() && text[0] == '0') {
        if (!spec.align) spec.fill = "0", spec.align = '=';
        text.remove_prefix(1);
    }
    spec.width = MINFER_TRY(read_number(text, kMaxWidth));
    if (!text.empty() && text[0] == ',') {
        spec.commas = true;
        text.remove_prefix(1);
    }
    if (!text.empty() && text[0] == '.') {
        text.remove_prefix(1);
        if (text.empty() || text[0] < '0' || text[0] > '9')
            return fail(Fault::BadInput, "format specifier missing precision");
        spec.precision = MINFER_TRY(read_number(text, std::numeric_limits<int32_t>::max()));
    }
    if (!text.empty() && std::string_view("sdf").contains(text[0])) {
        spec.type = text[0];
        text.remove_prefix(1);
    }
    if (!text.empty()) return fail(Fault::Unsupported, "format specifier '{}'", whole);
    return spec;
}

std::string with_commas(const std::string& number) {
    const size_t end = std::min(number.find('.'), number.size());
    std::string out;
    for (size_t i = 0; i < number.size(); ++i) {
        if (i > 0 && i < end && (end - i) % 3 == 0) out.push_back(',');
        out.push_back(number[i]);
    }
    return out;
}

std::string pad(const Spec& spec, const std::string& sign, const std::string& body, char align) {
    const auto size = static_cast<int64_t>(sign.size() + count_points(body));
    const int64_t missing = std::max<int64_t>(spec.width - size, 0);
    const int64_t before = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
    std::string left, right;
    for (int64_t i = 0; i < missing; ++i) (i < before ? left : right) += spec.fill;
    return align == '=' ? sign + left + body : left + sign + body + right;
}

Result<std::string> format_number(const Value& value, const Spec& spec) {
    const auto i = as_integer(value);
    const double d = *as_double(value);
    std::string body;
    bool negative = false;
    if (i && spec.type != 'f') {
        if (spec.precision)
            return fail(Fault::BadInput, "precision not allowed in integer format specifier");
        negative = *i < 0;
        body = fmt::format("{}", *i);
        if (negative) body.erase(0, 1);
    } else if (spec.type == 'f') {
        const int64_t precision = spec.precision.value_or(6);
        if (precision > kMaxPrecision)
            return fail(Fault::BadInput, "format precision over {}", kMaxPrecision);
        negative = std::signbit(d) && !std::isnan(d);
        body = fmt::format("{:.{}f}", std::fabs(d), static_cast<int>(precision));
    } else if (spec.type == 'd') {
        return fail(Fault::BadInput, "unknown format code 'd' for object of type 'float'");
    } else {
        if (spec.precision) return fail(Fault::Unsupported, "precision of a float without type");
        negative = std::signbit(d) && !std::isnan(d);
        body = float_repr(std::fabs(d));
    }
    if (spec.commas) body = with_commas(body);
    const std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
    return pad(spec, sign, body, spec.align ? spec.align : '>');
}

class FormatCall {
  public:
    FormatCall(Runtime& runtime, std::string_view text, const Args& args)
        : runtime_(runtime), text_(text), args_(args) {}

    Result<std::string> run() {
        while (at_ < text_.size()) {
            const char c = text_[at_++];
            if (c != '{' && c != '}') {
                out_.push_back(c);
            } else if (at_ < text_.size() && text_[at_] == c) {
                out_.push_back(c);
                ++at_;
            } else if (c == '}') {
                return fail(Fault::BadInput, "Single '}}' encountered in format string");
            } else {
                MINFER_TRY(field());
            }
        }
        return std::move(out_);
    }

  private:
    Result<> field() {
        const size_t end = text_.find('}', at_);
        if (end == std::string_view::npos)
            return fail(Fault::BadInput, "expected '}}' before end of string");
        const auto inside = text_.substr(at_, end - at_);
        if (inside.contains('{')) return fail(Fault::Unsupported, "nested fields in format()");
        at_ = end + 1;
        const size_t colon = std::min(inside.find(':'), inside.size());
        const auto head = inside.substr(0, colon);
        const auto spec = colon < inside.size() ? inside.substr(colon + 1) : std::string_view();
        const size_t bang = std::min(head.find('!'), head.size());
        auto value = MINFER_TRY(lookup(head.substr(0, bang)));
        if (bang < head.size()) {
            const auto conversion = head.substr(bang + 1);
            if (conversion != "r" && conversion != "s")
                return fail(Fault::Unsupported, "conversion '!{}' in format()", conversion);
            auto text = conversion == "r" ? to_repr(runtime_, value) : to_str(runtime_, value);
            if (!text) return std::unexpected(text.error());
            value = make_string(*std::move(text));
        }
        const auto text = MINFER_TRY(format_value(runtime_, value, spec));
        MINFER_TRY(runtime_.charge(1, text.size()));
        out_ += text;
        return {};
    }

    Result<Value> lookup(std::string_view name) {
        if (name.find_first_of(".[") != std::string_view::npos)
            return fail(Fault::Unsupported, "look-up '{}' in format()", name);
        const bool numbered =
            !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
        if (!name.empty() && !numbered) {
            for (const auto& [key, value] : args_.named)
                if (key == name) return value;
            return fail(Fault::BadInput, "format() has no argument '{}'", name);
        }
        if (numbering_ && *numbering_ != numbered)
            return fail(Fault::BadInput, "format() mixes numbered and unnumbered fields");
        numbering_ = numbered;
        const auto index = numbered ? parse_integer(name, 10) : std::optional<Integer>(next_++);
        if (!index || *index >= static_cast<Integer>(args_.positional.size()))
            return fail(Fault::BadInput,
                        "Replacement index out of range for positional args tuple");
        return args_.positional[static_cast<size_t>(*index)];
    }

    Runtime& runtime_;
    std::string_view text_;
    const Args& args_;
    size_t at_ = 0;
    Integer next_ = 0;
    std::optional<bool> numbering_;
    std::string out_;
};

}  // namespace

Result<std::string> format_value(Runtime& runtime, const Value& value, std::string_view text) {
    if (text.empty()) return to_str(runtime, value);
    auto spec = MINFER_TRY(parse_spec(text));
    MINFER_TRY(runtime.charge(1, static_cast<size_t>(spec.width) * spec.fill.size()));
    const bool is_bool_text = value.is<bool>() && spec.type == 0;
    if (is_number(value) && !is_bool_text && spec.type != 's') return format_number(value, spec);
    if (!value.string())
        return fail(Fault::BadInput, "unsupported format string passed to {}.__format__",
                    type_name(value));
    if (spec.type != 0 && spec.type != 's')
        return fail(Fault::BadInput, "unknown format code '{}' for object of type 'str'",
                    spec.type);
    if (spec.sign != '-' || spec.commas)
        return fail(Fault::BadInput, "sign or ',' not allowed in string format specifier");
    if (spec.align == '=' && spec.fill != "0")
        return fail(Fault::BadInput, "'=' alignment not allowed in string format specifier");
    std::string body = value.string()->text;
    if (spec.precision && *spec.precision < static_cast<int64_t>(count_points(body)))
        body.resize(byte_offset(body, static_cast<size_t>(*spec.precision)));
    return pad(spec, "", body, spec.align && spec.align != '=' ? spec.align : '<');
}

Result<Value> format_method(Runtime& runtime, const String& format, const Args& args) {
    auto out = MINFER_TRY(FormatCall(runtime, format.text, args).run());
    return runtime.string(std::move(out));
}

Result<Value> percent_format(Runtime& runtime, const String& format, const Value& values) {
    if (format.markup) return fail(Fault::Unsupported, "% of a string marked safe");
    const auto* tuple = values.sequence();
    if (tuple && tuple->form != Sequence::Form::Tuple) tuple = nullptr;
    const size_t given = tuple ? tuple->items.size() : 1;
    size_t used = 0;
    std::string out;
    std::string_view text = format.text;
    while (!text.empty()) {
        const size_t percent = std::min(text.find('%'), text.size());
        out += text.substr(0, percent);
        text = text.substr(percent);
        if (text.empty()) break;
        text.remove_prefix(1);
        if (text.empty()) return fail(Fault::BadInput, "incomplete format");
        Spec spec;
        if (text[0] == '0') spec.fill = "0", spec.align = '=';
        spec.width = MINFER_TRY(read_number(text, kMaxWidth));
        if (text.starts_with('.')) {
            text.remove_prefix(1);
            spec.precision = MINFER_TRY(read_number(text, kMaxPrecision));
        }
        if (text.empty()) return fail(Fault::BadInput, "incomplete format");
        const char type = text[0];
        text.remove_prefix(1);
        if (type == '%') {
            out.push_back('%');
            continue;
        }
        if (!std::string_view("srdif").contains(type))
            return fail(Fault::Unsupported, "conversion '%{}' of strings", type);
        if (used == given) return fail(Fault::BadInput, "not enough arguments for format string");
        const Value& value = tuple ? tuple->items[used] : values;
        ++used;
        MINFER_TRY(runtime.charge(1, static_cast<size_t>(spec.width)));
        if (type == 's' || type == 'r') {
            auto body = type == 's' ? to_str(runtime, value) : to_repr(runtime, value);
            if (!body) return std::unexpected(body.error());
            if (spec.precision && *spec.precision < static_cast<int64_t>(count_points(*body)))
                body->resize(byte_offset(*body, static_cast<size_t>(*spec.precision)));
            spec.fill = " ";
            out += pad(spec, "", *body, '>');
            continue;
        }
        if (!is_number(value))
            return fail(Fault::BadInput, "%{} format: a real number is required, not {}", type,
                        type_name(value));
        if (type != 'f' && spec.precision)
            return fail(Fault::Unsupported, "precision of '%{}'", type);
        Value number = value;
        if (const auto* d = value.get<double>(); d && type != 'f') {
            if (!std::isfinite(*d) || std::fabs(*d) > 1e37)
                return fail(Fault::BadInput, "cannot convert float to integer");
            number = make_int(static_cast<Integer>(*d));
        }
        if (const auto i = as_integer(number)) number = make_int(*i);
        spec.type = type == 'f' ? 'f' : 0;
        const auto shown = MINFER_TRY(format_number(number, spec));
        out += shown;
    }
    if (tuple ? used < given : used == 0 && !values.dict() && !values.sequence())
        return fail(Fault::BadInput, "not all arguments converted during string formatting");
    return runtime.string(std::move(out));
}

}  // namespace minfer::jinja

#include "text/template/operators.h"

#include <algorithm>
#include <cmath>

#include "text/template/print.h"

namespace minfer::jinja {
namespace {

std::string_view symbol(Op op) {
    switch (op) {
        case Op::Add:
        case Op::Pos:
            return "+";
        case Op::Sub:
        case Op::Neg:
            return "-";
        case Op::Mul:
            return "*";
        case Op::Div:
            return "/";
        case Op::FloorDiv:
            return "//";
        case Op::Mod:
            return "%";
        case Op::Pow:
            return "**";
        case Op::Eq:
            return "==";
        case Op::Ne:
            return "!=";
        case Op::Lt:
            return "<";
        case Op::Le:
            return "<=";
        case Op::Gt:
            return ">";
        case Op::Ge:
            return ">=";
        case Op::In:
            return "in";
        case Op::NotIn:
            return "not in";
    }
    std::unreachable();
}

std::unexpected<Error> too_large() {
    return fail(Fault::BadInput, "an integer grows beyond 127 bits");
}
std::unexpected<Error> unsupported_operands(Op op, const Value& a, const Value& b) {
    return fail(Fault::BadInput, "unsupported operand type(s) for {}: '{}' and '{}'", symbol(op),
                type_name(a), type_name(b));
}

Result<Value> integer_power(Integer base, Integer exponent) {
    if (exponent < 0) {
        if (base == 0) return fail(Fault::BadInput, "0.0 cannot be raised to a negative power");
        return Value{std::pow(static_cast<double>(base), static_cast<double>(exponent))};
    }
    Integer result = 1;
    while (exponent > 0) {
        if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) return too_large();
        exponent >>= 1;
        if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return too_large();
    }
    return make_int(result);
}

Result<Value> integers(Op op, Integer a, Integer b) {
    Integer result = 0;
    bool overflow = false;
    switch (op) {
        case Op::Add:
            overflow = __builtin_add_overflow(a, b, &result);
            break;
        case Op::Sub:
            overflow = __builtin_sub_overflow(a, b, &result);
            break;
        case Op::Mul:
            overflow = __builtin_mul_overflow(a, b, &result);
            break;
        case Op::Pow:
            return integer_power(a, b);
        default: {
            if (b == 0)
                return fail(
                    Fault::BadInput, "{}",
                    op == Op::Div ? "division by zero" : "integer division or modulo by zero");
            if (op == Op::Div)
                return Value{
                    static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b))};
            if (b == -1) {  // the one quotient that can overflow
                if (op == Op::Mod) return make_int(0);
                overflow = __builtin_sub_overflow(Integer{0}, a, &result);
                break;
            }
            // Python rounds down, C++ towards zero.
            const Integer remainder = a % b;
            const bool below = remainder != 0 && (remainder < 0) != (b < 0);
            result = op == Op::FloorDiv ? a / b - below : remainder + (below ? b : 0);
        }
    }
    if (overflow) return too_large();
    return make_int(result);
}

double python_mod(double a, double b) {
    double remainder = std::fmod(a, b);
    if (remainder == 0) return std::copysign(0.0, b);
    if ((remainder < 0) != (b < 0)) remainder += b;
    return remainder;
}

// As CPython computes it, from the remainder, so that the two agree.
double python_floor_div(double a, double b) {
    const double remainder = std::fmod(a, b);
    double quotient = (a - remainder) / b;
    if (remainder != 0 && (remainder < 0) != (b < 0)) quotient -= 1;
    if (quotient == 0) return std::copysign(0.0, a / b);
    const double floored = std::floor(quotient);
    return quotient - floored > 0.5 ? floored + 1 : floored;
}

Result<Value> floats(Op op, double a, double b) {
    switch (op) {
        case Op::Add:
            return Value{a + b};
        case Op::Sub:
            return Value{a - b};
        case Op::Mul:
            return Value{a * b};
        case Op::Pow: {
            if (a == 0 && b < 0)
                return fail(Fault::BadInput, "0.0 cannot be raised to a negative power");
            const double power = std::pow(a, b);
            if (std::isnan(power) && !std::isnan(a) && !std::isnan(b))
                return fail(Fault::Unsupported, "a power that is a complex number");
            if (std::isinf(power) && !std::isinf(a) && !std::isinf(b))
                return fail(Fault::BadInput, "numerical result out of range");
            return Value{power};
        }
        default:
            break;
    }
    if (b == 0)
        return fail(Fault::BadInput, "{}",
                    op == Op::Div        ? "float division by zero"
                    : op == Op::FloorDiv ? "float floor division by zero"
                                         : "float modulo");
    if (op == Op::Div) return Value{a / b};
    return Value{op == Op::Mod ? python_mod(a, b) : python_floor_div(a, b)};
}

Result<Value> add_strings(Runtime& runtime, const String& a, const String& b) {
    const auto text = [&](const String& s) {
        return s.markup || !(a.markup || b.markup) ? s.text : escape_html(s.text);
    };
    return runtime.string(text(a) + text(b), a.markup || b.markup);
}

bool is_listlike(const Sequence* s) {
    return s && (s->form == Sequence::Form::List || s->form == Sequence::Form::Tuple);
}

Result<Value> repeat(Runtime& runtime, const Value& what, Integer times) {
    times = std::max<Integer>(times, 0);
    constexpr Integer kMost = Integer{1} << 32;  // so that the products below fit
    const auto count = static_cast<size_t>(std::min(times, kMost));
    if (const auto* s = what.string()) {
        if (s->text.empty()) return what;
        MINFER_TRY(runtime.charge(static_cast<int64_t>(count), count * s->text.size()));
        std::string out;
        for (size_t i = 0; i < count; ++i) out += s->text;
        return make_string(std::move(out), s->markup);
    }
    const auto& list = *what.sequence();
    if (list.items.empty()) return what;
    MINFER_TRY(
        runtime.charge(static_cast<int64_t>(count), count * list.items.size() * sizeof(Value)));
    std::vector<Value> items;
    for (size_t i = 0; i < count; ++i)
        items.insert(items.end(), list.items.begin(), list.items.end());
    return runtime.sequence(std::move(items), list.form);
}

}  // namespace

std::string escape_html(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '\'':
                out += "&#39;";
                break;
            case '"':
                out += "&#34;";
                break;
            default:
                out.push_back(c);
        }
    }
    return out;
}

Result<Value> unary(Op op, const Value& value) {
    if (value.is_undefined()) return undefined_error(value);
    if (const auto i = as_integer(value)) {
        if (op == Op::Pos) return make_int(*i);
        return integers(Op::Sub, 0, *i);
    }
    if (const auto* d = value.get<double>()) return Value{op == Op::Neg ? -*d : *d};
    return fail(Fault::BadInput, "bad operand type for unary {}: '{}'", symbol(op),
                type_name(value));
}

Result<Value> binary(Runtime& runtime, Op op, const Value& a, const Value& b) {
    // A string on the left formats whatever is on the right, also what is undefined.
    if (op == Op::Mod && a.string()) return percent_format(runtime, *a.string(), b);
    for (const Value* side : {&a, &b})
        if (side->is_undefined()) return undefined_error(*side);
    const auto ia = as_integer(a), ib = as_integer(b);
    if (ia && ib) return integers(op, *ia, *ib);
    const auto da = as_double(a), db = as_double(b);
    if (da && db) return floats(op, *da, *db);
    if (op == Op::Add) {
        if (a.string() && b.string()) return add_strings(runtime, *a.string(), *b.string());
        const auto *x = a.sequence(), *y = b.sequence();
        if (is_listlike(x) && is_listlike(y) && x->form == y->form) {
            std::vector<Value> items = x->items;
            items.insert(items.end(), y->items.begin(), y->items.end());
            return runtime.sequence(std::move(items), x->form);
        }
        if (a.string())
            return fail(Fault::BadInput, "can only concatenate str (not \"{}\") to str",
                        type_name(b));
    }
    if (op == Op::Mul) {
        if ((a.string() || is_listlike(a.sequence())) && ib) return repeat(runtime, a, *ib);
        if ((b.string() || is_listlike(b.sequence())) && ia) return repeat(runtime, b, *ia);
    }
    return unsupported_operands(op, a, b);
}

Result<bool> contains(Runtime& runtime, const Value& container, const Value& item) {
    if (const auto* s = container.string()) {
        const auto* needle = item.string();
        if (!needle)
            return item.is_undefined()
                       ? fail(Fault::BadInput,
                              "'in <string>' requires string as left operand, not Undefined")
                       : fail(Fault::BadInput,
                              "'in <string>' requires string as left operand, not {}",
                              type_name(item));
        MINFER_TRY(runtime.charge_walk(container));
        return s->text.find(needle->text) != std::string::npos;
    }
    if (const auto* dict = container.dict()) {
        if (!hashable(item)) return fail(Fault::BadInput, "unhashable type: '{}'", type_name(item));
        if (!item.string()) MINFER_TRY(runtime.charge_walk(container));
        return dict->find(item) != nullptr;
    }
    if (const auto* range = container.get<Range>()) {
        const auto wanted = as_double(item);
        if (!wanted) return false;
        for (int64_t i = 0, n = range->size(); i < n; ++i)
            if (equal(make_int(range->at(i)), item)) return true;
        return false;
    }
    if (!container.sequence() && !container.is<GeneratorRef>() && !container.is_undefined())
        return fail(Fault::BadInput, "argument of type '{}' is not iterable", type_name(container));
    auto cursor = MINFER_TRY(Cursor::over(container));
    const auto weight = extent_of(item).weight;
    while (const auto candidate = cursor.next()) {
        MINFER_TRY(runtime.charge(std::min(weight, extent_of(*candidate).weight)));
        if (equal(*candidate, item)) return true;
    }
    return false;
}

Result<bool> compare_with(Runtime& runtime, Op op, const Value& a, const Value& b) {
    if (op == Op::In || op == Op::NotIn) {
        const bool found = MINFER_TRY(contains(runtime, b, a));
        return found == (op == Op::In);
    }
    const auto cost = std::min(extent_of(a).weight, extent_of(b).weight);
    // Views of keys and items are compared as sets, pair by pair.
    const bool views = a.sequence() && !is_listlike(a.sequence());
    MINFER_TRY(runtime.charge(views ? cost * cost : cost));
    if (op == Op::Eq) return equal(a, b);
    if (op == Op::Ne) return !equal(a, b);
    const int order = MINFER_TRY(compare(a, b, symbol(op)));
    if (order == 2) return false;
    switch (op) {
        case Op::Lt:
            return order < 0;
        case Op::Le:
            return order <= 0;
        case Op::Gt:
            return order > 0;
        default:
            return order >= 0;
    }
}

}  // namespace minfer::jinja

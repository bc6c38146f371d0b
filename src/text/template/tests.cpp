// What follows `is`.
#include <algorithm>
#include <iterator>

#include "text/template/filters.h"
#include "text/template/loop.h"
#include "text/template/operators.h"

namespace minfer::jinja {
namespace {

template <auto predicate>
Result<bool> plain(Runtime&, const Value& self, const Args& args) {
    MINFER_TRY(bind("the test", args, {}, 0));
    return predicate(self);
}

template <Op op>
Result<bool> against(Runtime& runtime, const Value& self, const Args& args) {
    const auto given = MINFER_TRY(bind("the test", args, {"other"}, 1));
    return compare_with(runtime, op, self, *given[0]);
}

// value % divisor == wanted
Result<bool> remainder_is(Runtime& runtime, const Value& self, const Value& divisor, int wanted) {
    const auto remainder = MINFER_TRY(binary(runtime, Op::Mod, self, divisor));
    return equal(remainder, make_int(wanted));
}
Result<bool> odd(Runtime& runtime, const Value& self, const Args& args) {
    MINFER_TRY(bind("odd", args, {}, 0));
    return remainder_is(runtime, self, make_int(2), 1);
}
Result<bool> even(Runtime& runtime, const Value& self, const Args& args) {
    MINFER_TRY(bind("even", args, {}, 0));
    return remainder_is(runtime, self, make_int(2), 0);
}
Result<bool> divisibleby(Runtime& runtime, const Value& self, const Args& args) {
    const auto given = MINFER_TRY(bind("divisibleby", args, {"num"}, 1));
    return remainder_is(runtime, self, *given[0], 0);
}

bool is_defined(const Value& v) { return !v.is_undefined(); }
bool is_undefined(const Value& v) { return v.is_undefined(); }
bool is_none(const Value& v) { return v.is<None>(); }
bool is_string(const Value& v) { return v.string() != nullptr; }
bool is_mapping(const Value& v) { return v.dict() != nullptr; }
bool is_boolean(const Value& v) { return v.is<bool>(); }
bool is_true(const Value& v) { return v.is<bool>() && v.as<bool>(); }
bool is_false(const Value& v) { return v.is<bool>() && !v.as<bool>(); }
bool is_integer(const Value& v) { return v.is<Integer>(); }
bool is_float(const Value& v) { return v.is<double>(); }
bool is_iterable(const Value& v) { return Cursor::over(v).has_value() || v.is<Loop*>(); }
bool is_callable(const Value& v) {
    return v.is<MethodRef>() || v.is<Builtin>() || v.is<const Macro*>() || v.is<Loop*>() ||
           v.is_undefined();
}
// Has a length and can be indexed: Jinja's Undefined claims both, a view of a dict only the first.
bool is_sequence(const Value& v) {
    if (const auto* s = v.sequence())
        return s->form == Sequence::Form::List || s->form == Sequence::Form::Tuple;
    return v.string() || v.dict() || v.is<Range>() || v.is_undefined();
}

constexpr TestInfo kTests[] = {
    {"!=", against<Op::Ne>},
    {"<", against<Op::Lt>},
    {"<=", against<Op::Le>},
    {"==", against<Op::Eq>},
    {">", against<Op::Gt>},
    {">=", against<Op::Ge>},
    {"boolean", plain<is_boolean>},
    {"callable", plain<is_callable>},
    {"defined", plain<is_defined>},
    {"divisibleby", divisibleby},
    {"eq", against<Op::Eq>},
    {"equalto", against<Op::Eq>},
    {"even", even},
    {"false", plain<is_false>},
    {"float", plain<is_float>},
    {"ge", against<Op::Ge>},
    {"greaterthan", against<Op::Gt>},
    {"gt", against<Op::Gt>},
    {"in", against<Op::In>},
    {"integer", plain<is_integer>},
    {"iterable", plain<is_iterable>},
    {"le", against<Op::Le>},
    {"lessthan", against<Op::Lt>},
    {"lt", against<Op::Lt>},
    {"mapping", plain<is_mapping>},
    {"ne", against<Op::Ne>},
    {"none", plain<is_none>},
    {"number", plain<is_number>},
    {"odd", odd},
    {"sequence", plain<is_sequence>},
    {"string", plain<is_string>},
    {"true", plain<is_true>},
    {"undefined", plain<is_undefined>},
};

}  // namespace

const TestInfo* find_test(std::string_view name) {
    const auto found = std::ranges::find(kTests, name, &TestInfo::name);
    return found == std::end(kTests) ? nullptr : found;
}

}  // namespace minfer::jinja

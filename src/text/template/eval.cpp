// The expression half of the interpreter.
#include <algorithm>

#include "text/template/filters.h"
#include "text/template/interpreter.h"
#include "text/template/level.h"
#include "text/template/methods.h"
#include "text/template/operators.h"
#include "text/template/print.h"

namespace minfer::jinja {

Result<Value> Interpreter::eval_kind(const Expr& expr, const ScopeRef& scope) {
    switch (expr.kind) {
        case Expr::Kind::Const:
            return expr.constant;
        case Expr::Kind::Name:
            return look_up(expr.name, scope);
        case Expr::Kind::List:
        case Expr::Kind::Tuple:
        case Expr::Kind::Dict:
            return eval_collection(expr, scope);
        case Expr::Kind::Unary:
        case Expr::Kind::Binary:
            return eval_operator(expr, scope);
        case Expr::Kind::And:
        case Expr::Kind::Or: {
            auto left = MINFER_TRY(eval(*expr.kids[0], scope));
            if (truthy(left) == (expr.kind == Expr::Kind::Or)) return left;
            return eval(*expr.kids[1], scope);
        }
        case Expr::Kind::Not: {
            const auto value = MINFER_TRY(eval(*expr.kids[0], scope));
            return make_bool(!truthy(value));
        }
        case Expr::Kind::Compare:
            return eval_compare(expr, scope);
        case Expr::Kind::Concat:
            return eval_concat(expr, scope);
        case Expr::Kind::Cond: {
            const auto test = MINFER_TRY(eval(*expr.kids[0], scope));
            if (truthy(test)) return eval(*expr.kids[1], scope);
            if (expr.kids[2]) return eval(*expr.kids[2], scope);
            return undefined(
                fmt::format("the inline if-expression on line {} evaluated to false "
                            "and no else section was defined.",
                            expr.line));
        }
        case Expr::Kind::Attribute: {
            const auto object = MINFER_TRY(eval(*expr.kids[0], scope));
            return get_attribute(object, expr.name);
        }
        case Expr::Kind::Item: {
            const auto object = MINFER_TRY(eval(*expr.kids[0], scope));
            const auto key = MINFER_TRY(eval(*expr.kids[1], scope));
            return get_item(runtime_, object, key);
        }
        case Expr::Kind::Slice: {
            const auto object = MINFER_TRY(eval(*expr.kids[0], scope));
            Value parts[3];
            for (size_t i = 0; i < 3; ++i) {
                parts[i] = Value{None{}};
                if (expr.kids[i + 1]) parts[i] = MINFER_TRY(eval(*expr.kids[i + 1], scope));
            }
            return get_slice(runtime_, object, parts[0], parts[1], parts[2]);
        }
        case Expr::Kind::Call:
            return eval_call(expr, scope);
        case Expr::Kind::Filter:
        case Expr::Kind::Test:
            return eval_filter_or_test(expr, scope);
        case Expr::Kind::NamespaceTarget:
            break;
    }
    std::unreachable();  // targets are assigned to, never evaluated
}

Result<Value> Interpreter::look_up(const std::string& name, const ScopeRef& scope) {
    if (const auto* found = scope->find(name)) {
        if (*found) return **found;
        return undefined(fmt::format("'{}' is undefined", name));
    }
    if (const Value* variable = variables_.find(name)) return *variable;
    if (name == "range") return Value{Builtin::Range};
    if (name == "namespace") return Value{Builtin::Namespace};
    if (name == "dict") return Value{Builtin::Dict};
    if (name == "raise_exception") return Value{Builtin::RaiseException};
    if (name == "strftime_now") return Value{Builtin::StrftimeNow};
    return undefined(fmt::format("'{}' is undefined", name));
}

Result<Value> Interpreter::eval_collection(const Expr& expr, const ScopeRef& scope) {
    std::vector<Value> items;
    items.reserve(expr.kids.size());
    for (const auto& kid : expr.kids) {
        auto item = MINFER_TRY(eval(*kid, scope));
        items.push_back(std::move(item));
    }
    if (expr.kind == Expr::Kind::List) return runtime_.sequence(std::move(items));
    if (expr.kind == Expr::Kind::Tuple)
        return runtime_.sequence(std::move(items), Sequence::Form::Tuple);
    Dict dict;
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        if (!hashable(items[i]))
            return fail(Fault::BadInput, "unhashable type: '{}'", type_name(items[i]));
        // A key that is no string is looked for among all.
        MINFER_TRY(runtime_.charge(items[i].string() ? 1 : 1 + dict.extent.weight));
        dict.set(std::move(items[i]), std::move(items[i + 1]));
    }
    return runtime_.dict(std::move(dict));
}

Result<Value> Interpreter::eval_operator(const Expr& expr, const ScopeRef& scope) {
    const auto left = MINFER_TRY(eval(*expr.kids[0], scope));
    if (expr.kind == Expr::Kind::Unary) return unary(expr.ops[0], left);
    const auto right = MINFER_TRY(eval(*expr.kids[1], scope));
    return binary(runtime_, expr.ops[0], left, right);
}

// a < b < c is (a < b) and (b < c), b evaluated once.
Result<Value> Interpreter::eval_compare(const Expr& expr, const ScopeRef& scope) {
    auto left = MINFER_TRY(eval(*expr.kids[0], scope));
    for (size_t i = 0; i < expr.ops.size(); ++i) {
        auto right = MINFER_TRY(eval(*expr.kids[i + 1], scope));
        const bool holds = MINFER_TRY(compare_with(runtime_, expr.ops[i], left, right));
        if (!holds) return make_bool(false);
        left = std::move(right);
    }
    return make_bool(true);
}

Result<Value> Interpreter::eval_concat(const Expr& expr, const ScopeRef& scope) {
    std::string out;
    for (const auto& kid : expr.kids) {
        const auto value = MINFER_TRY(eval(*kid, scope));
        MINFER_TRY(append_str(runtime_, out, value));
    }
    return runtime_.string(std::move(out));
}

Result<Args> Interpreter::eval_arguments(const Expr& call, const ScopeRef& scope) {
    Args args;
    for (size_t i = 1; i < call.kids.size(); ++i) {
        auto value = MINFER_TRY(eval(*call.kids[i], scope));
        args.positional.push_back(std::move(value));
    }
    for (const auto& [name, expr] : call.keywords) {
        auto value = MINFER_TRY(eval(*expr, scope));
        args.named.emplace_back(name, std::move(value));
    }
    return args;
}

Result<Value> Interpreter::eval_call(const Expr& expr, const ScopeRef& scope) {
    const auto callee = MINFER_TRY(eval(*expr.kids[0], scope));
    const auto args = MINFER_TRY(eval_arguments(expr, scope));
    return call(callee, args);
}

Result<Value> Interpreter::eval_filter_or_test(const Expr& expr, const ScopeRef& scope) {
    const auto value = MINFER_TRY(eval(*expr.kids[0], scope));
    const auto args = MINFER_TRY(eval_arguments(expr, scope));
    if (expr.filter) return expr.filter->run(runtime_, value, args);
    const bool holds = MINFER_TRY(expr.test->run(runtime_, value, args));
    return make_bool(holds);
}

Result<Value> Interpreter::call(const Value& callee, const Args& args) {
    if (callee.is_undefined()) return undefined_error(callee);
    if (const auto* method = callee.get<MethodRef>()) return call_method(runtime_, **method, args);
    if (const auto* builtin = callee.get<Builtin>()) return call_builtin(*builtin, args);
    if (const auto* macro = callee.get<const Macro*>()) return call_macro(**macro, args);
    if (callee.is<Loop*>())
        return fail(Fault::BadInput,
                    "The loop must have the 'recursive' marker to be called recursively.");
    return fail(Fault::BadInput, "'{}' object is not callable", type_name(callee));
}

Result<Value> Interpreter::call_macro(const Macro& macro, const Args& args) {
    const Level level(depth_);
    const auto& definition = *macro.definition;
    const auto& parameters = definition.parameters;
    if (args.positional.size() > parameters.size())
        return fail(Fault::BadInput, "macro '{}' takes not more than {} argument(s)",
                    definition.name, parameters.size());
    const auto scope = inner_scope(macro.scope, definition.hidden);
    MINFER_TRY(runtime_.charge(1, sizeof(Scope)));
    std::vector<bool> given(parameters.size());
    for (size_t i = 0; i < parameters.size(); ++i) {
        given[i] = i < args.positional.size();
        scope->set(parameters[i].name, given[i] ? std::optional(args.positional[i]) : std::nullopt);
    }
    for (const auto& [name, value] : args.named) {
        const auto found = std::ranges::find(parameters, name, &Parameter::name);
        const auto i = static_cast<size_t>(found - parameters.begin());
        if (found == parameters.end() || i < args.positional.size())
            return fail(Fault::BadInput, "macro '{}' takes no keyword argument '{}'",
                        definition.name, name);
        scope->set(name, value);
        given[i] = true;
    }
    // In order, so that a default may name the parameters before it.
    for (size_t i = 0; i < parameters.size(); ++i) {
        if (given[i]) continue;
        auto value = undefined(fmt::format("parameter '{}' was not provided", parameters[i].name));
        if (parameters[i].fallback) value = MINFER_TRY(eval(*parameters[i].fallback, scope));
        scope->set(parameters[i].name, std::move(value));
    }
    auto text = MINFER_TRY(run_captured(definition.body, scope));
    return runtime_.string(std::move(text));
}

}  // namespace minfer::jinja

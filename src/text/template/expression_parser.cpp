#include "text/template/expression_parser.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "text/template/contains.h"
#include "text/template/filters.h"
#include "text/template/level.h"
#include "text/template/methods.h"

namespace minfer::jinja {

using Kind = Token::Kind;

namespace {

struct Operator {
    std::string_view text;
    Op op;
};
constexpr Operator kComparisons[] = {{"==", Op::Eq}, {"!=", Op::Ne}, {"<", Op::Lt},
                                     {"<=", Op::Le}, {">", Op::Gt},  {">=", Op::Ge}};
constexpr Operator kSums[] = {{"+", Op::Add}, {"-", Op::Sub}};
constexpr Operator kProducts[] = {
    {"*", Op::Mul}, {"/", Op::Div}, {"//", Op::FloorDiv}, {"%", Op::Mod}};

// Names that Jinja gives a meaning we do not have.
constexpr std::string_view kForeignNames[] = {"self",   "super",  "caller", "varargs",
                                              "kwargs", "lipsum", "cycler", "joiner"};

std::optional<Op> take_operator(TokenStream& tokens, std::span<const Operator> operators) {
    if (!tokens.is(Kind::Operator)) return std::nullopt;
    const auto found = std::ranges::find(operators, tokens.current().text, &Operator::text);
    if (found == operators.end()) return std::nullopt;
    tokens.take();
    return found->op;
}

}  // namespace

Result<ExprPtr> ExpressionParser::finish(ExprPtr expr) const {
    for (const auto& kid : expr->kids)
        if (kid) expr->depth = std::max(expr->depth, kid->depth + 1);
    for (const auto& [name, value] : expr->keywords)
        expr->depth = std::max(expr->depth, value->depth + 1);
    if (expr->depth > kMaxTreeDepth)
        return fail(Fault::BadInput, "template line {}: an expression nests deeper than {}",
                    expr->line, kMaxTreeDepth);
    return expr;
}

Result<ExprPtr> ExpressionParser::make_binary(Expr::Kind kind, int line, ExprPtr a,
                                              ExprPtr b) const {
    auto expr = make(kind, line);
    expr->kids.push_back(std::move(a));
    expr->kids.push_back(std::move(b));
    return finish(std::move(expr));
}

Result<ExprPtr> ExpressionParser::expression(bool with_condition) {
    const Level nesting(nesting_);
    if (nesting_ > kMaxNesting)
        return fail(Fault::BadInput, "template line {}: an expression nests deeper than {}",
                    tokens_.line(), kMaxNesting);
    return with_condition ? condition() : logical_or();
}

Result<ExprPtr> ExpressionParser::condition() {
    auto expr = MINFER_TRY(logical_or());
    while (tokens_.is_name("if")) {
        const int line = tokens_.take().line;
        auto test = MINFER_TRY(logical_or());
        ExprPtr otherwise;
        if (tokens_.skip_name("else")) otherwise = MINFER_TRY(expression());
        auto whole = make(Expr::Kind::Cond, line);
        whole->kids.push_back(std::move(test));
        whole->kids.push_back(std::move(expr));
        whole->kids.push_back(std::move(otherwise));
        expr = MINFER_TRY(finish(std::move(whole)));
    }
    return expr;
}

Result<ExprPtr> ExpressionParser::logical_or() {
    auto left = MINFER_TRY(logical_and());
    while (tokens_.is_name("or")) {
        const int line = tokens_.take().line;
        auto right = MINFER_TRY(logical_and());
        left = MINFER_TRY(make_binary(Expr::Kind::Or, line, std::move(left), std::move(right)));
    }
    return left;
}

Result<ExprPtr> ExpressionParser::logical_and() {
    auto left = MINFER_TRY(logical_not());
    while (tokens_.is_name("and")) {
        const int line = tokens_.take().line;
        auto right = MINFER_TRY(logical_not());
        left = MINFER_TRY(make_binary(Expr::Kind::And, line, std::move(left), std::move(right)));
    }
    return left;
}

Result<ExprPtr> ExpressionParser::logical_not() {
    if (!tokens_.is_name("not")) return comparison();
    const Level nesting(nesting_);
    if (nesting_ > kMaxNesting)
        return fail(Fault::BadInput, "template line {}: 'not' nests deeper than {}", tokens_.line(),
                    kMaxNesting);
    auto expr = make(Expr::Kind::Not, tokens_.take().line);
    auto inner = MINFER_TRY(logical_not());
    expr->kids.push_back(std::move(inner));
    return finish(std::move(expr));
}

Result<ExprPtr> ExpressionParser::comparison() {
    auto first = MINFER_TRY(sum());
    auto chain = make(Expr::Kind::Compare, tokens_.line());
    chain->kids.push_back(std::move(first));
    while (true) {
        auto op = take_operator(tokens_, kComparisons);
        if (!op && tokens_.skip_name("in")) op = Op::In;
        if (!op && tokens_.is_name("not") && tokens_.following().kind == Kind::Name &&
            tokens_.following().text == "in") {
            tokens_.take();
            tokens_.take();
            op = Op::NotIn;
        }
        if (!op) break;
        auto next = MINFER_TRY(sum());
        chain->ops.push_back(*op);
        chain->kids.push_back(std::move(next));
    }
    if (chain->ops.empty()) return std::move(chain->kids[0]);
    return finish(std::move(chain));
}

Result<ExprPtr> ExpressionParser::sum() {
    auto left = MINFER_TRY(concatenation());
    while (true) {
        const int line = tokens_.line();
        const auto op = take_operator(tokens_, kSums);
        if (!op) return left;
        auto right = MINFER_TRY(concatenation());
        left = MINFER_TRY(make_binary(Expr::Kind::Binary, line, std::move(left), std::move(right)));
        left->ops = {*op};
    }
}

Result<ExprPtr> ExpressionParser::concatenation() {
    auto first = MINFER_TRY(product());
    if (!tokens_.is_op("~")) return first;
    auto whole = make(Expr::Kind::Concat, tokens_.line());
    whole->kids.push_back(std::move(first));
    while (tokens_.skip_op("~")) {
        auto next = MINFER_TRY(product());
        whole->kids.push_back(std::move(next));
    }
    return finish(std::move(whole));
}

Result<ExprPtr> ExpressionParser::product() {
    auto left = MINFER_TRY(power());
    while (true) {
        const int line = tokens_.line();
        const auto op = take_operator(tokens_, kProducts);
        if (!op) return left;
        auto right = MINFER_TRY(power());
        left = MINFER_TRY(make_binary(Expr::Kind::Binary, line, std::move(left), std::move(right)));
        left->ops = {*op};
    }
}

// Groups from the left, unlike Python's: 2**3**2 is 64.
Result<ExprPtr> ExpressionParser::power() {
    auto left = MINFER_TRY(unary());
    while (tokens_.is_op("**")) {
        const int line = tokens_.take().line;
        auto right = MINFER_TRY(unary());
        left = MINFER_TRY(make_binary(Expr::Kind::Binary, line, std::move(left), std::move(right)));
        left->ops = {Op::Pow};
    }
    return left;
}

Result<ExprPtr> ExpressionParser::unary(bool with_filters) {
    ExprPtr expr;
    if (tokens_.is_op("-") || tokens_.is_op("+")) {
        const Level nesting(nesting_);
        if (nesting_ > kMaxNesting)
            return fail(Fault::BadInput, "template line {}: signs nest deeper than {}",
                        tokens_.line(), kMaxNesting);
        const auto sign = tokens_.take();
        auto inner = MINFER_TRY(unary(false));
        expr = make(Expr::Kind::Unary, sign.line);
        expr->ops = {sign.text == "-" ? Op::Neg : Op::Pos};
        expr->kids.push_back(std::move(inner));
        expr = MINFER_TRY(finish(std::move(expr)));
    } else {
        expr = MINFER_TRY(primary());
    }
    expr = MINFER_TRY(postfix(std::move(expr)));
    if (with_filters) expr = MINFER_TRY(filters(std::move(expr)));
    return expr;
}

Result<ExprPtr> ExpressionParser::primary() {
    const int line = tokens_.line();
    if (tokens_.is_op("(")) return parenthesised();
    if (tokens_.is_op("[")) return list();
    if (tokens_.is_op("{")) return dict();
    auto expr = make(Expr::Kind::Const, line);
    if (tokens_.is(Kind::Name)) {
        const std::string name = tokens_.take().text;
        if (name == "true" || name == "True") {
            expr->constant = make_bool(true);
        } else if (name == "false" || name == "False") {
            expr->constant = make_bool(false);
        } else if (name == "none" || name == "None") {
            expr->constant = Value{None{}};
        } else if (contains(kForeignNames, name)) {
            return unsupported(line, fmt::format("'{}'", name));
        } else {
            expr->kind = Expr::Kind::Name;
            expr->name = name;
        }
    } else if (tokens_.is(Kind::String)) {
        std::string text;
        while (tokens_.is(Kind::String)) text += tokens_.take().text;
        expr->constant = make_string(std::move(text));
    } else if (tokens_.is(Kind::Integer)) {
        expr->constant = make_int(tokens_.take().integer);
    } else if (tokens_.is(Kind::Float)) {
        expr->constant = Value{tokens_.take().number};
    } else {
        return tokens_.expected("an expression");
    }
    return expr;
}

Result<ExprPtr> ExpressionParser::parenthesised() {
    const int line = tokens_.take().line;
    if (tokens_.skip_op(")")) return make(Expr::Kind::Tuple, line);
    auto expr = MINFER_TRY(tuple());
    MINFER_TRY(tokens_.expect_op(")"));
    return expr;
}

bool ExpressionParser::at_tuple_end() const {
    return tokens_.is(Kind::VariableEnd) || tokens_.is(Kind::BlockEnd) || tokens_.is_op(")");
}

Result<ExprPtr> ExpressionParser::tuple(bool with_condition) {
    auto first = MINFER_TRY(expression(with_condition));
    if (!tokens_.is_op(",")) return first;
    auto whole = make(Expr::Kind::Tuple, tokens_.line());
    whole->kids.push_back(std::move(first));
    while (tokens_.skip_op(",")) {
        if (at_tuple_end()) break;
        auto next = MINFER_TRY(expression(with_condition));
        whole->kids.push_back(std::move(next));
    }
    return finish(std::move(whole));
}

Result<ExprPtr> ExpressionParser::list() {
    auto expr = make(Expr::Kind::List, tokens_.take().line);
    while (!tokens_.is_op("]")) {
        if (!expr->kids.empty()) {
            MINFER_TRY(tokens_.expect_op(","));
            if (tokens_.is_op("]")) break;
        }
        auto item = MINFER_TRY(expression());
        expr->kids.push_back(std::move(item));
    }
    MINFER_TRY(tokens_.expect_op("]"));
    return finish(std::move(expr));
}

Result<ExprPtr> ExpressionParser::dict() {
    auto expr = make(Expr::Kind::Dict, tokens_.take().line);
    while (!tokens_.is_op("}")) {
        if (!expr->kids.empty()) {
            MINFER_TRY(tokens_.expect_op(","));
            if (tokens_.is_op("}")) break;
        }
        auto key = MINFER_TRY(expression());
        MINFER_TRY(tokens_.expect_op(":"));
        auto value = MINFER_TRY(expression());
        expr->kids.push_back(std::move(key));
        expr->kids.push_back(std::move(value));
    }
    MINFER_TRY(tokens_.expect_op("}"));
    return finish(std::move(expr));
}

Result<ExprPtr> ExpressionParser::postfix(ExprPtr expr) {
    while (true) {
        if (tokens_.is_op(".") || tokens_.is_op("["))
            expr = MINFER_TRY(subscript(std::move(expr)));
        else if (tokens_.is_op("("))
            expr = MINFER_TRY(call(std::move(expr)));
        else
            return expr;
    }
}

Result<ExprPtr> ExpressionParser::filters(ExprPtr expr) {
    while (true) {
        if (tokens_.is_op("|"))
            expr = MINFER_TRY(filter(std::move(expr)));
        else if (tokens_.is_name("is"))
            expr = MINFER_TRY(test(std::move(expr)));
        else if (tokens_.is_op("("))
            expr = MINFER_TRY(call(std::move(expr)));
        else
            return expr;
    }
}

Result<ExprPtr> ExpressionParser::subscript(ExprPtr object) {
    const auto token = tokens_.take();
    auto expr = make(Expr::Kind::Item, token.line);
    expr->kids.push_back(std::move(object));
    if (token.text == ".") {
        if (tokens_.is(Kind::Name)) {
            expr->kind = Expr::Kind::Attribute;
            expr->name = tokens_.take().text;
        } else if (tokens_.is(Kind::Integer)) {
            auto index = make(Expr::Kind::Const, token.line);
            index->constant = make_int(tokens_.take().integer);
            expr->kids.push_back(std::move(index));
        } else {
            return tokens_.expected("a name or number");
        }
        return finish(std::move(expr));
    }
    if (tokens_.is_op("]")) return unsupported(token.line, "an empty subscript");
    ExprPtr parts[3];
    int colons = 0;
    while (!tokens_.is_op("]") && !tokens_.is_op(",")) {
        if (tokens_.is_op(":")) {
            if (++colons > 2) return tokens_.expected("]");
            tokens_.take();
            continue;
        }
        if (parts[colons]) return tokens_.expected("]");
        parts[colons] = MINFER_TRY(expression());
    }
    if (tokens_.is_op(",")) return unsupported(token.line, "a subscript with a comma");
    MINFER_TRY(tokens_.expect_op("]"));
    if (colons == 0) {
        expr->kids.push_back(std::move(parts[0]));
    } else {
        expr->kind = Expr::Kind::Slice;
        for (auto& part : parts) expr->kids.push_back(std::move(part));
    }
    return finish(std::move(expr));
}

Result<> ExpressionParser::arguments(Expr& target) {
    MINFER_TRY(tokens_.expect_op("("));
    bool first = true;
    while (!tokens_.is_op(")")) {
        if (!first) {
            MINFER_TRY(tokens_.expect_op(","));
            if (tokens_.is_op(")")) break;
        }
        first = false;
        if (tokens_.is_op("*") || tokens_.is_op("**"))
            return unsupported(tokens_.line(), "unpacking arguments with *");
        const bool named = tokens_.is(Kind::Name) && tokens_.following().kind == Kind::Operator &&
                           tokens_.following().text == "=";
        if (!named && !target.keywords.empty())
            return fail(Fault::BadInput,
                        "template line {}: an argument without name follows one with a name",
                        tokens_.line());
        std::string name;
        if (named) {
            name = tokens_.take().text;
            tokens_.take();
            if (contains(target.keywords, name,
                         [](const auto& k) { return std::string_view(k.first); }))
                return fail(Fault::BadInput, "template line {}: argument '{}' is repeated",
                            tokens_.line(), name);
        }
        auto value = MINFER_TRY(expression());
        if (named) given_names_.insert(name);
        if (named)
            target.keywords.emplace_back(std::move(name), std::move(value));
        else
            target.kids.push_back(std::move(value));
    }
    return tokens_.expect_op(")");
}

Result<ExprPtr> ExpressionParser::call(ExprPtr callee) {
    auto expr = make(Expr::Kind::Call, tokens_.line());
    if (callee->kind == Expr::Kind::Attribute && !is_method_of_any(callee->name))
        unknown_methods_.emplace_back(callee->name, expr->line);
    expr->kids.push_back(std::move(callee));
    MINFER_TRY(arguments(*expr));
    return finish(std::move(expr));
}

Result<ExprPtr> ExpressionParser::filter(ExprPtr value) {
    tokens_.take();
    auto expr = make(Expr::Kind::Filter, tokens_.line());
    expr->name = MINFER_TRY(tokens_.expect_any_name());
    expr->filter = find_filter(expr->name);
    if (!expr->filter) return unsupported(expr->line, fmt::format("filter '{}'", expr->name));
    expr->kids.push_back(std::move(value));
    if (tokens_.is_op("(")) MINFER_TRY(arguments(*expr));
    // Filters and tests named by a constant string are refused now rather than when they run.
    const auto constant = [&](size_t i) -> const String* {
        const bool has = i < expr->kids.size() && expr->kids[i]->kind == Expr::Kind::Const;
        return has ? expr->kids[i]->constant.string() : nullptr;
    };
    if (expr->name == "map")
        if (const auto* name = constant(1); name && !find_filter(name->text))
            return unsupported(expr->line, fmt::format("filter '{}'", name->text));
    const bool by_attribute = expr->name == "selectattr" || expr->name == "rejectattr";
    if (by_attribute || expr->name == "select" || expr->name == "reject")
        if (const auto* name = constant(by_attribute ? 2 : 1); name && !find_test(name->text))
            return unsupported(expr->line, fmt::format("test '{}'", name->text));
    return finish(std::move(expr));
}

Result<ExprPtr> ExpressionParser::test(ExprPtr value) {
    auto expr = make(Expr::Kind::Test, tokens_.take().line);
    const bool negated = tokens_.skip_name("not");
    expr->name = MINFER_TRY(tokens_.expect_any_name());
    expr->test = find_test(expr->name);
    if (!expr->test) return unsupported(expr->line, fmt::format("test '{}'", expr->name));
    expr->kids.push_back(std::move(value));
    const bool starts_argument = (tokens_.is(Kind::Name) && !tokens_.is_name("else") &&
                                  !tokens_.is_name("or") && !tokens_.is_name("and")) ||
                                 tokens_.is(Kind::String) || tokens_.is(Kind::Integer) ||
                                 tokens_.is(Kind::Float) || tokens_.is_op("[") ||
                                 tokens_.is_op("{");
    if (tokens_.is_op("(")) {
        MINFER_TRY(arguments(*expr));
    } else if (starts_argument) {
        if (tokens_.is_name("is"))
            return fail(Fault::BadInput, "template line {}: tests cannot be chained with is",
                        tokens_.line());
        auto argument = MINFER_TRY(primary());
        argument = MINFER_TRY(postfix(std::move(argument)));
        expr->kids.push_back(std::move(argument));
    }
    auto whole = MINFER_TRY(finish(std::move(expr)));
    if (!negated) return whole;
    auto inverse = make(Expr::Kind::Not, whole->line);
    inverse->kids.push_back(std::move(whole));
    return finish(std::move(inverse));
}

Result<ExprPtr> ExpressionParser::target_part(bool namespaces) {
    if (tokens_.is_op("(")) {
        const Level nesting(nesting_);
        if (nesting_ > kMaxNesting)
            return fail(Fault::BadInput, "template line {}: a target nests deeper than {}",
                        tokens_.line(), kMaxNesting);
        tokens_.take();
        auto inner = MINFER_TRY(target(namespaces));
        MINFER_TRY(tokens_.expect_op(")"));
        return inner;
    }
    const int line = tokens_.line();
    auto expr = make(Expr::Kind::Name, line);
    expr->name = MINFER_TRY(tokens_.expect_any_name());
    constexpr std::string_view kConstants[] = {"true", "false", "none", "True", "False", "None"};
    if (contains(kConstants, expr->name))
        return fail(Fault::BadInput, "template line {}: can't assign to '{}'", line, expr->name);
    if (contains(kForeignNames, expr->name))
        return unsupported(line, fmt::format("'{}'", expr->name));
    if (namespaces && tokens_.skip_op(".")) {
        expr->kind = Expr::Kind::NamespaceTarget;
        expr->attribute = MINFER_TRY(tokens_.expect_any_name());
        given_names_.insert(expr->attribute);
    }
    return expr;
}

// A namespace may hold a macro under any name it was given; nothing else has methods that we do
// not know.
Result<> ExpressionParser::check_methods() const {
    for (const auto& [name, line] : unknown_methods_)
        if (!given_names_.contains(name))
            return unsupported(line, fmt::format("method '{}'", name));
    return {};
}

Result<ExprPtr> ExpressionParser::target(bool namespaces) {
    auto first = MINFER_TRY(target_part(namespaces));
    if (!tokens_.is_op(",")) return first;
    auto whole = make(Expr::Kind::Tuple, tokens_.line());
    whole->kids.push_back(std::move(first));
    while (tokens_.skip_op(",")) {
        if (at_tuple_end()) break;
        auto next = MINFER_TRY(target_part(namespaces));
        whole->kids.push_back(std::move(next));
    }
    return finish(std::move(whole));
}

}  // namespace minfer::jinja

#pragma once
// Expressions: everything between {{ }} and after a tag's keyword.

#include <set>
#include <string_view>

#include "text/template/ast.h"
#include "text/template/token_stream.h"

namespace minfer::jinja {

class ExpressionParser {
  public:
    explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

    Result<ExprPtr> expression(bool with_condition = true);
    // Also a, b, c without parentheses.
    Result<ExprPtr> tuple(bool with_condition = true);
    // What can stand on the left of = (`namespaces`: also ns.attribute) or between for and in.
    Result<ExprPtr> target(bool namespaces);

    // After the whole template: an error for the first call of a method that no type has and no
    // namespace was given.
    Result<> check_methods() const;

  private:
    Result<ExprPtr> condition();
    Result<ExprPtr> logical_or();
    Result<ExprPtr> logical_and();
    Result<ExprPtr> logical_not();
    Result<ExprPtr> comparison();
    Result<ExprPtr> sum();
    Result<ExprPtr> concatenation();
    Result<ExprPtr> product();
    Result<ExprPtr> power();
    Result<ExprPtr> unary(bool with_filters = true);
    Result<ExprPtr> primary();
    Result<ExprPtr> parenthesised();
    Result<ExprPtr> list();
    Result<ExprPtr> dict();
    Result<ExprPtr> postfix(ExprPtr expr);
    Result<ExprPtr> filters(ExprPtr expr);
    Result<ExprPtr> subscript(ExprPtr object);
    Result<ExprPtr> call(ExprPtr callee);
    Result<ExprPtr> filter(ExprPtr value);
    Result<ExprPtr> test(ExprPtr value);
    Result<> arguments(Expr& call);
    Result<ExprPtr> target_part(bool namespaces);
    bool at_tuple_end() const;

    // Sets the depth from the kids; an error if the tree is too deep.
    Result<ExprPtr> finish(ExprPtr expr) const;
    static ExprPtr make(Expr::Kind kind, int line) {
        auto expr = std::make_unique<Expr>();
        expr->kind = kind;
        expr->line = line;
        return expr;
    }
    Result<ExprPtr> make_binary(Expr::Kind kind, int line, ExprPtr a, ExprPtr b) const;

    TokenStream& tokens_;
    int nesting_ = 0;
    std::vector<std::pair<std::string, int>> unknown_methods_;  // name, line
    std::set<std::string> given_names_;  // of namespace attributes and keyword arguments
};

}  // namespace minfer::jinja

#pragma once
// Runs a parsed template once.

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "text/template/ast.h"
#include "text/template/loop.h"
#include "text/template/runtime.h"

namespace minfer::jinja {

// One frame's variables. A name that is present without a value is undefined here, whatever the
// outer frames say.
struct Scope {
    std::shared_ptr<Scope> parent;
    std::vector<std::pair<std::string, std::optional<Value>>> names;

    std::optional<Value>* find(std::string_view name);
    void set(std::string_view name, std::optional<Value> value);
};
using ScopeRef = std::shared_ptr<Scope>;

struct Macro {
    const MacroDef* definition = nullptr;
    ScopeRef scope;  // where it was defined
};

class Interpreter {
  public:
    // Both outlive the interpreter. `variables` is what the caller passes to the template.
    Interpreter(Runtime& runtime, const Dict& variables, size_t output_bytes)
        : runtime_(runtime), variables_(variables), output_bytes_(output_bytes) {}

    Result<std::string> run(const Program& program);

  private:
    enum class Flow : uint8_t { Next, Break, Continue };

    Result<Flow> run_block(const Block& block, const ScopeRef& scope);
    Result<Flow> run_statement(const Stmt& stmt, const ScopeRef& scope);
    Result<Flow> run_if(const Stmt& stmt, const ScopeRef& scope);
    Result<Flow> run_for(const Stmt& stmt, const ScopeRef& scope);
    Result<> print(const Value& value);
    Result<std::string> run_captured(const Block& block, const ScopeRef& scope);
    Result<> assign(const Expr& target, Value value, const ScopeRef& scope);
    ScopeRef inner_scope(const ScopeRef& parent, const std::vector<std::string>& hidden);

    // Adds the template line to an error that has none yet.
    Result<Value> eval(const Expr& expr, const ScopeRef& scope);
    Result<Value> eval_kind(const Expr& expr, const ScopeRef& scope);
    Result<Value> eval_collection(const Expr& expr, const ScopeRef& scope);
    Result<Value> eval_operator(const Expr& expr, const ScopeRef& scope);
    Result<Value> eval_compare(const Expr& expr, const ScopeRef& scope);
    Result<Value> eval_concat(const Expr& expr, const ScopeRef& scope);
    Result<Value> eval_call(const Expr& expr, const ScopeRef& scope);
    Result<Value> eval_filter_or_test(const Expr& expr, const ScopeRef& scope);
    Result<Value> look_up(const std::string& name, const ScopeRef& scope);
    Result<Args> eval_arguments(const Expr& call, const ScopeRef& scope);
    Result<Value> call(const Value& callee, const Args& args);
    Result<Value> call_builtin(Builtin builtin, const Args& args);
    Result<Value> call_macro(const Macro& macro, const Args& args);

    std::unexpected<Error> placed(int line, Error error);

    Runtime& runtime_;
    const Dict& variables_;
    size_t output_bytes_;
    std::string* out_ = nullptr;
    int depth_ = 0;  // of eval, run_block and call_macro within each other
    // What values point at; lives as long as the rendering.
    std::deque<Namespace> namespaces_;
    std::deque<Loop> loops_;
    std::deque<Macro> macros_;
};

}  // namespace minfer::jinja

#include "text/template/interpreter.h"

#include <algorithm>

#include "text/template/level.h"
#include "text/template/print.h"

namespace minfer::jinja {

namespace {

// Bounds the stack: a level takes a few hundred bytes, and threads may have only 512 KiB.
constexpr int kMaxDepth = 400;

}  // namespace

std::optional<Value>* Scope::find(std::string_view name) {
    for (Scope* s = this; s; s = s->parent.get())
        for (auto& [key, value] : s->names)
            if (key == name) return &value;
    return nullptr;
}

void Scope::set(std::string_view name, std::optional<Value> value) {
    for (auto& [key, old] : names) {
        if (key != name) continue;
        old = std::move(value);
        return;
    }
    names.emplace_back(name, std::move(value));
}

std::string_view macro_name(const Macro& macro) { return macro.definition->name; }

std::unexpected<Error> Interpreter::placed(int line, Error error) {
    if (runtime_.error_is_placed) return std::unexpected(std::move(error));
    runtime_.error_is_placed = true;
    return at(fmt::format("template line {}", line), std::move(error));
}

ScopeRef Interpreter::inner_scope(const ScopeRef& parent, const std::vector<std::string>& hidden) {
    auto scope = std::make_shared<Scope>();
    scope->parent = parent;
    for (const auto& name : hidden) scope->set(name, std::nullopt);
    return scope;
}

Result<std::string> Interpreter::run(const Program& program) {
    std::string out;
    out_ = &out;
    const auto flow = run_block(program.body, inner_scope(nullptr, program.hidden));
    if (!flow) return std::unexpected(flow.error());
    return out;
}

Result<Interpreter::Flow> Interpreter::run_block(const Block& block, const ScopeRef& scope) {
    const Level level(depth_);
    if (depth_ > kMaxDepth) return fail(Fault::BadInput, "the template recurses too deeply");
    for (const Stmt& stmt : block) {
        auto flow = run_statement(stmt, scope);
        if (!flow) return placed(stmt.line, std::move(flow).error());
        if (*flow != Flow::Next) return flow;
    }
    return Flow::Next;
}

Result<Interpreter::Flow> Interpreter::run_statement(const Stmt& stmt, const ScopeRef& scope) {
    MINFER_TRY(runtime_.charge(1));
    switch (stmt.kind) {
        case Stmt::Kind::Text:
            MINFER_TRY(runtime_.charge(1, stmt.text.size()));
            *out_ += stmt.text;
            break;
        case Stmt::Kind::Print: {
            const auto value = MINFER_TRY(eval(*stmt.expr, scope));
            MINFER_TRY(print(value));
            break;
        }
        case Stmt::Kind::If:
            return run_if(stmt, scope);
        case Stmt::Kind::For:
            return run_for(stmt, scope);
        case Stmt::Kind::Set: {
            auto value = MINFER_TRY(eval(*stmt.expr, scope));
            MINFER_TRY(assign(*stmt.target, std::move(value), scope));
            break;
        }
        case Stmt::Kind::SetBlock: {
            auto text = MINFER_TRY(run_captured(stmt.body, inner_scope(scope, stmt.hidden)));
            auto value = MINFER_TRY(runtime_.string(std::move(text)));
            MINFER_TRY(assign(*stmt.target, std::move(value), scope));
            break;
        }
        case Stmt::Kind::Macro:
            MINFER_TRY(runtime_.charge(1, sizeof(Macro)));
            macros_.push_back({.definition = stmt.macro.get(), .scope = scope});
            scope->set(stmt.macro->name, Value{static_cast<const Macro*>(&macros_.back())});
            break;
        case Stmt::Kind::Break:
            return Flow::Break;
        case Stmt::Kind::Continue:
            return Flow::Continue;
    }
    if (out_->size() > output_bytes_)
        return fail(Fault::BadInput, "the template writes more than {} bytes", output_bytes_);
    return Flow::Next;
}

Result<> Interpreter::print(const Value& value) { return append_str(runtime_, *out_, value); }

Result<std::string> Interpreter::run_captured(const Block& block, const ScopeRef& scope) {
    std::string text;
    std::string* const outer = std::exchange(out_, &text);
    const auto flow = run_block(block, scope);
    out_ = outer;
    if (!flow) return std::unexpected(flow.error());
    return text;
}

Result<Interpreter::Flow> Interpreter::run_if(const Stmt& stmt, const ScopeRef& scope) {
    for (const auto& arm : stmt.arms) {
        const auto test = MINFER_TRY(eval(*arm.test, scope));
        if (truthy(test)) return run_block(arm.body, scope);
    }
    return run_block(stmt.orelse, scope);
}

Result<Interpreter::Flow> Interpreter::run_for(const Stmt& stmt, const ScopeRef& scope) {
    const auto iterable = MINFER_TRY(eval(*stmt.expr, scope));
    if (iterable.is<Loop*>()) return fail(Fault::Unsupported, "iterating over 'loop'");
    auto cursor = MINFER_TRY(Cursor::over(iterable));
    MINFER_TRY(runtime_.charge(1, sizeof(Loop)));
    auto& loop = loops_.emplace_back();
    if (!stmt.condition) loop.known_length = cursor.size();
    loop.source = [&]() -> Result<std::optional<Value>> {
        while (true) {
            MINFER_TRY(runtime_.charge(1));
            auto item = cursor.next();
            if (!item || !stmt.condition) return item;
            const auto inner = inner_scope(scope, {});
            MINFER_TRY(assign(*stmt.target, *item, inner));
            const auto passes = MINFER_TRY(eval(*stmt.condition, inner));
            if (truthy(passes)) return item;
        }
    };
    // Whoever keeps `loop` beyond the tag finds nothing more in it.
    struct Close {
        Loop& loop;
        ~Close() {
            loop.source = [] { return Result<std::optional<Value>>(std::nullopt); };
        }
    } const close{loop};

    bool completed = false;  // as in Jinja, a body left early does not count: else still runs
    while (true) {
        auto item = MINFER_TRY(loop.advance());
        if (!item) break;
        MINFER_TRY(runtime_.charge(1, sizeof(Scope)));
        const auto inner = inner_scope(scope, stmt.hidden);
        inner->set("loop", Value{&loop});
        MINFER_TRY(assign(*stmt.target, *std::move(item), inner));
        const auto flow = MINFER_TRY(run_block(stmt.body, inner));
        if (flow == Flow::Break) break;
        completed |= flow == Flow::Next;
    }
    if (completed) return Flow::Next;
    return run_block(stmt.orelse, inner_scope(scope, stmt.hidden_in_else));
}

Result<> Interpreter::assign(const Expr& target, Value value, const ScopeRef& scope) {
    if (target.kind == Expr::Kind::Name) {
        scope->set(target.name, std::move(value));
        return {};
    }
    if (target.kind == Expr::Kind::NamespaceTarget) {
        const auto found = MINFER_TRY(look_up(target.name, scope));
        if (!found.is<Namespace*>())
            return fail(Fault::BadInput, "cannot assign attribute on non-namespace object");
        found.as<Namespace*>()->set(target.attribute, std::move(value));
        return {};
    }
    auto cursor = Cursor::over(value);
    if (!cursor)
        return fail(Fault::BadInput, "cannot unpack non-iterable {} object", type_name(value));
    const size_t expected = target.kids.size();
    for (size_t i = 0; i < expected; ++i) {
        auto item = cursor->next();
        if (!item)
            return fail(Fault::BadInput, "not enough values to unpack (expected {}, got {})",
                        expected, i);
        MINFER_TRY(assign(*target.kids[i], *std::move(item), scope));
    }
    if (cursor->next())
        return fail(Fault::BadInput, "too many values to unpack (expected {})", expected);
    return {};
}

Result<Value> Interpreter::eval(const Expr& expr, const ScopeRef& scope) {
    const Level level(depth_);
    if (depth_ > kMaxDepth) return fail(Fault::BadInput, "the template recurses too deeply");
    MINFER_TRY(runtime_.charge(1));
    auto value = eval_kind(expr, scope);
    if (!value) return placed(expr.line, std::move(value).error());
    return value;
}

}  // namespace minfer::jinja

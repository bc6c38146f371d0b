#include "text/template/hidden_names.h"

#include <set>

namespace minfer::jinja {
namespace {

struct Frame {
    const Frame* parent = nullptr;
    std::set<std::string, std::less<>> names;  // read or set in this frame
    std::vector<std::string> hidden;
    int ifs = 0;

    bool known(std::string_view name) const {
        for (const Frame* f = this; f; f = f->parent)
            if (f->names.contains(name)) return true;
        return false;
    }
    void read(const std::string& name) {
        if (!known(name)) names.insert(name);
    }
    void store(const std::string& name) {
        if (!known(name) && ifs == 0) hidden.push_back(name);
        names.insert(name);
    }
};

// Everything that an expression reads. Expressions set nothing.
void read_all(Frame& frame, const Expr* expr) {
    if (!expr) return;
    if (expr->kind == Expr::Kind::Name || expr->kind == Expr::Kind::NamespaceTarget)
        frame.read(expr->name);
    for (const auto& kid : expr->kids) read_all(frame, kid.get());
    for (const auto& [name, value] : expr->keywords) read_all(frame, value.get());
}

void store_all(Frame& frame, const Expr& target) {
    if (target.kind == Expr::Kind::NamespaceTarget) frame.read(target.name);
    if (target.kind == Expr::Kind::Name) frame.store(target.name);
    for (const auto& kid : target.kids) store_all(frame, *kid);
}

void declare_all(Frame& frame, const Expr& target) {
    if (target.kind == Expr::Kind::Name) frame.names.insert(target.name);
    for (const auto& kid : target.kids) declare_all(frame, *kid);
}

// What `block` itself reads and sets, in order; inner frames are not entered.
void scan(Frame& frame, const Block& block) {
    for (const Stmt& stmt : block) {
        switch (stmt.kind) {
            case Stmt::Kind::Print:
            case Stmt::Kind::For:
                read_all(frame, stmt.expr.get());
                break;
            case Stmt::Kind::Set:
                read_all(frame, stmt.expr.get());
                store_all(frame, *stmt.target);
                break;
            case Stmt::Kind::SetBlock:
                store_all(frame, *stmt.target);
                break;
            case Stmt::Kind::Macro:
                frame.store(stmt.macro->name);
                break;
            case Stmt::Kind::If:
                for (const auto& arm : stmt.arms) {
                    // The first test is always run, the others inside the branches.
                    if (&arm != &stmt.arms.front()) ++frame.ifs;
                    read_all(frame, arm.test.get());
                    if (&arm == &stmt.arms.front()) ++frame.ifs;
                    scan(frame, arm.body);
                    --frame.ifs;
                }
                ++frame.ifs;
                scan(frame, stmt.orelse);
                --frame.ifs;
                break;
            case Stmt::Kind::Text:
            case Stmt::Kind::Break:
            case Stmt::Kind::Continue:
                break;
        }
    }
}

void enter_inner(const Frame& frame, Block& block);

std::vector<std::string> analyse(Frame& frame, Block& block) {
    scan(frame, block);
    enter_inner(frame, block);
    return frame.hidden;
}

void enter_inner(const Frame& frame, Block& block) {
    for (Stmt& stmt : block) {
        for (auto& arm : stmt.arms) enter_inner(frame, arm.body);
        if (stmt.kind == Stmt::Kind::If) enter_inner(frame, stmt.orelse);
        if (stmt.kind == Stmt::Kind::For) {
            Frame body{.parent = &frame}, orelse{.parent = &frame};
            body.names.insert("loop");
            declare_all(body, *stmt.target);
            stmt.hidden = analyse(body, stmt.body);
            stmt.hidden_in_else = analyse(orelse, stmt.orelse);
        }
        if (stmt.kind == Stmt::Kind::SetBlock) {
            Frame body{.parent = &frame};
            stmt.hidden = analyse(body, stmt.body);
        }
        if (stmt.kind == Stmt::Kind::Macro) {
            Frame body{.parent = &frame};
            for (const auto& parameter : stmt.macro->parameters) body.names.insert(parameter.name);
            for (const auto& parameter : stmt.macro->parameters)
                read_all(body, parameter.fallback.get());
            stmt.macro->hidden = analyse(body, stmt.macro->body);
        }
    }
}

}  // namespace

void find_hidden_names(Program& program) {
    Frame root;
    program.hidden = analyse(root, program.body);
}

}  // namespace minfer::jinja

#pragma once
// A parsed template: plain trees, immutable after parsing. Every node knows the depth below it, so
// that walking one (also destroying it) takes a bounded stack.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/template/value.h"

namespace minfer::jinja {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

enum class Op : uint8_t {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Mod,
    Pow,
    Neg,
    Pos,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    In,
    NotIn
};

struct FilterInfo;
struct TestInfo;

struct Expr {
    enum class Kind : uint8_t {
        Const,            // constant
        Name,             // name
        List,             // kids
        Tuple,            // kids
        Dict,             // kids: key, value, key, value, ...
        Unary,            // ops[0] kids[0]
        Binary,           // kids[0] ops[0] kids[1]
        And,              // kids[0], kids[1]
        Or,               // kids[0], kids[1]
        Not,              // kids[0]
        Compare,          // kids[0] ops[0] kids[1] ops[1] kids[2] ...
        Concat,           // kids joined by ~
        Cond,             // kids: test, then, else (null: undefined)
        Attribute,        // kids[0].name
        Item,             // kids[0][kids[1]]
        Slice,            // kids[0][kids[1]:kids[2]:kids[3]], 1 to 3 may be null
        Call,             // kids[0](kids[1], ..., keywords)
        Filter,           // kids[0] | name(kids[1], ..., keywords)
        Test,             // kids[0] is name(kids[1], ..., keywords)
        NamespaceTarget,  // only assigned to: name.attribute
    };
    Kind kind = Kind::Const;
    int line = 0;
    int depth = 1;
    Value constant;
    std::string name, attribute;
    std::vector<Op> ops;
    std::vector<ExprPtr> kids;
    std::vector<std::pair<std::string, ExprPtr>> keywords;
    const FilterInfo* filter = nullptr;
    const TestInfo* test = nullptr;
};

struct Stmt;
using Block = std::vector<Stmt>;

struct Parameter {
    std::string name;
    ExprPtr fallback;  // null: none
};

struct MacroDef {
    std::string name;
    std::vector<Parameter> parameters;
    Block body;
    std::vector<std::string> hidden;  // of the body; see hidden_names.h
};

struct Stmt {
    enum class Kind : uint8_t {
        Text,      // text
        Print,     // expr
        If,        // arms, orelse
        For,       // target in expr if condition: body else orelse
        Set,       // target = expr
        SetBlock,  // target = what body prints
        Macro,     // macro
        Break,
        Continue,
    };
    struct Arm {
        ExprPtr test;
        Block body;
    };
    Kind kind = Kind::Text;
    int line = 0;
    std::string text;
    ExprPtr target, expr, condition;
    std::vector<Arm> arms;
    Block body, orelse;
    std::unique_ptr<MacroDef> macro;
    std::vector<std::string> hidden, hidden_in_else;  // of body and orelse; see hidden_names.h
};

struct Program {
    Block body;
    std::vector<std::string> hidden;
};

}  // namespace minfer::jinja

#include "text/template/parser.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>

#include "text/template/contains.h"
#include "text/template/expression_parser.h"
#include "text/template/hidden_names.h"
#include "text/template/unicode.h"

namespace minfer::jinja {
namespace {

using Kind = Token::Kind;
using Ends = std::initializer_list<std::string_view>;

constexpr std::string_view kForeignTags[] = {
    "autoescape", "block",  "call",    "do",    "extends", "filter", "from",
    "generation", "import", "include", "print", "trans",   "with",
};

class Parser {
  public:
    explicit Parser(std::vector<Token> tokens)
        : tokens_(std::move(tokens)), expressions_(tokens_) {}

    Result<Block> run() {
        auto block = MINFER_TRY(statements({}));
        MINFER_TRY(expressions_.check_methods());
        return block;
    }

  private:
    // Up to a tag named in `ends`, whose name is then the current token; with no ends, to the end
    // of the template.
    Result<Block> statements(Ends ends) {
        if (++nesting_ > kMaxNesting)
            return fail(Fault::BadInput, "template line {}: tags nest deeper than {}",
                        tokens_.line(), kMaxNesting);
        Block out;
        while (!tokens_.is(Kind::End)) {
            const auto token = tokens_.take();
            if (token.kind == Kind::Data) {
                out.push_back({.kind = Stmt::Kind::Text, .line = token.line, .text = token.text});
            } else if (token.kind == Kind::VariableBegin) {
                auto expr = MINFER_TRY(expressions_.tuple());
                if (!tokens_.is(Kind::VariableEnd))
                    return tokens_.expected("end of print statement");
                tokens_.take();
                out.push_back(
                    {.kind = Stmt::Kind::Print, .line = token.line, .expr = std::move(expr)});
            } else {
                if (tokens_.is(Kind::Name) && contains(ends, tokens_.current().text)) {
                    --nesting_;
                    return out;
                }
                auto statement = MINFER_TRY(this->statement());
                out.push_back(std::move(statement));
                MINFER_TRY(block_end());
            }
        }
        if (ends.size() > 0) return tokens_.expected(fmt::format("{}", fmt::join(ends, " or ")));
        --nesting_;
        return out;
    }

    Result<> block_end() {
        if (!tokens_.is(Kind::BlockEnd)) return tokens_.expected("end of statement block");
        tokens_.take();
        return {};
    }

    // The body of a tag: after its head, up to `ends`.
    Result<Block> body(Ends ends) {
        tokens_.skip_op(":");
        MINFER_TRY(block_end());
        return statements(ends);
    }

    Result<Stmt> statement() {
        const int line = tokens_.line();
        const auto name = MINFER_TRY(tokens_.expect_any_name());
        if (name == "if") return if_tag(line);
        if (name == "for") return for_tag(line);
        if (name == "set") return set_tag(line);
        if (name == "macro") return macro_tag(line);
        if (name == "break" || name == "continue") {
            if (loops_ == 0)
                return fail(Fault::BadInput, "template line {}: '{}' outside of a loop", line,
                            name);
            return Stmt{.kind = name == "break" ? Stmt::Kind::Break : Stmt::Kind::Continue,
                        .line = line};
        }
        if (contains(kForeignTags, name)) return unsupported(line, fmt::format("tag '{}'", name));
        return fail(Fault::BadInput, "template line {}: unknown tag '{}'", line, name);
    }

    Result<Stmt> if_tag(int line) {
        Stmt out{.kind = Stmt::Kind::If, .line = line};
        while (true) {
            auto test = MINFER_TRY(expressions_.tuple(false));
            auto block = MINFER_TRY(body({"elif", "else", "endif"}));
            out.arms.push_back({std::move(test), std::move(block)});
            const auto tag = tokens_.take().text;
            if (tag == "endif") return out;
            if (tag == "elif") continue;
            out.orelse = MINFER_TRY(body({"endif"}));
            tokens_.take();
            return out;
        }
    }

    Result<Stmt> for_tag(int line) {
        Stmt out{.kind = Stmt::Kind::For, .line = line};
        out.target = MINFER_TRY(expressions_.target(false));
        if (assigns_loop(*out.target))
            return fail(Fault::BadInput, "template line {}: can't assign to 'loop' in a for tag",
                        line);
        MINFER_TRY(tokens_.expect_name("in"));
        out.expr = MINFER_TRY(expressions_.tuple(false));
        if (tokens_.skip_name("if")) out.condition = MINFER_TRY(expressions_.expression());
        if (tokens_.is_name("recursive")) return unsupported(line, "a recursive loop");
        ++loops_;
        out.body = MINFER_TRY(body({"endfor", "else"}));
        --loops_;
        if (tokens_.take().text == "else") {
            out.orelse = MINFER_TRY(body({"endfor"}));
            tokens_.take();
        }
        return out;
    }

    static bool assigns_loop(const Expr& target) {
        if (target.kind == Expr::Kind::Name) return target.name == "loop";
        return std::ranges::any_of(target.kids, [](const auto& kid) { return assigns_loop(*kid); });
    }

    Result<Stmt> set_tag(int line) {
        Stmt out{.kind = Stmt::Kind::Set, .line = line};
        out.target = MINFER_TRY(expressions_.target(true));
        if (tokens_.skip_op("=")) {
            out.expr = MINFER_TRY(expressions_.tuple());
            return out;
        }
        if (tokens_.is_op("|")) return unsupported(line, "a set block with a filter");
        out.kind = Stmt::Kind::SetBlock;
        out.body = MINFER_TRY(body({"endset"}));
        tokens_.take();
        return out;
    }

    Result<Stmt> macro_tag(int line) {
        Stmt out{.kind = Stmt::Kind::Macro, .line = line};
        out.macro = std::make_unique<MacroDef>();
        out.macro->name = MINFER_TRY(tokens_.expect_any_name());
        auto& parameters = out.macro->parameters;
        MINFER_TRY(tokens_.expect_op("("));
        while (!tokens_.is_op(")")) {
            if (!parameters.empty()) MINFER_TRY(tokens_.expect_op(","));
            Parameter parameter;
            parameter.name = MINFER_TRY(tokens_.expect_any_name());
            if (parameter.name == "caller") return unsupported(line, "'caller'");
            if (contains(parameters, parameter.name, &Parameter::name))
                return fail(Fault::BadInput, "template line {}: parameter '{}' is repeated", line,
                            parameter.name);
            if (tokens_.skip_op("="))
                parameter.fallback = MINFER_TRY(expressions_.expression());
            else if (!parameters.empty() && parameters.back().fallback)
                return fail(Fault::BadInput,
                            "template line {}: non-default argument follows default argument",
                            line);
            parameters.push_back(std::move(parameter));
        }
        MINFER_TRY(tokens_.expect_op(")"));
        const int loops = std::exchange(loops_, 0);
        out.macro->body = MINFER_TRY(body({"endmacro"}));
        loops_ = loops;
        tokens_.take();
        return out;
    }

    TokenStream tokens_;
    ExpressionParser expressions_;
    int nesting_ = 0, loops_ = 0;
};

}  // namespace

Result<Program> parse_template(std::string_view source) {
    constexpr size_t kMaxBytes = 1 << 20;  // published templates have up to some 20 KB
    if (source.size() > kMaxBytes)
        return fail(Fault::BadInput, "the chat template has {} bytes, {} are allowed",
                    source.size(), kMaxBytes);
    const size_t bad = find_invalid_utf8(source);
    if (bad != std::string_view::npos)
        return fail(Fault::BadInput, "the chat template is not UTF-8 at byte {}", bad);
    auto tokens = MINFER_TRY(tokenize(source));
    Program program;
    program.body = MINFER_TRY(Parser(std::move(tokens)).run());
    find_hidden_names(program);
    return program;
}

}  // namespace minfer::jinja

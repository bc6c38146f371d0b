#include "softmetal/msl/strict/rules.h"

#include <algorithm>
#include <array>
#include <string>

namespace softmetal::msl::strict {
namespace {

class Rules {
  public:
    Rules(const Tokens& tokens, const Outline& outline, std::vector<Diagnostic>& errors)
        : tokens_(tokens), outline_(outline), errors_(errors) {}

    void run() {
        for (const auto& function : outline_.functions)
            if (function.declaration.is_kernel) kernels_.insert(tokens_[function.name].text);
        for (size_t i = 0; i < tokens_.size(); ++i) word(i);
        for (const auto& variable : outline_.variables) program_scope(variable);
        for (const auto& function : outline_.functions) {
            body(function.body);
            if (function.class_name.empty() && tokens_[function.name].is("main") &&
                !function.declaration.is_kernel)
                error(function.name, "non-qualified function cannot be called 'main'");
            if (function.in_class && function.declaration.is_kernel)
                error(function.name, "a kernel cannot be a member function");
        }
    }

  private:
    bool at(size_t i, std::string_view what) const {
        return i < tokens_.size() && tokens_[i].is(what);
    }
    void error(size_t i, std::string message) {
        errors_.push_back(error_at(tokens_, i, std::move(message)));
    }

    // ---- anywhere ----

    void word(size_t i) {
        const auto& token = tokens_[i];
        if (token.is("double")) error(i, "'double' is not supported in Metal");
        if (token.is("long") && at(i + 1, "long") && !(i > 0 && at(i - 1, "long")))
            error(i, "'long long' is not supported in Metal");
        if (token.is("asm") || token.is("__asm__") || token.is("__asm"))
            error(i, "inline assembly is not supported in Metal");
        if (token.is("virtual")) error(i, "virtual functions are not supported in Metal");
        if (token.is("goto")) error(i, "'goto' is not supported in Metal");
        if (token.kind == TokenKind::Number && is_long_double(token.text))
            error(i, "'long double' is not supported in Metal");
        if (token.is("[") && is_lambda(i))
            error(i, "lambda expressions are not supported in Metal");
    }

    static bool is_long_double(std::string_view text) {
        const bool hex = text.starts_with("0x") || text.starts_with("0X");
        const bool floating = text.find('.') != std::string_view::npos ||
                              text.find_first_of(hex ? "pP" : "eE") != std::string_view::npos;
        return floating && (text.ends_with('l') || text.ends_with('L'));
    }

    // `[captures] (` or `[captures] {` where an expression begins.
    bool is_lambda(size_t i) const {
        const uint32_t close = tokens_.partner[i];
        if (close == kNoPartner || starts_attribute(tokens_, i) ||
            (i > 0 && starts_attribute(tokens_, i - 1)))
            return false;
        if (!at(close + 1, "(") && !at(close + 1, "{")) return false;
        constexpr std::array<std::string_view, 12> kBefore = {"=", "(", ",", "return", "{",  ";",
                                                              "}", "?", ":", "&&",     "||", "!"};
        return i > 0 &&
               std::find(kBefore.begin(), kBefore.end(), tokens_[i - 1].text) != kBefore.end();
    }

    // ---- variables ----

    void program_scope(const Variable& variable) {
        const auto& declaration = variable.declaration;
        const Range head = declaration.shape.head;
        bool is_static = !variable.is_member, is_extern = false, has_space = false;
        size_t name = kNowhere;
        for (size_t i = head.begin; i < head.end; ++i) {
            const auto& token = tokens_[i];
            if (const size_t next = skip_attribute_like(tokens_, i, head.end); next != i) {
                i = next - 1;
                continue;
            }
            is_static |= token.is("static");
            is_extern |= token.is("extern");
            has_space |= token.is("constant") || outline_.spaced_types.contains(token.text);
            if (const size_t next = token.is("<") ? skip_angles(tokens_, i, head.end) : kNowhere;
                next != kNowhere) {
                i = next - 1;
            } else if (token.is("[")) {
                i = skip_bracket(tokens_, i) - 1;
            } else if (token.is_word()) {
                name = i;
            }
        }
        const bool is_other =
            at(head.begin, "friend") || at(head.begin, "concept") || at(head.begin, "thread_local");
        if (!is_static || name == kNowhere || names_a_class(head) || is_other) return;
        if (!has_space)
            return error(name, std::string(is_extern ? "extern" : "program scope") +
                                   " variable must reside in constant address space");
        if (!is_extern && !has_value(declaration))
            error(name, "variable in constant address space must be initialized");
    }

    bool has_value(const Declaration& declaration) const {
        for (const auto& attribute : declaration.attributes)
            if (attribute.name == "function_constant") return true;
        for (size_t i = declaration.shape.head.begin; i < declaration.whole.end;
             i = skip_bracket(tokens_, i))
            if (tokens_[i].is("=") || tokens_[i].is("{")) return true;
        return false;
    }

    // `struct X;`
    bool names_a_class(Range head) const {
        size_t words = 0;
        bool has_key = false;
        for (size_t i = head.begin; i < head.end; ++i) {
            const auto& token = tokens_[i];
            if (token.is("struct") || token.is("class") || token.is("union") || token.is("enum"))
                has_key = true;
            else if (token.is("<"))
                return has_key && words == 1;
            else if (token.is_word())
                ++words;
        }
        return has_key && words <= 1;
    }

    // ---- function bodies ----

    void body(Range range) {
        for (size_t i = range.begin; i < range.end; ++i) {
            if (tokens_[i].is("static")) static_local(i, range.end);
            if (tokens_[i].is_word() && kernels_.contains(tokens_[i].text))
                call_of_kernel(i, range.end);
        }
    }

    void static_local(size_t i, size_t end) {
        size_t name = kNowhere;
        for (size_t k = i; k < end; ++k) {
            if (at(k, "(")) return;  // a method of a local class
            if (at(k, "=") || at(k, ";") || at(k, "{") || at(k, "[")) break;
            if (tokens_[k].is_word()) name = k;
        }
        if (name != kNowhere) error(name, "variables in function scope cannot be declared static");
    }

    void call_of_kernel(size_t i, size_t end) {
        if (at(i - 1, ".") || at(i - 1, "->") || at(i - 1, "::")) return;  // a method
        size_t next = i + 1;
        if (at(next, "<")) next = skip_angles(tokens_, next, end);
        if (next == kNowhere || !at(next, "(")) return;
        error(i, "kernel function '" + std::string(tokens_[i].text) + "' cannot be called");
    }

    const Tokens& tokens_;
    const Outline& outline_;
    std::vector<Diagnostic>& errors_;
    std::set<std::string_view> kernels_;
};

}  // namespace

void check_rules(const Tokens& tokens, const Outline& outline, std::vector<Diagnostic>& errors) {
    Rules(tokens, outline, errors).run();
}

}  // namespace softmetal::msl::strict

#include "softmetal/msl/translate/bodies.h"

#include <algorithm>
#include <array>
#include <string>

#include "softmetal/msl/translate/kernels.h"

namespace softmetal::msl {
namespace {

class Body {
  public:
    Body(const Tokens& tokens, Range body, bool in_kernel, bool in_template, Edits& edits,
         std::vector<Diagnostic>& errors)
        : tokens_(tokens),
          body_(body),
          in_kernel_(in_kernel),
          in_template_(in_template),
          edits_(edits),
          errors_(errors) {}

    void run() {
        for (size_t i = body_.begin; i < body_.end; ++i) {
            if (tokens_[i].is("threadgroup"))
                threadgroup_declaration(i, body_);
            else if (in_template_ && is_swizzle(i))
                swizzle(i, body_);
        }
    }

  private:
    // `.x`, `.rgb`, ... at the name's token.
    bool is_swizzle(size_t i) const {
        const auto text = tokens_[i].text;
        return i > 0 && (tokens_[i - 1].is(".") || tokens_[i - 1].is("->")) && text.size() <= 4 &&
               (text.find_first_not_of("xyzw") == std::string_view::npos ||
                text.find_first_not_of("rgba") == std::string_view::npos);
    }

    // Swizzles are properties, and in templates clang 19 takes a dependent one neither for the left
    // side of an overloaded operator nor for its target: `v.xy * 2` becomes `v.get_xy() * 2`, and
    // `v.xy += e` becomes `v.xy = v.get_xy() + (e)`.
    void swizzle(size_t name, Range body) {
        const size_t next = name + 1;
        if (next >= body.end) return;
        constexpr std::array<std::string_view, 8> kOperators = {
            "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="};
        const auto& after = tokens_[next];
        if (std::find(kOperators.begin(), kOperators.end(), after.text) != kOperators.end())
            swizzle_assignment(name, body);
        else if (!after.is("=") && !after.is("++") && !after.is("--") && after.text.size() < 3)
            edits_.replace(tokens_.offset(name), tokens_.end_offset(name), getter(name));
    }

    // A component is a member like others, and so may be what the program has declared itself.
    std::string getter(size_t name) const {
        std::string text(tokens_[name].text);
        if (text.size() == 1) return text;
        for (size_t i = 0; i < tokens_.size(); ++i)
            if (tokens_[i].is(text) && i > 0 && !tokens_[i - 1].is(".") && !tokens_[i - 1].is("->"))
                return text;
        for (char& c : text) {
            const size_t color = std::string_view("rgba").find(c);
            if (color != std::string_view::npos) c = "xyzw"[color];
        }
        return "get_" + text + "()";
    }

    void swizzle_assignment(size_t name, Range body) {
        const size_t op = name + 1;
        // Back over `a`, `a.b`, `a[i]`, `(*a)`, `a->b`. Nothing that is called or changed may run
        // twice.
        size_t begin = name - 1;
        while (begin > body.begin) {
            const auto& before = tokens_[begin - 1];
            const uint32_t partner = tokens_.partner[begin - 1];
            const bool bracket = (before.is("]") || before.is(")")) && partner != kNoPartner;
            if (bracket) {
                begin = partner;
                if (before.is(")") && begin > body.begin && tokens_[begin - 1].is_word()) return;
            } else if (before.is_word() || before.is(".") || before.is("->") || before.is("::")) {
                --begin;
                if (before.is_word() && begin > body.begin && tokens_[begin - 1].is_word()) break;
            } else {
                break;
            }
        }
        for (size_t i = begin; i < name; ++i)
            if (tokens_[i].is("++") || tokens_[i].is("--") || tokens_[i].is("=") ||
                is_called(i, name))
                return;
        size_t end = op + 1;
        while (end < body.end && !tokens_[end].is(";") && !tokens_[end].is(",") &&
               !tokens_[end].is(")"))
            end = skip_bracket(tokens_, end);
        const auto target = flat_text(tokens_, {begin, name}) + " " + getter(name);
        const auto symbol = std::string(tokens_[op].text.substr(0, 1));
        edits_.replace(tokens_.offset(op), tokens_.end_offset(op),
                       "= " + target + " " + symbol + " (");
        edits_.insert(tokens_.offset(end), ")");
    }

    bool is_called(size_t i, size_t end) const {
        return tokens_[i].is_word() && i + 1 < end && tokens_[i + 1].is("(");
    }

    // `threadgroup T a[4], b;` declares storage; `threadgroup T* p = a;` a pointer.
    void threadgroup_declaration(size_t at, Range body) {
        size_t begin = at;
        while (begin > body.begin &&
               (tokens_[begin - 1].is("const") || tokens_[begin - 1].is("volatile")))
            --begin;
        const auto& before = tokens_[begin - 1];
        if (begin > body.begin && !before.is(";") && !before.is("{") && !before.is("}") &&
            !before.is(":") && !before.is(")"))
            return;
        const size_t type_end = skip_type(tokens_, begin, body.end);
        if (type_end == kNowhere || type_end >= body.end || !tokens_[type_end].is_word()) return;
        const size_t after = type_end + 1;
        if (after >= body.end || !(tokens_[after].is("[") || tokens_[after].is(";") ||
                                   tokens_[after].is(",") || tokens_[after].is("=")))
            return;
        if (!in_kernel_) {
            errors_.push_back(
                error_at(tokens_, type_end,
                         "variable '" + std::string(tokens_[type_end].text) +
                             "' in the threadgroup address space must be declared in a kernel"));
            return;
        }
        const std::string type = flat_text(tokens_, {begin, type_end});
        size_t end = begin;
        while (end < body.end && !tokens_[end].is(";")) end = skip_bracket(tokens_, end);
        edits_.insert(tokens_.offset(begin), "typedef ");
        for (const auto& declarator : split_commas(tokens_, {type_end, end})) {
            const size_t name_at = declarator.begin;
            if (declarator.empty() || !tokens_[name_at].is_word() ||
                find_outside(tokens_, declarator, "=") != kNowhere) {
                errors_.push_back(error_at(tokens_, std::min(name_at, end),
                                           "a threadgroup variable cannot have an initializer"));
                return;
            }
            const std::string name(tokens_[name_at].text);
            edits_.replace(tokens_.offset(name_at), tokens_.end_offset(name_at), "sm_type_" + name);
            const std::string storage = "; SM_THREADGROUP_VARIABLE(" + name + ")";
            if (declarator.end == end) {
                edits_.insert(tokens_.offset(end), storage);
            } else {
                edits_.replace(tokens_.offset(declarator.end), tokens_.end_offset(declarator.end),
                               storage + " typedef " + type);
            }
        }
    }

    const Tokens& tokens_;
    Range body_;
    bool in_kernel_, in_template_;
    Edits& edits_;
    std::vector<Diagnostic>& errors_;
};

}  // namespace

void rewrite_body(const Tokens& tokens, Range body, bool in_kernel, bool in_template, Edits& edits,
                  std::vector<Diagnostic>& errors) {
    Body(tokens, body, in_kernel, in_template, edits, errors).run();
}

}  // namespace softmetal::msl

#include "softmetal/msl/strict/outline.h"

#include <utility>

namespace softmetal::msl::strict {
namespace {

class Walker {
  public:
    explicit Walker(const Tokens& tokens) : tokens_(tokens) {}

    Outline run() {
        collect_types();
        members({0, tokens_.size()}, "");
        // Statics are named as such inside their class only.
        for (auto& function : out_.functions)
            function.is_static |=
                !function.in_class && !function.class_name.empty() &&
                statics_.contains({function.class_name, tokens_[function.name].text});
        return std::move(out_);
    }

  private:
    bool at(size_t i, std::string_view what) const {
        return i < tokens_.size() && tokens_[i].is(what);
    }

    // ---- names of types ----

    void collect_types() {
        for (size_t i = 0; i + 1 < tokens_.size(); ++i) {
            const auto& token = tokens_[i];
            if (token.is("struct") || token.is("class") || token.is("union") || token.is("enum")) {
                size_t name = i + 1;
                if (at(name, "class") || at(name, "struct")) ++name;
                while (name < tokens_.size()) {
                    const size_t next = skip_attribute_like(tokens_, name, tokens_.size());
                    if (next == name) break;
                    name = next;
                }
                if (name < tokens_.size() && tokens_[name].is_word())
                    out_.types.insert(tokens_[name].text);
            } else if (token.is("using") && tokens_[i + 1].is_word() && at(i + 2, "=")) {
                alias(tokens_[i + 1].text, {i + 3, past_semicolon(tokens_, i, tokens_.size())});
            } else if (token.is("typedef")) {
                type_definition(i);
            } else if (token.is("template") && tokens_[i + 1].is("<")) {
                template_parameters(i + 1);
            }
        }
    }

    void alias(std::string_view name, Range meaning) {
        out_.types.insert(name);
        for (size_t i = meaning.begin; i < meaning.end; ++i)
            if (is_address_space(tokens_[i])) out_.spaced_types.insert(name);
    }

    void type_definition(size_t i) {
        const size_t end = past_semicolon(tokens_, i, tokens_.size());
        size_t name = kNowhere;
        for (size_t k = i + 1; k < end; k = skip_bracket(tokens_, k))
            if (tokens_[k].is_word() && !is_builtin_type_word(tokens_[k])) name = k;
        if (name != kNowhere) alias(tokens_[name].text, {i + 1, end});
    }

    // The names behind `typename` and `class`.
    void template_parameters(size_t open) {
        const size_t end = skip_angles(tokens_, open, tokens_.size());
        if (end == kNowhere) return;
        for (size_t i = open + 1; i + 1 < end; ++i) {
            if (!tokens_[i].is("typename") && !tokens_[i].is("class")) continue;
            const size_t name = at(i + 1, "...") ? i + 2 : i + 1;
            const bool plain = name < end && tokens_[name].is_word() &&
                               (at(name + 1, ",") || at(name + 1, ">") || at(name + 1, "="));
            if (plain) out_.template_types.insert(tokens_[name].text);
        }
    }

    // ---- declarations ----

    void members(Range range, std::string_view class_name) {
        for (size_t i = range.begin; i < range.end;) i = member(i, range.end, class_name);
    }

    size_t member(size_t i, size_t end, std::string_view class_name) {
        const auto& token = tokens_[i];
        if (token.is(";")) return i + 1;
        if ((token.is("public") || token.is("private") || token.is("protected")) && at(i + 1, ":"))
            return i + 2;
        if (token.is("inline") && at(i + 1, "namespace")) return name_space(i + 1, end);
        if (token.is("namespace")) return name_space(i, end);
        if (token.is("extern") && at(i + 2, "{")) {
            members({i + 3, tokens_.partner[i + 2]}, "");
            return tokens_.partner[i + 2] + 1;
        }
        if (token.is("using") || token.is("static_assert") || token.is("typedef"))
            return past_semicolon(tokens_, i, end);
        if (token.is("template") && !at(i + 1, "<")) return past_semicolon(tokens_, i, end);
        if (token.is("template")) {
            const size_t next = skip_angles(tokens_, i + 1, end);
            if (next != kNowhere && at(next, "using")) return past_semicolon(tokens_, i, end);
        }
        if (token.is("enum")) return past_semicolon(tokens_, i, end);
        auto declaration = read_declaration(tokens_, i, end);
        const size_t next = declaration.whole.end;
        if (declaration.is_class)
            members({declaration.body + 1, tokens_.partner[declaration.body]},
                    name_of_class(declaration.shape.head));
        else if (declaration.shape.has_parameters)
            function(std::move(declaration), class_name);
        else
            out_.variables.push_back({std::move(declaration), !class_name.empty()});
        return next;
    }

    size_t name_space(size_t i, size_t end) {
        size_t open = i + 1;
        while (open < end && !tokens_[open].is("{") && !tokens_[open].is(";"))
            open = starts_attribute(tokens_, open) ? skip_bracket(tokens_, open) : open + 1;
        if (open >= end || !tokens_[open].is("{")) return open + 1;
        members({open + 1, tokens_.partner[open]}, "");
        return tokens_.partner[open] + 1;
    }

    // The word after struct, class or union; of `struct A<int> : B` it is A.
    std::string_view name_of_class(Range head) const {
        for (size_t i = head.begin; i < head.end; ++i) {
            if (!tokens_[i].is("struct") && !tokens_[i].is("class") && !tokens_[i].is("union"))
                continue;
            ++i;
            while (i < head.end && skip_attribute_like(tokens_, i, head.end) != i)
                i = skip_attribute_like(tokens_, i, head.end);
            return i < head.end && tokens_[i].is_word() ? tokens_[i].text : "(unnamed)";
        }
        return "(unnamed)";
    }

    void function(Declaration declaration, std::string_view class_name) {
        Function out;
        const Range head = declaration.shape.head;
        out.class_name = class_name;
        out.in_class = !class_name.empty();
        for (size_t i = head.begin; i < head.end; ++i) {
            if (tokens_[i].is("friend")) out.class_name = {}, out.in_class = false;
            out.is_static |= tokens_[i].is("static");
            if (tokens_[i].is("operator")) out.name = i;
        }
        if (out.name == kNowhere) out.name = name_token(head);
        if (out.name == kNowhere) return;
        const size_t name = out.name;
        const size_t before = name > head.begin ? name - 1 : kNowhere;
        const bool tilde = before != kNowhere && tokens_[before].is("~");
        const size_t colons = tilde ? before - 1 : before;
        if (!out.in_class && colons != kNowhere && colons > head.begin && tokens_[colons].is("::"))
            out.class_name = class_before(colons, head.begin);
        out.is_special = tilde || (!out.class_name.empty() && tokens_[name].text == out.class_name);
        const size_t after = declaration.shape.trailing.end;
        out.is_defaulted = at(after, "=") && (at(after + 1, "default") || at(after + 1, "delete"));
        if (declaration.body != kNowhere)
            out.body = {declaration.body + 1, tokens_.partner[declaration.body]};
        if (out.in_class && out.is_static) statics_.insert({out.class_name, tokens_[name].text});
        out.declaration = std::move(declaration);
        out_.functions.push_back(std::move(out));
        local_classes(out_.functions.back().body);
    }

    size_t name_token(Range head) const {
        if (head.empty()) return kNowhere;
        size_t i = head.end - 1;
        if (tokens_[i].is(">")) {
            const size_t open = open_angle(tokens_, head.begin, i);
            if (open == kNowhere || open == head.begin) return kNowhere;
            i = open - 1;
        }
        return tokens_[i].is_word() ? i : kNowhere;
    }

    // X of `X::` or `X<...>::`; "" when X is a namespace.
    std::string_view class_before(size_t colons, size_t begin) const {
        size_t i = colons - 1;
        if (tokens_[i].is(">")) {
            const size_t open = open_angle(tokens_, begin, i);
            if (open == kNowhere || open == begin) return {};
            i = open - 1;
        }
        return out_.types.contains(tokens_[i].text) ? tokens_[i].text : std::string_view();
    }

    void local_classes(Range body) {
        for (size_t i = body.begin; i < body.end; ++i) {
            if (!tokens_[i].is("struct") && !tokens_[i].is("class") && !tokens_[i].is("union"))
                continue;
            const auto declaration = read_declaration(tokens_, i, body.end);
            if (!declaration.is_class) continue;
            members({declaration.body + 1, tokens_.partner[declaration.body]},
                    name_of_class(declaration.shape.head));
            i = tokens_.partner[declaration.body];
        }
    }

    const Tokens& tokens_;
    Outline out_;
    std::set<std::pair<std::string_view, std::string_view>> statics_;
};

}  // namespace

Outline outline_of(const Tokens& tokens) { return Walker(tokens).run(); }

}  // namespace softmetal::msl::strict

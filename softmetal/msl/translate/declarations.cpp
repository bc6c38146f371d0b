#include "softmetal/msl/translate/declarations.h"

#include <algorithm>
#include <utility>

namespace softmetal::msl {
namespace {

class Reader {
  public:
    explicit Reader(const Tokens& tokens) : tokens_(tokens) {}

    size_t read(size_t begin, size_t end, Declaration& out) const {
        size_t i = begin;
        while (i + 1 < end && tokens_[i].is("template") && tokens_[i + 1].is("<")) {
            const size_t next = skip_angles(tokens_, i + 1, end);
            if (next == kNowhere) return past_semicolon(tokens_, i, end);
            out.shape.template_headers.push_back({i + 2, next - 1});
            out.is_specialization = next - 1 == i + 2;
            i = next;
            if (i < end && tokens_[i].is("requires")) return past_semicolon(tokens_, i, end);
        }
        out.shape.head = {i, i};
        const bool class_key = find_class_key(i, end);
        size_t parameters = kNowhere;
        while (i < end) {
            const auto& token = tokens_[i];
            if (starts_attribute(tokens_, i)) {
                for (auto& attribute : read_attributes(tokens_, i)) {
                    out.is_kernel |= attribute.name == "kernel";
                    out.attributes.push_back(std::move(attribute));
                }
                i = skip_bracket(tokens_, i);
                continue;
            }
            if (token.is("kernel")) out.is_kernel = true;
            if (token.is("operator") && parameters == kNowhere) {
                i = operator_name(i, end);
                continue;
            }
            if (const size_t next = skip_attribute_like(tokens_, i, end); next != i) {
                i = next;
                continue;
            }
            if (token.is("<") && i > begin && tokens_[i - 1].is_word()) {
                const size_t next = skip_angles(tokens_, i, end);
                i = next == kNowhere ? i + 1 : next;
                continue;
            }
            if (token.is("(") && parameters == kNowhere && !class_key) {
                parameters = i;
                out.shape.head.end = i;
                out.shape.parameters = {i + 1, tokens_.partner[i]};
                out.shape.has_parameters = true;
                i = skip_bracket(tokens_, i);
                out.shape.trailing = {i, i};
                continue;
            }
            if (token.is(":") && parameters != kNowhere) {
                end_trailing(out, i);
                i = initializer_list(i + 1, end);
                continue;
            }
            if (token.is("=") || token.is(";")) {
                end_trailing(out, i);
                if (parameters == kNowhere) out.shape.head.end = i;
                i = past_semicolon(tokens_, i, end);
                break;
            }
            if (token.is("{")) {
                end_trailing(out, i);
                if (parameters == kNowhere) out.shape.head.end = i;
                out.is_class = class_key && !out.shape.has_parameters;
                const bool is_function = out.shape.has_parameters;
                if (is_function || out.is_class) out.body = i;
                i = skip_bracket(tokens_, i);
                if (!is_function) i = past_semicolon(tokens_, i, end);
                break;
            }
            i = skip_bracket(tokens_, i);
        }
        out.whole = {begin, i};
        return i;
    }

  private:
    void end_trailing(Declaration& out, size_t i) const {
        if (out.shape.has_parameters && out.shape.trailing.begin == out.shape.trailing.end)
            out.shape.trailing.end = i;
    }

    // struct, class or union that is defined here, not merely named as a type.
    bool find_class_key(size_t i, size_t end) const {
        for (; i < end; ++i) {
            const auto& token = tokens_[i];
            if (starts_attribute(tokens_, i)) {
                i = skip_bracket(tokens_, i) - 1;
                continue;
            }
            if (token.is("enum")) return false;
            if (token.is("struct") || token.is("class") || token.is("union")) break;
            if (!is_specifier(token) && !is_address_space(token) && !token.is("const") &&
                !token.is("typedef"))
                return false;
        }
        if (i >= end) return false;
        const size_t open = find_outside(tokens_, {i, end}, "{");
        const size_t semicolon = find_outside(tokens_, {i, end}, ";");
        const size_t parameters = find_parameters(i, end);
        return open != kNowhere && (semicolon == kNowhere || open < semicolon) && open < parameters;
    }

    size_t find_parameters(size_t i, size_t end) const {
        while (i < end) {
            if (const size_t next = skip_attribute_like(tokens_, i, end); next != i) {
                i = next;
                continue;
            }
            if (tokens_[i].is("<") && tokens_[i - 1].is_word()) {
                const size_t next = skip_angles(tokens_, i, end);
                if (next != kNowhere) {
                    i = next;
                    continue;
                }
            }
            if (tokens_[i].is("(")) return i;
            if (tokens_[i].is("{") || tokens_[i].is(";")) return kNowhere;
            ++i;
        }
        return kNowhere;
    }

    // Past `operator` and what it is: a symbol or a type. Stops at the parameter list.
    size_t operator_name(size_t i, size_t end) const {
        ++i;
        if (i + 1 < end && tokens_[i].is("(") && tokens_[i + 1].is(")")) return i + 2;
        while (i < end && !tokens_[i].is("(")) {
            if (tokens_[i].is("<") && tokens_[i - 1].is_word() && !tokens_[i - 1].is("operator")) {
                const size_t next = skip_angles(tokens_, i, end);
                i = next == kNowhere ? i + 1 : next;
            } else {
                i = skip_bracket(tokens_, i);
            }
        }
        return i;
    }

    // `a(x), b{y}` up to the function body.
    size_t initializer_list(size_t i, size_t end) const {
        while (i < end) {
            while (i < end && !tokens_[i].is("(") && !tokens_[i].is("{") && !tokens_[i].is(";")) {
                if (tokens_[i].is("<")) {
                    const size_t next = skip_angles(tokens_, i, end);
                    i = next == kNowhere ? i + 1 : next;
                } else {
                    ++i;
                }
            }
            if (i >= end || tokens_[i].is(";")) return i;
            i = skip_bracket(tokens_, i);
            if (i < end && tokens_[i].is("...")) ++i;
            if (i >= end || !tokens_[i].is(",")) return i;
            ++i;
        }
        return i;
    }

    const Tokens& tokens_;
};

}  // namespace

Declaration read_declaration(const Tokens& tokens, size_t i, size_t end) {
    Declaration out;
    const size_t next = Reader(tokens).read(i, end, out);
    out.whole = {i, next};
    return out;
}

size_t past_semicolon(const Tokens& tokens, size_t i, size_t end) {
    while (i < end && !tokens[i].is(";")) i = skip_bracket(tokens, i);
    return std::min(i + 1, end);
}

}  // namespace softmetal::msl

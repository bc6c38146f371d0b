#include "softmetal/msl/strict/prepare.h"

#include <algorithm>
#include <array>

#include "softmetal/msl/translate/bodies.h"
#include "softmetal/msl/translate/edits.h"
#include "softmetal/msl/translate/words.h"

namespace softmetal::msl::strict {
namespace {

class Preparation {
  public:
    Preparation(const Tokens& tokens, const Outline& outline)
        : tokens_(tokens), outline_(outline) {}

    std::string run() {
        words();
        for (const auto& function : outline_.functions) function_like(function);
        for (const auto& variable : outline_.variables) variable_like(variable);
        return edits_.apply(tokens_.text);
    }

  private:
    bool at(size_t i, std::string_view what) const {
        return i < tokens_.size() && tokens_[i].is(what);
    }
    void replace(size_t i, std::string text) {
        edits_.replace(tokens_.offset(i), tokens_.end_offset(i), std::move(text));
    }

    void words() {
        for (size_t i = 0; i < tokens_.size();) {
            if (starts_attribute(tokens_, i)) {
                attribute(i);
                i = skip_bracket(tokens_, i);
                continue;
            }
            const auto& token = tokens_[i];
            if (token.kind == TokenKind::Number)
                number(i);
            else if (token.kind == TokenKind::Text && token.text.front() == '"' && is_argument(i))
                replace(i, "(metal::sm::text(" + std::string(token.text) + "))");
            else if (token.is("typedef") || (token.is("using") && at(i + 2, "=")))
                function_pointers({i, past_semicolon(tokens_, i, tokens_.size())});
            else if (token.is("coherent") && i + 1 < tokens_.size() &&
                     is_address_space(tokens_[i + 1]))
                replace(i, "");
            ++i;
        }
        for (const auto& pragma : tokens_.pragmas) {
            // How a loop is unrolled decides nothing, and macros in pragmas are not expanded.
            if (pragma.text.find("METAL") == std::string_view::npos &&
                pragma.text.find("unroll") == std::string_view::npos)
                continue;
            const auto begin = static_cast<size_t>(pragma.text.data() - tokens_.text.data());
            edits_.replace(begin, begin + pragma.text.size(), "");
        }
    }

    // 1.0 is a float, 1.0bf a bfloat; our own macros write 1.0f16 for 1.0h.
    void number(size_t i) {
        const auto text = tokens_[i].text;
        const bool hex = text.starts_with("0x") || text.starts_with("0X");
        const size_t exponent = text.find_first_of(hex ? "pP" : "eE");
        if (text.find('.') == std::string_view::npos && exponent == std::string_view::npos) return;
        const size_t suffix_at =
            text.find_first_of("fFhHbBlL", hex ? std::min(exponent, text.size()) : 0);
        const auto digits = std::string(text.substr(0, suffix_at));
        const auto suffix = suffix_at == std::string_view::npos ? "" : text.substr(suffix_at);
        if (suffix.empty()) replace(i, digits + "f");
        if (suffix == "f16") replace(i, digits + "h");
        if (suffix == "bf" || suffix == "BF") replace(i, "(bfloat(" + digits + "f))");
    }

    // A text that is handed on: OpenCL keeps it in an address space of its own.
    bool is_argument(size_t i) const {
        if (i == 0 || i + 1 >= tokens_.size()) return false;
        const auto& before = tokens_[i - 1];
        if (!before.is("(") && !before.is(",") && !before.is("return")) return false;
        // Assertions and attributes want a literal.
        for (size_t k = i; k-- > 0 && !tokens_[k].is(";") && !tokens_[k].is("{");) {
            const uint32_t partner = tokens_.partner[k];
            if (partner != kNoPartner && partner < k)
                k = partner;
            else if (tokens_[k].is("(") && k > 0 &&
                     (at(k - 1, "static_assert") || at(k - 1, "__attribute__")))
                return false;
        }
        return true;
    }

    void attribute(size_t i) {
        constexpr std::array<std::string_view, 7> kCpp = {
            "maybe_unused", "nodiscard", "fallthrough", "likely",
            "unlikely",     "noreturn",  "deprecated"};
        bool keep = true;
        for (const auto& attribute : read_attributes(tokens_, i))
            keep &= attribute.name.find("::") != std::string::npos ||
                    std::find(kCpp.begin(), kCpp.end(), attribute.name) != kCpp.end();
        if (!keep) edits_.blank(tokens_.offset(i), tokens_.end_offset(tokens_.partner[i]));
    }

    void function_like(const Function& function) {
        const auto& shape = function.declaration.shape;
        for (const auto& header : shape.template_headers) function_pointers(header);
        if (!function.class_name.empty()) address_space_of_this(function);
        takes_temporaries(function);
        const bool is_template = !shape.template_headers.empty() || !function.class_name.empty();
        std::vector<Diagnostic> told_elsewhere;
        if (!function.body.empty())
            rewrite_body(tokens_, function.body, true, is_template, edits_, told_elsewhere);
    }

    // template <void (*f)(int)>, typedef void (*F)(int): clang finds no function for a template
    // parameter that is a pointer of OpenCL's, but for one that becomes a pointer.
    void function_pointers(Range range) {
        for (size_t i = range.begin; i + 3 < range.end; ++i) {
            if (!at(i, "(") || !at(i + 1, "*")) continue;
            const size_t close = tokens_.partner[i];
            if (close > i + 3 || !at(close + 1, "(")) continue;
            for (const size_t k : {i, i + 1, close}) replace(k, " ");
        }
    }

    // A method without one belongs to objects of the thread, a constructor makes them anywhere. As
    // an address space of `this` clang takes OpenCL's own words only.
    void address_space_of_this(const Function& function) {
        const size_t space = space_of_this(function);
        if (function.is_special) return constructor(function, space);
        if (space != kNowhere && at(space, "device")) replace(space, "__generic");
        if (space != kNowhere || function.is_static || function.is_defaulted) return;
        edits_.insert(tokens_.end_offset(function.declaration.shape.parameters.end), " thread ");
    }

    size_t space_of_this(const Function& function) const {
        const auto trailing = qualifiers_of(function);
        for (size_t i = trailing.begin; i < trailing.end && !at(i, "->"); ++i)
            if (is_address_space(tokens_[i])) return i;
        return kNowhere;
    }

    // What stands between parameters and body, without a constructor's initialisers.
    Range qualifiers_of(const Function& function) const {
        auto out = function.declaration.shape.trailing;
        out.end = std::min(out.end, find_outside(tokens_, out, ":"));
        return out;
    }

    // One that does not name OpenCL's generic space makes no temporaries: `thread` goes, and with
    // it a twin for `device`, which would be the same.
    void constructor(const Function& function, size_t space) {
        if (space == kNowhere) return;
        if (at(space, "thread")) replace(space, "");
        if (at(space, "constant")) replace(space, "__global");
        if (at(space, "device")) {
            if (has_twin(function))
                edits_.blank(tokens_.offset(function.declaration.whole.begin),
                             tokens_.end_offset(function.declaration.whole.end - 1));
            else
                replace(space, "");
        }
    }

    bool has_twin(const Function& function) const {
        const auto flat = signature_of(tokens_, function.declaration.shape).flat;
        return std::any_of(outline_.functions.begin(), outline_.functions.end(),
                           [&](const Function& other) {
                               return &other != &function &&
                                      other.class_name == function.class_name && other.is_special &&
                                      signature_of(tokens_, other.declaration.shape).flat == flat;
                           });
    }

    // In clang no reference to `thread` takes a temporary. So a function with parameters
    // `const thread T&` is declared for `const T&&` as well, in every combination.
    void takes_temporaries(const Function& function) {
        const auto& shape = function.declaration.shape;
        const bool is_outside = !function.in_class && !function.class_name.empty();
        if (function.is_defaulted || is_outside || function.declaration.is_specialization ||
            at(shape.head.begin, "auto"))
            return;
        const auto parameters = split_commas(tokens_, shape.parameters);
        std::vector<size_t> references;
        for (size_t i = 0; i < parameters.size(); ++i)
            if (is_const_thread_reference(parameters[i])) references.push_back(i);
        if (references.empty() || references.size() > 3) return;
        std::string out;
        for (size_t chosen = 1; chosen < size_t{1} << references.size(); ++chosen) {
            for (const auto& header : shape.template_headers)
                out += "template <" + text_of(header) + "> ";
            out += text_of(shape.head) + "(";
            for (size_t i = 0; i < parameters.size(); ++i) {
                if (i > 0) out += ", ";
                const auto at_reference = std::find(references.begin(), references.end(), i);
                const bool is_chosen = at_reference != references.end() &&
                                       (chosen >> (at_reference - references.begin()) & 1) != 0;
                out += is_chosen ? temporary_of(parameters[i]) : text_of(parameters[i]);
            }
            out += ")" + trailing_of(function) + "; ";
        }
        edits_.insert(tokens_.offset(function.declaration.whole.begin), out);
    }

    // `const thread T& name`, in any order of the words.
    bool is_const_thread_reference(Range parameter) const {
        bool is_const = false, is_thread = false;
        for (size_t i = parameter.begin; i < parameter.end; i = skip_bracket(tokens_, i)) {
            is_const |= at(i, "const");
            is_thread |= at(i, "thread");
            if (at(i, "*") || at(i, "&&") || at(i, "(") || at(i, "=")) return false;
            if (at(i, "&")) return is_const && is_thread;
        }
        return false;
    }

    std::string temporary_of(Range parameter) const {
        std::string out;
        for (size_t i = parameter.begin; i < parameter.end; ++i)
            if (!at(i, "thread")) out += at(i, "&") ? "&& " : std::string(tokens_[i].text) + " ";
        return out;
    }

    // The words of a declaration on one line, without MSL's attributes.
    std::string text_of(Range range) const {
        std::string out;
        for (size_t i = range.begin; i < range.end; ++i) {
            if (starts_attribute(tokens_, i)) {
                i = skip_bracket(tokens_, i) - 1;
                continue;
            }
            out += std::string(tokens_[i].text) + " ";
        }
        return out;
    }

    std::string trailing_of(const Function& function) const {
        const size_t space = space_of_this(function);
        std::string out;
        const auto trailing = qualifiers_of(function);
        for (size_t i = trailing.begin; i < trailing.end; ++i) {
            if (i == space && function.is_special) continue;
            out +=
                i == space && at(i, "device") ? " __generic" : " " + std::string(tokens_[i].text);
        }
        const bool is_method = function.in_class && !function.is_static && !function.is_special;
        return is_method && space == kNowhere ? " thread" + out : out;
    }

    void variable_like(const Variable& variable) {
        const auto& declaration = variable.declaration;
        const auto& whole = declaration.whole;
        const bool is_function_constant =
            std::any_of(declaration.attributes.begin(), declaration.attributes.end(),
                        [](const auto& a) { return a.name == "function_constant"; });
        if (!is_function_constant) return constant_of_class(variable);
        for (size_t i = whole.begin; i < whole.end; ++i)
            if (tokens_[i].is("static") || tokens_[i].is("constexpr")) replace(i, "");
        edits_.insert(tokens_.offset(whole.begin), "extern ");
    }

    // `static const constant T x = init;` in a class needs constexpr to have an initialiser there.
    void constant_of_class(const Variable& variable) {
        const auto& whole = variable.declaration.whole;
        bool is_static = false, is_constexpr = false, has_value = false;
        for (size_t i = whole.begin; i < whole.end; i = skip_bracket(tokens_, i)) {
            is_static |= tokens_[i].is("static");
            is_constexpr |= tokens_[i].is("constexpr");
            has_value |= tokens_[i].is("=");
        }
        if (variable.is_member && is_static && has_value && !is_constexpr)
            edits_.insert(tokens_.offset(variable.declaration.shape.head.begin), "constexpr ");
    }

    const Tokens& tokens_;
    const Outline& outline_;
    Edits edits_;
};

}  // namespace

std::string prepared(const Tokens& tokens, const Outline& outline) {
    return Preparation(tokens, outline).run();
}

}  // namespace softmetal::msl::strict

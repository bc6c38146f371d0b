// The walk over the declarations of a translation unit.
#include "softmetal/msl/translate/translate.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "softmetal/msl/translate/bodies.h"
#include "softmetal/msl/translate/declarations.h"
#include "softmetal/msl/translate/edits.h"
#include "softmetal/msl/translate/kernels.h"
#include "softmetal/msl/translate/signatures.h"
#include "softmetal/msl/translate/syntax.h"
#include "softmetal/msl/translate/table.h"
#include "softmetal/msl/translate/tokens.h"
#include "softmetal/msl/translate/words.h"

namespace softmetal::msl {
namespace {

class Translator {
  public:
    Translator(std::string_view text, Target target)
        : text_(text), target_(target), tokens_(tokenize(text)) {}

    Translation run() {
        replace_words(tokens_, edits_, errors_);
        if (tokens_.too_deep != kNoPartner)
            errors_.push_back(error_at(
                tokens_, tokens_.too_deep,
                "brackets are nested more than " + std::to_string(kDeepestBracket) + " deep"));
        // Of brackets that do not match, clang tells more.
        if (tokens_.can_be_walked()) declarations({0, tokens_.size()}, "");
        const auto names = kernel_names();
        Translation out{edits_.apply(text_), std::move(errors_), names};
        if (!out.text.ends_with('\n')) out.text += '\n';
        if (!out.errors.empty() || !tokens_.can_be_walked()) return out;
        out.text += target_ == Target::Native ? write_table(module_, tokens_.files)
                                              : write_nvptx_entries(module_);
        return out;
    }

  private:
    // Kernels are found by name: a name given twice would hide one of them.
    std::vector<std::string> kernel_names() {
        std::vector<std::string> out;
        for (const auto& instance : module_.instances) {
            auto name = name_of(instance, module_.kernels[instance.kernel]);
            if (std::find(out.begin(), out.end(), name) != out.end())
                errors_.push_back(
                    {instance.place, "error", "another kernel is named '" + name + "' already"});
            out.push_back(std::move(name));
        }
        return out;
    }

    // ---- namespaces and classes ----

    void declarations(Range range, const std::string& path) {
        for (size_t i = range.begin; i < range.end;) i = declaration(i, range.end, path);
    }

    size_t declaration(size_t i, size_t end, const std::string& path) {
        const auto& token = tokens_[i];
        const auto next_is = [&](std::string_view what) {
            return i + 1 < end && tokens_[i + 1].is(what);
        };
        if (token.is(";")) return i + 1;
        if ((token.is("public") || token.is("private") || token.is("protected")) && next_is(":"))
            return i + 2;
        if (token.is("inline") && next_is("namespace")) return name_space(i + 1, end, path);
        if (token.is("namespace")) return name_space(i, end, path);
        if (token.is("extern") && i + 2 < end && tokens_[i + 1].kind == TokenKind::Text &&
            tokens_[i + 2].is("{")) {
            declarations({i + 3, tokens_.partner[i + 2]}, path);
            return tokens_.partner[i + 2] + 1;
        }
        if (token.is("using") || token.is("static_assert")) return past_semicolon(tokens_, i, end);
        if (token.is("template") && !next_is("<")) return explicit_instance(i, end);
        const auto found = read_declaration(tokens_, i, end);
        handle(found, path);
        return found.whole.end;
    }

    size_t name_space(size_t i, size_t end, const std::string& path) {
        size_t open = i + 1;
        std::vector<std::string> names;
        for (; open < end && !tokens_[open].is("{") && !tokens_[open].is(";"); ++open) {
            if (starts_attribute(tokens_, open))
                open = skip_bracket(tokens_, open) - 1;
            else if (tokens_[open].is("="))
                return past_semicolon(tokens_, open, end);
            else if (tokens_[open].is_word())
                names.emplace_back(tokens_[open].text);
        }
        if (open >= end || !tokens_[open].is("{")) return open + 1;
        if (names.empty()) names.emplace_back();
        const size_t depth = scope_.size();
        std::string inner = path;
        for (const auto& name : names) {
            scope_.push_back(name);
            inner += "::" + name;
        }
        declarations({open + 1, tokens_.partner[open]}, inner);
        scope_.resize(depth);
        return tokens_.partner[open] + 1;
    }

    void handle(const Declaration& declaration, const std::string& path) {
        if (declaration.whole.empty()) return;
        if (is_repeated(declaration, path)) {
            edits_.blank(tokens_.offset(declaration.whole.begin),
                         tokens_.end_offset(declaration.whole.end - 1));
            return;
        }
        if (declaration.is_kernel) return kernel(declaration);
        for (const auto& attribute : declaration.attributes)
            other_attribute(declaration, attribute);
        if (!declaration.shape.has_parameters) {
            derived_constant(declaration);
            check_program_scope(declaration);
        }
        if (declaration.body == kNowhere) return;
        const Range body = {declaration.body + 1, tokens_.partner[declaration.body]};
        n_templates_ += declaration.shape.template_headers.size();
        if (declaration.is_class) {
            ++n_classes_;
            declarations(body, path + "::" + join(tokens_, declaration.shape.head));
            --n_classes_;
        } else {
            make_inline(declaration);
            function_body(body, false);
        }
        n_templates_ -= declaration.shape.template_headers.size();
    }

    // Memory of a threadgroup, or of nobody, would be shared by the whole grid.
    void check_program_scope(const Declaration& declaration) {
        if (n_classes_ > 0 || declaration.is_class || declaration.shape.head.empty()) return;
        const auto& head = declaration.shape.head;
        if (tokens_[head.begin].is("typedef") || tokens_[head.begin].is("friend")) return;
        const size_t type_end = skip_type(tokens_, head.begin, head.end);
        if (type_end == kNowhere || type_end >= head.end || !tokens_[type_end].is_word()) return;
        for (size_t i = head.begin; i < type_end; ++i)
            if (is_address_space(tokens_[i]) && !tokens_[i].is("constant"))
                errors_.push_back(error_at(tokens_, type_end,
                                           "program scope variable '" +
                                               std::string(tokens_[type_end].text) +
                                               "' must be in the constant address space"));
    }

    // No other unit calls into this one, so a function that is not used need not be there.
    void make_inline(const Declaration& declaration) {
        const auto& shape = declaration.shape;
        const bool is_free =
            n_classes_ == 0 && (shape.template_headers.empty() || declaration.is_specialization);
        for (size_t i = shape.head.begin; i < shape.head.end; ++i)
            if (tokens_[i].is("static") || tokens_[i].is("inline") || tokens_[i].is("extern") ||
                tokens_[i].is("constexpr"))
                return;
        if (is_free) edits_.insert(tokens_.offset(shape.head.begin), "inline ");
    }

    void function_body(Range body, bool in_kernel) {
        rewrite_body(tokens_, body, in_kernel, n_templates_ > 0, edits_, errors_);
    }

    void other_attribute(const Declaration& declaration, const Attribute& attribute) {
        if (attribute.name == "function_constant") return function_constant(declaration, attribute);
        constexpr std::array<std::string_view, 8> kStages = {
            "vertex",  "fragment",   "mesh",         "object",
            "visible", "stitchable", "intersection", "extern"};
        if (std::find(kStages.begin(), kStages.end(), attribute.name) != kStages.end())
            errors_.push_back(
                error_at(tokens_, attribute.token,
                         "[[" + attribute.name +
                             "]] functions are not supported: softmetal runs compute kernels"));
    }

    // True when the declaration differs from an earlier one only in address spaces.
    bool is_repeated(const Declaration& declaration, const std::string& path) {
        const auto& shape = declaration.shape;
        const bool comparable = shape.has_parameters || !shape.template_headers.empty();
        if (!comparable || shape.head.empty()) return false;
        const auto signature = signature_of(tokens_, shape);
        const auto [kept, is_new] =
            signatures_.emplace(path + "|" + signature.flat, signature.exact);
        return !is_new && kept->second != signature.exact;
    }

    // ---- kernels ----

    void kernel(const Declaration& declaration) {
        const auto& shape = declaration.shape;
        const size_t name_at = shape.head.empty() ? kNowhere : name_token(shape.head);
        if (!shape.has_parameters || name_at == kNowhere) {
            errors_.push_back(
                error_at(tokens_, declaration.whole.begin, "expected a kernel function"));
            return;
        }
        Kernel out;
        out.name = tokens_[name_at].text;
        out.scope = scope_;
        out.is_template = !shape.template_headers.empty();
        if (out.is_template)
            out.template_parameters =
                read_template_parameters(tokens_, shape.template_headers.back());
        out.place = place_of(tokens_, name_at);
        std::string max_threads = "0";
        for (const auto& attribute : declaration.attributes) {
            if (attribute.name == "host_name")
                out.host_name = attribute.argument;
            else if (attribute.name == "max_total_threads_per_threadgroup")
                max_threads = attribute.argument;
            else if (attribute.name != "kernel" && attribute.name.find("::") == std::string::npos)
                errors_.push_back(error_at(
                    tokens_, attribute.token,
                    "unknown attribute '" + attribute.name + "' on kernel '" + out.name + "'"));
        }
        if (is_keyword(out.name))
            errors_.push_back(error_at(tokens_, name_at,
                                       "'" + out.name + "' is a keyword and cannot name a kernel"));
        if (out.name == "main" && scope_.empty())
            errors_.push_back(error_at(tokens_, name_at, "a kernel cannot be named 'main'"));
        check_returns_void({shape.head.begin, name_at}, out.name);
        make_static(declaration);
        out.parameters = read_parameters(tokens_, shape.parameters, out.name, errors_);
        const auto bindings = references_to_pointers(out.parameters);
        if (declaration.body == kNowhere) return;
        edits_.insert(tokens_.end_offset(declaration.body),
                      " SM_KERNEL_PROLOGUE((" + max_threads + "))" + bindings);
        n_templates_ += declaration.shape.template_headers.size();
        function_body({declaration.body + 1, tokens_.partner[declaration.body]}, true);
        n_templates_ -= declaration.shape.template_headers.size();
        if (!out.is_template) {
            module_.instances.push_back(
                {module_.kernels.size(), out.name, {}, out.host_name, out.scope, out.place});
        } else if (declaration.is_specialization) {
            return;  // its attributes are those of the template
        }
        kernels_by_name_[out.name].push_back(module_.kernels.size());
        module_.kernels.push_back(std::move(out));
    }

    // A reference promises the optimiser that it may be read, but an argument that does not exist
    // (function_constant) refers to nothing: kernels take pointers, and bind the references inside.
    std::string references_to_pointers(const std::vector<Parameter>& parameters) {
        std::string bindings;
        for (const auto& parameter : parameters) {
            const size_t name = parameter.name_token, mark = parameter.reference_token;
            if (mark == kNowhere || parameter.kind == ParameterKind::Builtin) continue;
            edits_.replace(tokens_.offset(mark), tokens_.end_offset(mark), "*");
            if (name == kNowhere) continue;
            edits_.replace(tokens_.offset(name), tokens_.end_offset(name),
                           "sm_at_" + parameter.name);
            bindings += " auto& " + parameter.name + " = *sm_at_" + parameter.name + ";";
        }
        return bindings;
    }

    size_t name_token(Range head) const {
        size_t i = head.end - 1;
        if (tokens_[i].is(">")) {
            const size_t open = open_angle(tokens_, head.begin, i);
            if (open == kNowhere || open == head.begin) return kNowhere;
            i = open - 1;
        }
        return tokens_[i].is_word() ? i : kNowhere;
    }

    void check_returns_void(Range before_name, const std::string& name) {
        for (size_t i = before_name.begin; i < before_name.end;) {
            if (const size_t next = skip_attribute_like(tokens_, i, before_name.end); next != i) {
                i = next;
                continue;
            }
            if (!tokens_[i].is("void") && !is_specifier(tokens_[i])) {
                errors_.push_back(
                    error_at(tokens_, i, "kernel '" + name + "' must have void return type"));
                return;
            }
            ++i;
        }
    }

    // Entries are reached through the table only. An explicit specialisation takes its template's
    // linkage.
    void make_static(const Declaration& declaration) {
        bool has_storage_class = declaration.is_specialization;
        for (size_t i = declaration.shape.head.begin; i < declaration.shape.head.end; ++i)
            has_storage_class |= tokens_[i].is("static") || tokens_[i].is("extern");
        if (!has_storage_class)
            edits_.insert(tokens_.offset(declaration.shape.head.begin), "static ");
    }

    // ---- template [[host_name("x")]] [[kernel]] void f<...>(...); ----

    size_t explicit_instance(size_t begin, size_t end) {
        const size_t next = past_semicolon(tokens_, begin, end);
        Instance out;
        bool is_kernel = false;
        size_t name_at = kNowhere, kernel_index = kNowhere;
        for (size_t i = begin + 1; i < next;) {
            if (starts_attribute(tokens_, i)) {
                for (const auto& attribute : read_attributes(tokens_, i)) {
                    if (attribute.name == "host_name") out.host_name = attribute.argument;
                    is_kernel |= attribute.name == "kernel" || attribute.name == "host_name";
                }
                i = skip_bracket(tokens_, i);
                continue;
            }
            is_kernel |= tokens_[i].is("kernel");
            const bool names = i + 1 < next && (tokens_[i + 1].is("<") || tokens_[i + 1].is("("));
            if (name_at == kNowhere && names && tokens_[i].is_word()) {
                const size_t close =
                    tokens_[i + 1].is("<") ? skip_angles(tokens_, i + 1, next) : kNowhere;
                kernel_index = find_kernel(std::string(tokens_[i].text),
                                           {i + 2, close == kNowhere ? i + 2 : close - 1});
                if (kernel_index != kNowhere) name_at = i;
            }
            const size_t angles = tokens_[i].is("<") ? skip_angles(tokens_, i, next) : kNowhere;
            i = angles == kNowhere ? skip_bracket(tokens_, i) : angles;
        }
        if (!is_kernel) return next;
        size_t id_end = name_at == kNowhere ? kNowhere : name_at + 1;
        if (id_end != kNowhere && tokens_[id_end].is("<"))
            id_end = skip_angles(tokens_, id_end, next);
        if (id_end == kNowhere) {
            errors_.push_back(
                error_at(tokens_, begin, "explicit instantiation does not name a kernel template"));
            return next;
        }
        size_t id_begin = name_at;
        while (id_begin >= begin + 2 && tokens_[id_begin - 1].is("::") &&
               tokens_[id_begin - 2].is_word())
            id_begin -= 2;
        out.kernel = kernel_index;
        out.id = flat_text(tokens_, {id_begin, id_end});
        if (id_end > name_at + 1)
            for (const auto& argument : split_commas(tokens_, {name_at + 2, id_end - 1}))
                out.arguments.push_back(flat_text(tokens_, argument));
        out.scope = scope_;
        out.place = place_of(tokens_, begin);
        if (id_end < next && tokens_[id_end].is("(")) {
            std::vector<Diagnostic> ignored;  // said of the template already
            references_to_pointers(
                read_parameters(tokens_, {id_end + 1, tokens_.partner[id_end]}, "", ignored));
        } else {
            // A type with a name of its own does not follow that change. The table instantiates
            // too.
            edits_.blank(tokens_.offset(begin), tokens_.end_offset(next - 1));
        }
        module_.instances.push_back(std::move(out));
        return next;
    }

    // Of kernels with one name: one of this namespace before others, one that takes the arguments
    // before others.
    size_t find_kernel(const std::string& name, Range arguments) const {
        const auto found = kernels_by_name_.find(name);
        if (found == kernels_by_name_.end()) return kNowhere;
        size_t best = kNowhere, best_score = 0;
        for (const size_t candidate : found->second) {
            const auto& kernel = module_.kernels[candidate];
            const bool fits = arguments.empty() || may_instantiate(kernel, tokens_, arguments);
            const size_t score = 1 + (fits ? 2 : 0) + (kernel.scope == scope_ ? 1 : 0);
            if (score > best_score) std::tie(best, best_score) = std::tuple(candidate, score);
        }
        return best;
    }

    // ---- constant T x [[function_constant(n)]]; ----

    void function_constant(const Declaration& declaration, const Attribute& attribute) {
        const size_t name_at = last_word(tokens_, declaration.shape.head);
        const auto& whole = declaration.whole;
        const bool plain = name_at != kNowhere && tokens_[whole.end - 1].is(";") &&
                           !declaration.shape.has_parameters &&
                           find_outside(tokens_, whole, "=") == kNowhere;
        bool is_constant = false;
        for (size_t i = whole.begin; i < whole.end; ++i) is_constant |= tokens_[i].is("constant");
        if (!plain || !is_constant || attribute.argument.empty()) {
            errors_.push_back(error_at(tokens_, attribute.token,
                                       "a function constant is declared as 'constant TYPE NAME "
                                       "[[function_constant(INDEX)]];'"));
            return;
        }
        FunctionConstant out;
        out.name = tokens_[name_at].text;
        load_time_constants_.insert(tokens_[name_at].text);
        out.index = attribute.argument;
        out.scope = scope_;
        out.place = place_of(tokens_, name_at);
        std::string full_name;
        for (const auto& part : scope_)
            if (!part.empty()) full_name += part + "::";
        if (target_ == Target::Nvptx)
            return nvptx_function_constant(whole, name_at, std::move(out));
        for (size_t i = whole.begin; i < name_at; ++i)
            if (tokens_[i].is("constexpr") || tokens_[i].is("static")) erase(i);
        edits_.insert(tokens_.offset(whole.begin), "static ");
        edits_.insert(tokens_.offset(whole.end - 1), " = SM_FUNCTION_CONSTANT(" + out.name + ", (" +
                                                         out.index + "), \"" + full_name +
                                                         out.name + "\")");
        edits_.insert(tokens_.end_offset(whole.end - 1),
                      " static const bool sm_is_defined_" + out.name +
                          " = SM_FUNCTION_CONSTANT_IS_SET(" + out.name + ", (" + out.index +
                          "), \"" + full_name + out.name + "\");");
        module_.constants.push_back(std::move(out));
    }

    // In memory that the host writes before the kernel runs.
    void nvptx_function_constant(Range whole, size_t name_at, FunctionConstant constant) {
        edits_.insert(tokens_.offset(whole.begin),
                      "extern \"C\" { __attribute__((constant)) " +
                          plain_type({whole.begin, name_at}) + " " + constant.name +
                          "; __attribute__((constant)) bool sm_is_defined_" + constant.name +
                          "; }");
        edits_.blank(tokens_.offset(whole.begin), tokens_.end_offset(whole.end - 1));
        module_.constants.push_back(std::move(constant));
    }

    // The type of a constant without address space, const and storage class.
    std::string plain_type(Range range) const {
        std::string out;
        for (size_t i = range.begin; i < range.end; ++i)
            if (!is_address_space(tokens_[i]) && !is_specifier(tokens_[i]) &&
                !tokens_[i].is("const"))
                out += std::string(tokens_[i].text) + " ";
        return out;
    }

    // A GPU runs no initialisers: what depends on function constants is worked out where it is
    // used.
    void nvptx_derived_constant(Range whole, size_t name_at, size_t equals) {
        const auto name = "sm_derived_" + std::string(tokens_[name_at].text);
        edits_.insert(tokens_.offset(whole.begin),
                      "static " + plain_type({whole.begin, name_at}) + name + "() { return (");
        edits_.blank(tokens_.offset(whole.begin), tokens_.end_offset(equals));
        edits_.replace(tokens_.offset(whole.end - 1), tokens_.end_offset(whole.end - 1), "); }");
        for (size_t i = whole.end; i < tokens_.size(); ++i)
            if (tokens_[i].is(tokens_[name_at].text) && !tokens_[i - 1].is(".") &&
                !tokens_[i - 1].is("->"))
                edits_.replace(tokens_.offset(i), tokens_.end_offset(i), name + "()");
    }

    // `constant constexpr bool x = f ? a : b;` with a function constant f is known at load time
    // only.
    void derived_constant(const Declaration& declaration) {
        const auto& whole = declaration.whole;
        const size_t equals = find_outside(tokens_, whole, "=");
        const size_t name_at = last_word(tokens_, declaration.shape.head);
        if (equals == kNowhere || name_at == kNowhere) return;
        bool depends = false;
        for (size_t i = equals; i < whole.end; ++i)
            depends |= tokens_[i].is_word() && load_time_constants_.contains(tokens_[i].text);
        if (!depends) return;
        load_time_constants_.insert(tokens_[name_at].text);
        if (target_ == Target::Nvptx) return nvptx_derived_constant(whole, name_at, equals);
        for (size_t i = whole.begin; i < equals; ++i)
            if (tokens_[i].is("constexpr")) erase(i);
    }

    void erase(size_t token) {
        edits_.replace(tokens_.offset(token), tokens_.end_offset(token), "");
    }

    std::string_view text_;
    Target target_;
    Tokens tokens_;
    Edits edits_;
    std::vector<Diagnostic> errors_;
    Module module_;
    std::vector<std::string> scope_;
    size_t n_templates_ = 0, n_classes_ = 0;  // around
    std::map<std::string, std::vector<size_t>> kernels_by_name_;
    std::map<std::string, std::string> signatures_;
    std::set<std::string_view> load_time_constants_;  // function constants and what depends on them
};

}  // namespace

Translation translate(std::string_view preprocessed, Target target) {
    return Translator(preprocessed, target).run();
}

}  // namespace softmetal::msl

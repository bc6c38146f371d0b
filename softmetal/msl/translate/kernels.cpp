// Kernel parameters: which of buffer, threadgroup memory or built-in each one is, with the rules
// that can be told from the tokens. What needs types is asserted in the reflection table.
#include "softmetal/msl/translate/kernels.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>

#include "softmetal/exec/abi.h"

namespace softmetal::msl {
namespace {

constexpr std::array<std::string_view, 20> kBuiltins = {"thread_position_in_grid",
                                                        "thread_position_in_threadgroup",
                                                        "threadgroup_position_in_grid",
                                                        "threads_per_grid",
                                                        "threads_per_threadgroup",
                                                        "threadgroups_per_grid",
                                                        "dispatch_threads_per_threadgroup",
                                                        "grid_origin",
                                                        "grid_size",
                                                        "thread_index_in_threadgroup",
                                                        "thread_index_in_simdgroup",
                                                        "simdgroup_index_in_threadgroup",
                                                        "simdgroups_per_threadgroup",
                                                        "dispatch_simdgroups_per_threadgroup",
                                                        "threads_per_simdgroup",
                                                        "thread_execution_width",
                                                        "thread_index_in_quadgroup",
                                                        "quadgroup_index_in_threadgroup",
                                                        "quadgroups_per_threadgroup",
                                                        "dispatch_quadgroups_per_threadgroup"};

bool is_builtin(std::string_view name) {
    return std::find(kBuiltins.begin(), kBuiltins.end(), name) != kBuiltins.end();
}

// Built-ins of graphics functions and resources that softmetal leaves out, refused by name.
bool is_unsupported_attribute(std::string_view name) {
    constexpr std::array<std::string_view, 12> kNames = {
        "stage_in", "texture", "sampler",     "position",      "vertex_id", "instance_id",
        "color",    "payload", "base_vertex", "base_instance", "mesh_grid", "front_facing"};
    return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool is_unsupported_type(std::string_view word) {
    constexpr std::array<std::string_view, 8> kPrefixes = {"texture",
                                                           "depth2d",
                                                           "depthcube",
                                                           "sampler",
                                                           "visible_function_table",
                                                           "intersection_function_table",
                                                           "acceleration_structure",
                                                           "imageblock"};
    return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                       [&](std::string_view prefix) { return word.starts_with(prefix); });
}

std::optional<uint32_t> literal(const std::string& text) {
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// One parameter, before any rule is applied.
struct Reader {
    const Tokens& tokens;
    std::vector<Attribute> attributes;
    std::vector<size_t> core;  // tokens that are not attributes
    size_t name_token = kNowhere;

    Parameter read(Range range) {
        if (const size_t equals = find_outside(tokens, range, "="); equals != kNowhere)
            range.end = equals;
        for (size_t i = range.begin; i < range.end;) {
            if (starts_attribute(tokens, i)) {
                for (auto& attribute : read_attributes(tokens, i))
                    attributes.push_back(std::move(attribute));
                i = skip_bracket(tokens, i);
            } else {
                core.push_back(i++);
            }
        }
        Parameter out;
        find_name(range, out);
        describe_type(out);
        out.name_token = name_token;
        const size_t at = name_token != kNowhere ? name_token : range.begin;
        out.place = place_of(tokens, at);
        return out;
    }

    void find_name(Range range, Parameter& out) {
        // The last word outside brackets, unless it is the type itself.
        size_t words = 0;
        for (size_t k = 0; k < core.size(); ++k) {
            const auto& token = tokens[core[k]];
            if (token.is("[")) break;
            if (token.is("<")) {
                const size_t next = skip_angles(tokens, core[k], range.end);
                while (next != kNowhere && k + 1 < core.size() && core[k + 1] < next) ++k;
                continue;
            }
            if (!token.is_word() || token.is("const") || token.is("volatile") ||
                is_address_space(token))
                continue;
            ++words;
            const bool qualified = k > 0 && tokens[core[k - 1]].is("::");
            if (words > 1 && !qualified && !is_builtin_type_word(token)) name_token = core[k];
        }
        if (name_token != kNowhere) out.name = tokens[name_token].text;
    }

    void describe_type(Parameter& out) {
        for (size_t k = 0; k < core.size(); ++k) {
            const auto& token = tokens[core[k]];
            if (is_address_space(token) && out.address_space.empty())
                out.address_space = token.text;
            if (token.is("<")) {  // `vec<device T*, 4>` says nothing of the parameter
                const size_t next = skip_angles(tokens, core[k], core.back() + 1);
                append(out.type, core[k]);
                while (next != kNowhere && k + 1 < core.size() && core[k + 1] < next)
                    append(out.type, core[++k]);
                continue;
            }
            if (core[k] == name_token) continue;
            if (token.is("*") || (token.is("[") && tokens.partner[core[k]] > core[k]))
                ++out.pointers;
            if (token.is("&")) {
                out.is_reference = true;
                out.reference_token = core[k];
            }
            append(out.type, core[k]);
        }
    }

    void append(std::string& type, size_t i) const {
        const bool space = !type.empty() && tokens[i].kind != TokenKind::Mark &&
                           (std::isalnum(static_cast<unsigned char>(type.back())) ||
                            type.back() == '_' || type.back() == '>' || type.back() == ',');
        if (space) type += ' ';
        type += tokens[i].text;
    }
};

struct Rules {
    const Tokens& tokens;
    const std::string& kernel;
    std::vector<Diagnostic>& errors;

    void fail(const Parameter& at, std::string message) const {
        errors.push_back({at.place, "error", std::move(message)});
    }

    static std::string quoted(const Parameter& parameter) {
        return parameter.name.empty() ? "an unnamed parameter"
                                      : "parameter '" + parameter.name + "'";
    }

    bool check_index(const Parameter& at, const Attribute& attribute, uint32_t limit) const {
        if (attribute.argument.empty()) {
            fail(at, "'" + attribute.name + "' attribute takes one argument");
            return false;
        }
        const auto value = literal(attribute.argument);
        if (!value || *value < limit) return true;
        fail(at, "'" + attribute.name +
                     "' attribute parameter is out of bounds: must be between 0 and " +
                     std::to_string(limit - 1));
        return false;
    }

    void apply(Parameter& out, const std::vector<Attribute>& attributes) const {
        for (const auto& attribute : attributes) {
            const auto& name = attribute.name;
            if (name == "function_constant") {
                out.function_constant = attribute.argument;
                continue;
            }
            const auto kind = name == "buffer"        ? ParameterKind::Buffer
                              : name == "threadgroup" ? ParameterKind::Threadgroup
                              : is_builtin(name)      ? ParameterKind::Builtin
                                                      : ParameterKind::Unknown;
            if (kind == ParameterKind::Unknown) {
                if (name == "maybe_unused" || name.find("::") != std::string::npos) continue;
                fail(out, is_unsupported_attribute(name)
                              ? "[[" + name +
                                    "]] is not supported: softmetal runs compute kernels on buffers"
                              : "unknown attribute '" + name + "' on " + quoted(out));
                continue;
            }
            if (out.kind != ParameterKind::Unknown) {
                fail(out, quoted(out) +
                              " has more than one of [[buffer]], [[threadgroup]] and built-in "
                              "attributes");
                continue;
            }
            out.kind = kind;
            if (kind == ParameterKind::Builtin) {
                out.builtin = name;
            } else if (check_index(
                           out, attribute,
                           kind == ParameterKind::Buffer ? SM_MAX_BUFFERS : SM_MAX_THREADGROUP)) {
                out.index = attribute.argument;
            } else {
                out.index = "0";
            }
        }
        if (out.kind == ParameterKind::Unknown) infer_kind(out);
    }

    // Pointers and references may leave their index to the compiler.
    void infer_kind(Parameter& out) const {
        const bool indirect = out.pointers > 0 || out.is_reference;
        if (indirect && (out.address_space == "device" || out.address_space == "constant"))
            out.kind = ParameterKind::Buffer;
        else if (indirect && out.address_space == "threadgroup")
            out.kind = ParameterKind::Threadgroup;
    }

    void check(const Parameter& out, const Reader& reader) const {
        for (const size_t i : reader.core)
            if (i != reader.name_token && is_unsupported_type(tokens[i].text))
                return fail(out, "'" + std::string(tokens[i].text) +
                                     "' is not supported: softmetal runs compute "
                                     "kernels on buffers");
        const bool indirect = out.pointers > 0 || out.is_reference;
        if (out.kind == ParameterKind::Builtin) {
            if (indirect)
                fail(out, quoted(out) + " with attribute [[" + out.builtin +
                              "]] must be a value, not '" + out.type + "'");
            return;
        }
        if (indirect && out.address_space.empty() && out.kind != ParameterKind::Unknown)
            return fail(out, std::string(out.is_reference ? "reference" : "pointer") +
                                 " type must have explicit address space qualifier");
        if (out.pointers > 1 || (out.pointers == 1 && out.is_reference))
            return fail(out, quoted(out) + " of kernel '" + kernel +
                                 "' must not be a pointer to a pointer");
        if (out.kind == ParameterKind::Unknown) {
            if (indirect && out.address_space.empty())
                return fail(out, std::string(out.is_reference ? "reference" : "pointer") +
                                     " type must have explicit address space qualifier");
            if (indirect)
                return fail(out, quoted(out) + " of kernel '" + kernel + "' must not be in the " +
                                     out.address_space + " address space");
            return fail(
                out,
                quoted(out) + " of kernel '" + kernel +
                    "' needs an attribute such as [[buffer(0)]] or [[thread_position_in_grid]]");
        }
        const bool buffer = out.kind == ParameterKind::Buffer;
        if (!indirect && !out.address_space.empty())
            return fail(out, quoted(out) + " with attribute [[" +
                                 (buffer ? "buffer" : "threadgroup") +
                                 "]] must be a pointer or a reference");
        const bool right =
            out.address_space.empty() ||
            (buffer ? out.address_space == "device" || out.address_space == "constant"
                    : out.address_space == "threadgroup");
        if (!right)
            fail(out, quoted(out) + " with attribute [[" + (buffer ? "buffer" : "threadgroup") +
                          "]] must be in the " + (buffer ? "device or constant" : "threadgroup") +
                          " address space, not in " + out.address_space);
    }
};

// Gives indices to parameters without one, lowest free first, and refuses an index used twice.
void assign_indices(std::vector<Parameter>& parameters, ParameterKind kind, const Rules& rules) {
    std::set<uint32_t> used;
    for (const auto& parameter : parameters) {
        if (parameter.kind != kind || parameter.index.empty()) continue;
        const auto value = literal(parameter.index);
        if (!value) continue;
        // The same index may serve alternatives that never exist together.
        if (!used.insert(*value).second && parameter.function_constant.empty())
            rules.fail(parameter, Rules::quoted(parameter) + " uses " +
                                      (kind == ParameterKind::Buffer ? "buffer" : "threadgroup") +
                                      " index " + parameter.index +
                                      ", which another parameter has already");
    }
    uint32_t next = 0;
    for (auto& parameter : parameters) {
        if (parameter.kind != kind || !parameter.index.empty()) continue;
        while (used.contains(next)) ++next;
        used.insert(next);
        parameter.index = std::to_string(next);
    }
}

}  // namespace

std::vector<Attribute> read_attributes(const Tokens& tokens, size_t i) {
    std::vector<Attribute> out;
    const Range inside = {i + 2, tokens.partner[i] - 1};
    for (const auto& part : split_commas(tokens, inside)) {
        if (part.empty()) continue;
        Attribute attribute;
        attribute.token = part.begin;
        size_t at = part.begin;
        for (; at < part.end && !tokens[at].is("("); ++at) attribute.name += tokens[at].text;
        if (at < part.end) attribute.argument = join(tokens, {at + 1, tokens.partner[at]});
        out.push_back(std::move(attribute));
    }
    return out;
}

std::vector<TemplateParameter> read_template_parameters(const Tokens& tokens, Range header) {
    std::vector<TemplateParameter> out;
    for (const auto& part : split_commas(tokens, header)) {
        if (part.empty()) continue;
        const size_t equals = find_outside(tokens, part, "=");
        const auto& last = tokens[(equals == kNowhere ? part.end : equals) - 1];
        const bool is_named = last.is_word() && !is_builtin_type_word(last) &&
                              part.end - part.begin > 1 && equals != part.begin + 1;
        out.push_back(
            {.is_type = tokens[part.begin].is("typename") || tokens[part.begin].is("class"),
             .has_default = equals != kNowhere,
             .is_pack = find_outside(tokens, part, "...") != kNowhere,
             .name = is_named ? std::string(last.text) : ""});
    }
    return out;
}

bool may_instantiate(const Kernel& kernel, const Tokens& tokens, Range arguments) {
    const auto given = split_commas(tokens, arguments);
    const auto& wanted = kernel.template_parameters;
    for (size_t i = 0; i < std::max(given.size(), wanted.size()); ++i) {
        if (i < wanted.size() && wanted[i].is_pack) return true;
        if (i >= wanted.size()) return false;
        if (i >= given.size()) {
            if (!wanted[i].has_default) return false;
            continue;
        }
        if (given[i].empty()) continue;
        const auto& first = tokens[given[i].begin];
        const bool is_value =
            first.kind == TokenKind::Number || first.is("true") || first.is("false");
        const bool is_type = is_builtin_type_word(first) && given[i].end == given[i].begin + 1;
        if (wanted[i].is_type ? is_value : is_type) return false;
    }
    return true;
}

Place place_of(const Tokens& tokens, size_t token) {
    const auto& at = tokens[token];
    Place out{tokens.files[at.file], at.line, std::string(at.text), 0};
    for (size_t i = token; i-- > 0 && tokens[i].line == at.line && tokens[i].file == at.file;)
        if (tokens[i].text == at.text) ++out.ordinal;
    return out;
}

Diagnostic error_at(const Tokens& tokens, size_t token, std::string message) {
    return {place_of(tokens, token), "error", std::move(message)};
}

std::vector<Parameter> read_parameters(const Tokens& tokens, Range list, const std::string& kernel,
                                       std::vector<Diagnostic>& errors) {
    std::vector<Parameter> out;
    const Rules rules{tokens, kernel, errors};
    for (const auto& range : split_commas(tokens, list)) {
        if (range.empty() || (range.end - range.begin == 1 && tokens[range.begin].is("void")))
            continue;
        const size_t n_errors = errors.size();
        Reader reader{tokens, {}, {}};
        auto parameter = reader.read(range);
        rules.apply(parameter, reader.attributes);
        if (errors.size() == n_errors) rules.check(parameter, reader);
        out.push_back(std::move(parameter));
    }
    assign_indices(out, ParameterKind::Buffer, rules);
    assign_indices(out, ParameterKind::Threadgroup, rules);
    return out;
}

}  // namespace softmetal::msl

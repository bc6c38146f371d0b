// Writes what exec/abi.h calls the module's table. Types are deduced by the templates of
// msl/stdlib/entry.h; line directives put their complaints at the kernel's own lines.
#include "softmetal/msl/translate/table.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "softmetal/msl/translate/tokens.h"

namespace softmetal::msl {
namespace {

std::string quote(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c == '\n' ? ' ' : c;
    }
    return out + '"';
}

std::string literal_or_null(const std::string& text) {
    return text.empty() ? "nullptr" : quote(text);
}

// A string literal, or several in a row, as the text it stands for.
std::string unquoted(const std::string& literals) {
    std::string out;
    bool inside = false;
    for (size_t i = 0; i < literals.size(); ++i) {
        if (literals[i] == '"')
            inside = !inside;
        else if (inside && literals[i] == '\\' && i + 1 < literals.size())
            out += literals[++i];
        else if (inside)
            out += literals[i];
    }
    return out;
}

std::string qualified_name(const Instance& instance, const Kernel& kernel) {
    std::string out;
    for (const auto& part : kernel.scope)
        if (!part.empty()) out += part + "::";
    return out + (kernel.is_template ? instance.id : kernel.name);
}

// A parameter's type in an instance: template parameters replaced by what is given for them.
std::string type_in(const Instance& instance, const Kernel& kernel, const Parameter& parameter) {
    const auto& names = kernel.template_parameters;
    const auto tokens = tokenize(parameter.type);
    std::string out;
    size_t at = 0;
    for (size_t i = 0; i < tokens.size(); ++i) {
        for (size_t k = 0; k < std::min(names.size(), instance.arguments.size()); ++k) {
            if (names[k].is_pack) break;
            if (names[k].name.empty() || !tokens[i].is(names[k].name)) continue;
            out += parameter.type.substr(at, tokens.offset(i) - at) + instance.arguments[k];
            at = tokens.end_offset(i);
            break;
        }
    }
    return out + parameter.type.substr(at);
}

// The kernel as the table names it. Qualified, so that `using namespace metal` does not bring the
// library's own `exp` in beside a kernel of that name; what lies in an unnamed namespace, or is
// named with a path already, is found as it is written.
std::string reference(const Instance& instance, const Kernel& kernel) {
    const auto name = std::string_view(instance.id).substr(0, instance.id.find('<'));
    if (name.find("::") != std::string_view::npos) return instance.id;
    std::string path = "::";
    for (const auto& part : kernel.scope) {
        if (part.empty()) return instance.id;
        path += part + "::";
    }
    return path + instance.id;
}

class Writer {
  public:
    Writer(const Module& module, const std::vector<std::string>& files)
        : module_(module), files_(files) {}

    std::string run() {
        for (size_t i = 0; i < module_.instances.size(); ++i) instance(i);
        for (size_t i = 0; i < module_.constants.size(); ++i) constant(i);
        module_table();
        return std::move(out_);
    }

    std::string run_nvptx() {
        for (size_t i = 0; i < module_.instances.size(); ++i) nvptx_entry(i);
        return std::move(out_);
    }

  private:
    void line(const Place& place) {
        out_ += "# " + std::to_string(place.line) + " " + quote(place.file) + "\n";
    }

    // An assertion at a token: log.cpp takes its text apart again.
    void assertion(const std::string& condition, const Place& place, const std::string& message) {
        line(place);
        out_ +=
            "static_assert(" + condition + ", " +
            quote("SM:" + std::to_string(place.ordinal) + ":" + place.spelling + ":" + message) +
            ");\n";
    }

    void open(const std::vector<std::string>& scope) {
        for (const auto& name : scope) out_ += "namespace " + name + (name.empty() ? "{ " : " { ");
    }

    void close(const std::vector<std::string>& scope) {
        out_ += std::string(scope.size(), '}') + "\n";
    }

    static std::string qualified(const std::vector<std::string>& scope, const std::string& name) {
        std::string out;
        for (const auto& part : scope)
            if (!part.empty()) out += "::" + part;
        return out + "::" + name;
    }

    // The C++ type that fetches a parameter's value.
    static std::string source(const Parameter& parameter) {
        switch (parameter.kind) {
            case ParameterKind::Buffer:
                return parameter.function_constant.empty()
                           ? "sm_glue::buffer<(" + parameter.index + ")>"
                           : "sm_glue::optional_buffer<(" + parameter.index + "), " +
                                 parameter.function_constant + ">";
            case ParameterKind::Threadgroup:
                return "sm_glue::threadgroup_memory<(" + parameter.index + ")>";
            case ParameterKind::Builtin:
                return "sm_glue::" + parameter.builtin;
            case ParameterKind::Unknown:
                break;
        }
        return "sm_glue::buffer<0>";  // refused before
    }

    void check_all(const Kernel& kernel, const std::string& number) {
        for (size_t p = 0; p < kernel.parameters.size(); ++p) check(kernel, p, number);
        check_indices(kernel);
    }

    void nvptx_entry(size_t i) {
        const auto& instance = module_.instances[i];
        const auto& kernel = module_.kernels[instance.kernel];
        const std::string number = std::to_string(i);
        open(instance.scope);
        out_ += "\n";
        line(instance.place);
        out_ += "using sm_type_" + number + " = decltype(" + reference(instance, kernel) + ");\n";
        check_all(kernel, number);
        std::string parameters, values;
        for (size_t p = 0; p < kernel.parameters.size(); ++p) {
            const auto kind = kernel.parameters[p].kind;
            const std::string type =
                "sm_glue::parameter<sm_type_" + number + ", " + std::to_string(p) + ">";
            const std::string name = "sm_p" + std::to_string(p);
            if (kind == ParameterKind::Buffer) parameters += type + " " + name + ", ";
            if (kind == ParameterKind::Threadgroup) parameters += "sm_u32 " + name + ", ";
            values += p == 0 ? "" : ", ";
            values += kind == ParameterKind::Buffer ? name
                      : kind == ParameterKind::Threadgroup
                          ? "sm_glue::dynamic_memory<" + type + ">(" + name + ")"
                          : source(kernel.parameters[p]) + "::get<" + type + ">(&sm_t, nullptr)";
        }
        line(instance.place);
        out_ += "extern \"C\" __attribute__((global)) void sm_kernel_" + number + "(" + parameters +
                "sm_u32x3 sm_grid) { " +
                "const sm_group sm_g = sm_glue::group_of(sm_grid); const sm_thread sm_t = "
                "sm_glue::thread_of(sm_g); " +
                "if (sm_glue::is_outside(sm_t)) return; " + reference(instance, kernel) + "(" +
                values + "); }\n";
        close(instance.scope);
    }

    void instance(size_t i) {
        const auto& instance = module_.instances[i];
        const auto& kernel = module_.kernels[instance.kernel];
        const std::string number = std::to_string(i);
        open(instance.scope);
        out_ += "\n";
        line(instance.place);
        out_ += "using sm_type_" + number + " = decltype(" + reference(instance, kernel) + ");\n";
        check_all(kernel, number);
        line(instance.place);
        out_ += "constexpr sm_entry sm_entry_" + number + " = &sm_glue::entry<" +
                reference(instance, kernel);
        for (const auto& parameter : kernel.parameters) out_ += ", " + source(parameter);
        out_ += ">::run;";
        arguments(instance, kernel, number);
        close(instance.scope);
        kernels_ += "    {" +
                    (instance.host_name.empty() ? quote(qualified_name(instance, kernel))
                                                : instance.host_name) +
                    ", " + qualified(instance.scope, "sm_entry_" + number) + ", ";
        kernels_ += has_arguments_
                        ? qualified(instance.scope, "sm_arguments_" + number) + ", sizeof(" +
                              qualified(instance.scope, "sm_arguments_" + number) +
                              ") / sizeof(sm_argument)"
                        : std::string("nullptr, 0");
        kernels_ +=
            ", " + std::to_string(instance.place.line) + ", " + quote(instance.place.file) + "},\n";
    }

    void check(const Kernel& kernel, size_t p, const std::string& number) {
        const auto& parameter = kernel.parameters[p];
        const std::string type =
            "sm_glue::parameter<sm_type_" + number + ", " + std::to_string(p) + ">";
        const std::string name =
            parameter.name.empty() ? "an unnamed parameter" : "parameter '" + parameter.name + "'";
        std::string condition, message;
        switch (parameter.kind) {
            case ParameterKind::Buffer:
                condition = "sm_glue::is_buffer_type<" + type + ">";
                message = name +
                          " with attribute [[buffer]] must be a pointer or a reference to a value "
                          "without pointers to pointers";
                break;
            case ParameterKind::Threadgroup:
                condition = "sm_glue::is_buffer_type<" + type + ">";
                message = name + " with attribute [[threadgroup]] must be a pointer or a reference";
                break;
            case ParameterKind::Builtin:
                condition = "sm_glue::" + parameter.builtin + "::accepts<" + type + ">";
                message = "type '" + parameter.type + "' is not allowed for " + name +
                          " with attribute [[" + parameter.builtin + "]]";
                break;
            case ParameterKind::Unknown:
                return;
        }
        assertion(condition, parameter.place, message);
    }

    // Indices that are not plain numbers are compared by the compiler.
    void check_indices(const Kernel& kernel) {
        for (const auto kind : {ParameterKind::Buffer, ParameterKind::Threadgroup}) {
            std::string list;
            bool plain = true;
            const Parameter* last = nullptr;
            for (const auto& parameter : kernel.parameters) {
                if (parameter.kind != kind || !parameter.function_constant.empty()) continue;
                plain &= parameter.index.find_first_not_of("0123456789") == std::string::npos;
                list += (list.empty() ? "(" : ", (") + parameter.index + ")";
                last = &parameter;
            }
            if (plain || last == nullptr) continue;
            const std::string what = kind == ParameterKind::Buffer ? "buffer" : "threadgroup";
            assertion(
                "sm_glue::in_bounds<" + list + ">", last->place,
                "'" + what + "' attribute parameter is out of bounds: must be between 0 and 30");
            assertion(
                "sm_glue::all_different<" + list + ">", last->place,
                "two parameters of kernel '" + kernel.name + "' have the same " + what + " index");
        }
    }

    void arguments(const Instance& instance, const Kernel& kernel, const std::string& number) {
        std::string list;
        for (size_t p = 0; p < kernel.parameters.size(); ++p) {
            const auto& parameter = kernel.parameters[p];
            if (parameter.kind != ParameterKind::Buffer &&
                parameter.kind != ParameterKind::Threadgroup)
                continue;
            list += "    sm_glue::describe<sm_glue::parameter<sm_type_" + number + ", " +
                    std::to_string(p) + ">>(" + quote(parameter.name) + ", " +
                    quote(type_in(instance, kernel, parameter)) + ", " +
                    literal_or_null(parameter.function_constant) + ", " +
                    (parameter.kind == ParameterKind::Buffer ? "SM_ARGUMENT_BUFFER, ("
                                                             : "SM_ARGUMENT_THREADGROUP, (") +
                    parameter.index + "), " +
                    (parameter.address_space == "constant" ? "true, " : "false, ") +
                    (parameter.is_reference ? "true" : "false") + "),\n";
        }
        has_arguments_ = !list.empty();
        if (has_arguments_)
            out_ += " constexpr sm_argument sm_arguments_" + number + "[] = {\n" + list + "};";
        out_ += "\n";
    }

    void constant(size_t i) {
        const auto& constant = module_.constants[i];
        std::string name;
        for (const auto& part : constant.scope)
            if (!part.empty()) name += part + "::";
        open(constant.scope);
        out_ += "\n";
        line(constant.place);
        out_ += "constexpr sm_function_constant sm_constant_" + std::to_string(i) + " = {" +
                quote(name + constant.name) + ", (" + constant.index +
                "), sm_glue::data_type<decltype(" + constant.name + ")>, sizeof(" + constant.name +
                ")};\n";
        for (size_t k = 0; k < i; ++k) {
            const auto& earlier = module_.constants[k];
            assertion(qualified(constant.scope, "sm_constant_" + std::to_string(i)) + ".index != " +
                          qualified(earlier.scope, "sm_constant_" + std::to_string(k)) + ".index",
                      constant.place,
                      "function constant '" + constant.name + "' has the index of '" +
                          earlier.name + "'");
        }
        close(constant.scope);
        constants_ +=
            "    " + qualified(constant.scope, "sm_constant_" + std::to_string(i)) + ",\n";
    }

    void module_table() {
        out_ += "# 1 \"<softmetal>\"\n";
        std::string files;
        std::set<std::string> seen;
        for (const auto& file : files_) {
            if (file.empty() || file.front() == '<' || !seen.insert(file).second) continue;
            files += "    {sm_hash_file(" + quote(file) + "), " + quote(file) + "},\n";
        }
        const auto array = [&](const std::string& type, const std::string& name,
                               const std::string& rows) {
            if (!rows.empty())
                out_ += "static constexpr " + type + " " + name + "[] = {\n" + rows + "};\n";
            else
                out_ += "static constexpr const " + type + "* " + name + " = nullptr;\n";
        };
        array("sm_kernel", "sm_kernels", kernels_);
        array("sm_function_constant", "sm_function_constants", constants_);
        array("sm_source_file", "sm_files", files);
        const auto rows = [](const std::string& text) {
            size_t n = 0;
            for (size_t at = text.find("    "); at != std::string::npos;
                 at = text.find("\n    ", at + 1))
                ++n;
            return std::to_string(n);
        };
        out_ += "SM_MODULE(sm_kernels, " + rows(kernels_) + ", sm_function_constants, " +
                rows(constants_) + ", sm_files, " + rows(files) + ")\n";
    }

    const Module& module_;
    const std::vector<std::string>& files_;
    std::string out_, kernels_, constants_;
    bool has_arguments_ = false;
};

}  // namespace

std::string write_table(const Module& module, const std::vector<std::string>& files) {
    return Writer(module, files).run();
}

std::string write_nvptx_entries(const Module& module) { return Writer(module, {}).run_nvptx(); }

std::string name_of(const Instance& instance, const Kernel& kernel) {
    return instance.host_name.empty() ? qualified_name(instance, kernel)
                                      : unquoted(instance.host_name);
}

}  // namespace softmetal::msl

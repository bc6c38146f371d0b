// Pointers and references without an address space. A `*` behind the name of a type declares: types
// are not multiplied.
#include <array>
#include <cctype>
#include <string>

#include "softmetal/msl/strict/rules.h"

namespace softmetal::msl::strict {
namespace {

// Types of the library by their names: float4, packed_half3, float4x4, uint32_t, atomic_int, ...
bool is_library_type(std::string_view name) {
    constexpr std::array<std::string_view, 13> kOthers = {"vec",
                                                          "matrix",
                                                          "packed_vec",
                                                          "array",
                                                          "atomic",
                                                          "simdgroup_matrix",
                                                          "size_t",
                                                          "uniform",
                                                          "ptrdiff_t",
                                                          "simdgroup_half8x8",
                                                          "simdgroup_float8x8",
                                                          "simdgroup_bfloat8x8",
                                                          "os_log"};
    for (const auto other : kOthers)
        if (name == other) return true;
    for (const std::string_view prefix : {"packed_", "atomic_"})
        if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    constexpr std::array<std::string_view, 21> kScalars = {
        "bool",    "char",     "uchar",   "short",    "ushort",  "int",      "uint",
        "long",    "ulong",    "half",    "bfloat",   "float",   "int8_t",   "uint8_t",
        "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "void"};
    for (const auto scalar : kScalars) {
        if (!name.starts_with(scalar)) continue;
        const auto rest = name.substr(scalar.size());
        if (rest.empty()) return true;
        if (scalar.ends_with("_t")) continue;
        const auto is_count = [](char c) { return c >= '2' && c <= '4'; };
        if (rest.size() == 1 && is_count(rest[0])) return true;
        if (rest.size() == 3 && is_count(rest[0]) && rest[1] == 'x' && is_count(rest[2]))
            return true;
    }
    return false;
}

class Pointers {
  public:
    Pointers(const Tokens& tokens, const Outline& outline, std::vector<Diagnostic>& errors)
        : tokens_(tokens), outline_(outline), errors_(errors) {}

    void run() {
        for (size_t i = 1; i < tokens_.size(); ++i) {
            if (starts_attribute(tokens_, i)) {
                i = skip_bracket(tokens_, i) - 1;
                continue;
            }
            const auto& token = tokens_[i];
            const bool is_star = token.is("*");
            if (!is_star && !token.is("&") && !token.is("&&")) continue;
            if (declares(i) && !has_space_)
                errors_.push_back(error_at(tokens_, i,
                                           std::string(is_star ? "pointer" : "reference") +
                                               " type must have explicit address space qualifier"));
        }
    }

  private:
    bool at(size_t i, std::string_view what) const {
        return i < tokens_.size() && tokens_[i].is(what);
    }
    bool is_qualifier(size_t i) const {
        const auto& token = tokens_[i];
        if (is_address_space(token)) return true;
        return token.is("const") || token.is("volatile") || token.is("restrict") ||
               token.is("__restrict") || token.is("__restrict__") || token.is("coherent");
    }

    // Whether a type ends in front of the `*` or `&` at i. Sets has_space_: an address space is
    // named for what is pointed to.
    bool declares(size_t i) {
        has_space_ = false;
        size_t k = i;
        // `T (&name)[N]`
        if (at(i - 1, "(")) {
            const uint32_t close = tokens_.partner[i - 1];
            const bool is_array = close != kNoPartner && close == i + 2 && at(close + 1, "[");
            if (!is_array || i < 2) return false;
            k = i - 1;
        }
        while (k > 0 && is_qualifier(k - 1)) has_space_ |= is_address_space(tokens_[--k]);
        if (k == 0) return false;
        const size_t last = k - 1;
        if (at(last, "*")) return false;  // what points to a pointer points into the thread
        const size_t name = name_of_type(last);
        if (name == kNowhere) return false;
        if (outline_.spaced_types.contains(tokens_[name].text)) has_space_ = true;
        look_before(name);
        return true;
    }

    // The last word of a type that ends at token i; kNowhere when that is no type.
    size_t name_of_type(size_t i) const {
        size_t name = i;
        if (at(i, ">")) {
            const size_t open = open_angle(tokens_, 0, i);
            if (open == kNowhere || open == 0) return kNowhere;
            name = open - 1;
        }
        const auto& token = tokens_[name];
        if (!token.is_word() || (name > 0 && (at(name - 1, ".") || at(name - 1, "->"))))
            return kNowhere;
        if (is_builtin_type_word(token) || is_library_type(token.text)) return name;
        // What is a type here may be a variable elsewhere.
        const bool is_type =
            outline_.types.contains(token.text) || outline_.template_types.contains(token.text);
        return is_type && is_declaration(name, i + 1) ? name : kNowhere;
    }

    // Inside a function body: `{ T * name =`, `for (T * name =` and `(T *)`, not `[T * name]`.
    bool is_declaration(size_t name, size_t star) const {
        bool in_body = false;
        for (const auto& function : outline_.functions)
            in_body |= name >= function.body.begin && name < function.body.end;
        if (!in_body || at(star + 1, ")") || at(star + 1, ">")) return true;
        size_t before = name;
        while (before > 0 && is_qualifier(before - 1)) --before;
        if (before == 0) return false;
        const bool has_value = at(star + 2, "=") || at(star + 2, ":");
        if (at(before - 1, "(")) return has_value;
        return (at(before - 1, ";") || at(before - 1, "{") || at(before - 1, "}")) &&
               (has_value || at(star + 2, ";") || at(star + 2, ","));
    }

    // Qualifiers in front of the type: `device const A::B*`.
    void look_before(size_t name) {
        size_t k = name;
        while (k > 0) {
            const auto& before = tokens_[k - 1];
            if (is_qualifier(k - 1)) {
                has_space_ |= is_address_space(before);
                --k;
            } else if (before.is("::") || before.is("typename") || before.is("struct") ||
                       before.is("class") || before.is("union") || before.is("enum") ||
                       before.is("unsigned") || before.is("signed") || before.is("long") ||
                       before.is("short") || before.is("constexpr") || before.is("static") ||
                       before.is("inline")) {
                --k;
            } else if (at(k, "::") && before.is(">")) {
                const size_t open = open_angle(tokens_, 0, k - 1);
                if (open == kNowhere || open == 0) return;
                k = open - 1;
            } else if (at(k, "::") && before.is_word()) {
                --k;
            } else if (before.is(")") && tokens_.partner[k - 1] != kNoPartner &&
                       tokens_.partner[k - 1] > 0 && at(tokens_.partner[k - 1] - 1, "coherent")) {
                has_space_ = true;
                return;
            } else {
                return;
            }
        }
    }

    const Tokens& tokens_;
    const Outline& outline_;
    std::vector<Diagnostic>& errors_;
    bool has_space_ = false;
};

}  // namespace

void check_pointers(const Tokens& tokens, const Outline& outline, std::vector<Diagnostic>& errors) {
    Pointers(tokens, outline, errors).run();
}

}  // namespace softmetal::msl::strict

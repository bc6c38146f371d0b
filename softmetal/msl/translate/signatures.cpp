#include "softmetal/msl/translate/signatures.h"

#include <map>

namespace softmetal::msl {
namespace {

// Writes tokens with template parameters numbered, so that `T` and `U` compare equal.
class Speller {
  public:
    Speller(const Tokens& tokens, bool keep_address_spaces)
        : tokens_(tokens), keep_address_spaces_(keep_address_spaces) {}

    void template_header(Range header) {
        for (auto part : split_commas(tokens_, header)) {
            if (const size_t equals = find_outside(tokens_, part, "="); equals != kNowhere)
                part.end = equals;
            if (part.empty()) continue;
            // `typename T`, `int N`, `typename... Ts`, `template <typename> class F`; the name may
            // be left out.
            const auto& last = tokens_[part.end - 1];
            const bool named = last.is_word() && part.end - part.begin > 1 &&
                               !is_builtin_type_word(last) && !tokens_[part.end - 2].is("::");
            if (named) {
                const std::string number = "$" + std::to_string(names_.size());
                names_[std::string(last.text)] = number;
                --part.end;
            }
            out_ += spell(part) + ",";
        }
        out_ += ";";
    }

    void head(Range range) { out_ += spell(range) + "("; }

    void parameters(Range range) {
        for (auto part : split_commas(tokens_, range)) {
            if (const size_t equals = find_outside(tokens_, part, "="); equals != kNowhere)
                part.end = equals;
            out_ += spell(without_name(part)) + ",";
        }
    }

    void trailing(Range range) {
        out_ += ")";
        for (size_t i = range.begin; i < range.end; ++i) {
            const auto& token = tokens_[i];
            if (token.is("const") || token.is("&") || token.is("&&") ||
                (keep_address_spaces_ && is_address_space(token)))
                out_ += " " + std::string(token.text);
        }
    }

    std::string take() { return std::move(out_); }

  private:
    std::vector<size_t> without_name(Range part) const {
        std::vector<size_t> kept;
        size_t words = 0, name_at = kNowhere;
        for (size_t i = part.begin; i < part.end;) {
            if (starts_attribute(tokens_, i)) {
                i = skip_bracket(tokens_, i);
                continue;
            }
            const auto& token = tokens_[i];
            size_t next = i + 1;
            if (token.is("<") && i > part.begin && tokens_[i - 1].is_word())
                next = skip_angles(tokens_, i, part.end);
            if (next == kNowhere) next = i + 1;
            if (token.is("[")) {  // `T a[4]` is `T* a`
                kept.push_back(kStar);
                i = skip_bracket(tokens_, i);
                continue;
            }
            if (token.is_word() && !token.is("const") && !token.is("volatile") &&
                !token.is("typename") && !is_address_space(token)) {
                ++words;
                const bool qualified = i > part.begin && tokens_[i - 1].is("::");
                if (words > 1 && !qualified && !is_builtin_type_word(token)) name_at = kept.size();
            }
            for (; i < next; ++i) kept.push_back(i);
        }
        if (name_at != kNowhere) kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(name_at));
        return kept;
    }

    std::string spell(Range range) const {
        std::vector<size_t> all;
        for (size_t i = range.begin; i < range.end; ++i) all.push_back(i);
        return spell(all);
    }

    std::string spell(const std::vector<size_t>& which) const {
        std::string out;
        bool is_const = false;  // `const constant T` and `constant T` are one
        for (size_t k = 0; k < which.size(); ++k) {
            const size_t i = which[k];
            if (i == kStar) {
                out += "* ";
                continue;
            }
            const auto& token = tokens_[i];
            if (starts_attribute(tokens_, i) || token.is("__attribute__")) {
                const size_t next =
                    token.is("[") ? skip_bracket(tokens_, i) : skip_bracket(tokens_, i + 1);
                while (k + 1 < which.size() && which[k + 1] < next) ++k;
                continue;
            }
            if (is_specifier(token) && !token.is("volatile")) continue;
            if (token.is("*") || token.is("&") || token.is(",") || token.is("<")) is_const = false;
            if (keep_address_spaces_ && is_address_space(token))
                out += std::string(token.text) + " ";
            if (token.is("const") || token.is("constant")) {
                if (!is_const) out += "const ";
                is_const = true;
                continue;
            }
            if (is_address_space(token)) continue;
            const auto renamed = names_.find(std::string(token.text));
            out += renamed == names_.end() ? std::string(token.text) : renamed->second;
            out += ' ';
        }
        return out;
    }

    static constexpr size_t kStar = SIZE_MAX - 1;
    const Tokens& tokens_;
    bool keep_address_spaces_;
    std::map<std::string, std::string> names_;
    std::string out_;
};

std::string spell(const Tokens& tokens, const DeclarationShape& shape, bool keep_address_spaces) {
    Speller speller(tokens, keep_address_spaces);
    for (const auto& header : shape.template_headers) speller.template_header(header);
    speller.head(shape.head);
    if (shape.has_parameters) {
        speller.parameters(shape.parameters);
        speller.trailing(shape.trailing);
    }
    return speller.take();
}

}  // namespace

Signature signature_of(const Tokens& tokens, const DeclarationShape& shape) {
    return {spell(tokens, shape, false), spell(tokens, shape, true)};
}

}  // namespace softmetal::msl

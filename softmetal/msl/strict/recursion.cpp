#include "softmetal/msl/strict/recursion.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <tuple>

namespace softmetal::msl::strict {
namespace {

struct Call {
    std::string_view callee;    // "@_Z1fi"
    std::string_view location;  // "!12"
};
struct Function {
    std::string_view subprogram;  // "!7"
    std::vector<Call> calls;
};

// The text behind `key` up to one of `ends`; "" when it is not there.
std::string_view behind(std::string_view line, std::string_view key, std::string_view ends) {
    const size_t at = line.find(key);
    if (at == std::string_view::npos) return {};
    line.remove_prefix(at + key.size());
    return line.substr(0, line.find_first_of(ends));
}

uint32_t number(std::string_view digits) {
    uint32_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
}

// The global name that is called: the first `@` of the line.
std::string_view callee_of(std::string_view line) {
    const size_t at = line.find('@');
    if (at == std::string_view::npos) return {};
    line.remove_prefix(at);
    return line.substr(0, line.find_first_of("( "));
}

class CallGraph {
  public:
    explicit CallGraph(std::string_view ir) {
        Function* inside = nullptr;
        while (!ir.empty()) {
            const size_t newline = ir.find('\n');
            const auto line = ir.substr(0, newline);
            ir.remove_prefix(newline == std::string_view::npos ? ir.size() : newline + 1);
            if (line.starts_with("define ")) {
                inside = &functions_[callee_of(line)];
                inside->subprogram = behind(line, "!dbg ", " {");
            } else if (line == "}") {
                inside = nullptr;
            } else if (inside != nullptr && line.find("call ") != std::string_view::npos) {
                inside->calls.push_back({callee_of(line), behind(line, "!dbg ", ",")});
            } else if (line.starts_with("!") && line.find(" = ") != std::string_view::npos) {
                metadata_[line.substr(0, line.find(' '))] = line;
            }
        }
    }

    void report(std::vector<Diagnostic>& errors) {
        for (const auto& [name, function] : functions_)
            if (!seen_.contains(name)) visit(name, errors);
    }

  private:
    enum class State : uint8_t { Open, Done };

    void visit(std::string_view name, std::vector<Diagnostic>& errors) {
        const auto found = functions_.find(name);
        if (found == functions_.end()) return;
        seen_[name] = State::Open;
        for (const auto& call : found->second.calls) {
            const auto state = seen_.find(call.callee);
            if (state == seen_.end())
                visit(call.callee, errors);
            else if (state->second == State::Open)
                errors.push_back({place_of(call.location), "error",
                                  "recursive call of function '" + title_of(call.callee) +
                                      "': Metal does not support recursion"});
        }
        seen_[name] = State::Done;
    }

    std::string_view line_of(std::string_view id) const {
        const auto found = metadata_.find(id);
        return found == metadata_.end() ? std::string_view() : found->second;
    }

    std::string title_of(std::string_view function) const {
        const auto line = line_of(functions_.find(function)->second.subprogram);
        return std::string(behind(line, "name: \"", "\""));
    }

    Place place_of(std::string_view location) const {
        const auto line = line_of(location);
        Place out;
        out.line = number(behind(line, "line: ", ",)"));
        out.column = number(behind(line, "column: ", ",)"));
        const auto scope = line_of(behind(line, "scope: ", ",)"));
        out.file = behind(line_of(behind(scope, "file: ", ",)")), "filename: \"", "\"");
        return out;
    }

    std::map<std::string_view, Function> functions_;
    std::map<std::string_view, std::string_view> metadata_;
    std::map<std::string_view, State> seen_;
};

}  // namespace

void check_recursion(std::string_view ir, std::vector<Diagnostic>& errors) {
    std::vector<Diagnostic> found;
    CallGraph(ir).report(found);
    std::sort(found.begin(), found.end(), [](const Diagnostic& a, const Diagnostic& b) {
        return std::tie(a.place.file, a.place.line) < std::tie(b.place.file, b.place.line);
    });
    errors.insert(errors.end(), found.begin(), found.end());
}

}  // namespace softmetal::msl::strict

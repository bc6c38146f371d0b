#include "softmetal/msl/log.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "softmetal/msl/process.h"
#include "softmetal/msl/translate/kernels.h"
#include "softmetal/msl/translate/tokens.h"

namespace softmetal::msl {
namespace {

// FILE:LINE:COLUMN: severity: message
std::optional<Diagnostic> parse(std::string_view line) {
    for (const std::string_view severity :
         {": error: ", ": fatal error: ", ": warning: ", ": note: "}) {
        const size_t at = line.find(severity);
        if (at == std::string_view::npos) continue;
        Diagnostic out;
        out.severity = severity == ": fatal error: "
                           ? "error"
                           : std::string(severity.substr(2, severity.size() - 4));
        out.message = line.substr(at + severity.size());
        auto place = line.substr(0, at);
        for (uint32_t* number : {&out.column, &out.line}) {
            const size_t colon = place.rfind(':');
            if (colon == std::string_view::npos) return std::nullopt;
            const auto digits = place.substr(colon + 1);
            const auto [end, error] =
                std::from_chars(digits.data(), digits.data() + digits.size(), *number);
            if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
            place = place.substr(0, colon);
        }
        out.file = place;
        return out;
    }
    return std::nullopt;
}

}  // namespace

std::string Log::rewrite(std::string_view clang_output, std::string_view read) const {
    std::vector<Diagnostic> found;
    std::string other;
    while (!clang_output.empty()) {
        const size_t newline = clang_output.find('\n');
        const auto line = clang_output.substr(0, newline);
        clang_output.remove_prefix(newline == std::string_view::npos ? clang_output.size()
                                                                     : newline + 1);
        if (auto diagnostic = parse(line))
            found.push_back(std::move(*diagnostic));
        else
            other += std::string(line) + "\n";
    }
    return found.empty() ? other : render(found, read);
}

std::string Log::render(const std::vector<Diagnostic>& diagnostics, std::string_view) const {
    std::string out;
    for (const auto& diagnostic : diagnostics) {
        out += diagnostic.file + ":" + std::to_string(diagnostic.line) + ":" +
               std::to_string(diagnostic.column) + ": " + diagnostic.severity + ": " +
               diagnostic.message + "\n";
    }
    return out;
}

}  // namespace softmetal::msl

// The first step: clang as a preprocessor, and what it leaves undone.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "softmetal/msl/log.h"
#include "softmetal/msl/process.h"
#include "softmetal/msl/stages.h"
#include "softmetal/msl/toolchain.h"
#include "softmetal/msl/translate/tokens.h"

namespace softmetal::msl {

namespace fs = std::filesystem;

namespace {

// Line 1 of the temporary file is a marker, so that the compiler speaks of `name` only.
std::string with_name(std::string_view source, const std::string& name) {
    std::string quoted;
    for (const char c : name) {
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += c;
    }
    if (source.starts_with("\xef\xbb\xbf")) source.remove_prefix(3);  // a byte-order mark
    return "# 1 \"" + quoted + "\"\n" + std::string(source);
}

// Drops line markers that name the temporary file and our headers, and the blank lines these left.
std::string only_the_users(std::string_view text, const std::vector<std::string>& own_folders) {
    std::string out;
    bool is_own = false;
    while (!text.empty()) {
        const size_t newline = text.find('\n');
        const auto line = text.substr(0, newline);
        text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
        const size_t open = line.find('"'), close = line.rfind('"');
        if (line.starts_with("# ") && open != close) {
            const auto file = line.substr(open + 1, close - open - 1);
            is_own = file.starts_with('<') ||
                     std::any_of(own_folders.begin(), own_folders.end(),
                                 [&](const auto& folder) { return file.starts_with(folder); });
            if (!is_own) out += std::string(line.substr(0, close + 1)) + "\n";
        } else if (!is_own) {
            out += std::string(line) + "\n";
        }
    }
    return out;
}

// `<%`, `%>`, `<:` and `:>` as the brackets they stand for, a blank beside each: later steps know
// brackets only, and columns stay.
std::string without_digraphs(std::string text) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kDigraphs = {
        {{"<%", "{ "}, {"%>", "} "}, {"<:", "[ "}, {":>", "] "}}};
    if (std::none_of(kDigraphs.begin(), kDigraphs.end(), [&](const auto& digraph) {
            return text.find(digraph.first) != std::string::npos;
        }))
        return text;
    std::vector<bool> is_mark(text.size() + 1);
    const auto tokens = tokenize(text);
    for (size_t i = 0; i < tokens.size(); ++i)
        if (tokens[i].kind == TokenKind::Mark)
            std::fill(is_mark.begin() + static_cast<std::ptrdiff_t>(tokens.offset(i)),
                      is_mark.begin() + static_cast<std::ptrdiff_t>(tokens.end_offset(i)), true);
    std::string out = text;
    for (size_t i = 0; i + 1 < text.size(); ++i) {
        if (!is_mark[i] || !is_mark[i + 1]) continue;
        const auto rest = std::string_view(text).substr(i);
        // `<::name` is a bracket of a template and a path.
        if (rest.starts_with("<::") && !rest.starts_with("<:::") && !rest.starts_with("<::>"))
            continue;
        for (const auto& [digraph, bracket] : kDigraphs) {
            if (!rest.starts_with(digraph)) continue;
            out.replace(i++, 2, bracket);
            break;
        }
    }
    return out;
}

// What preprocessing leaves unexpanded: the argument of `#pragma unroll N` and `#pragma clang
// loop`. Those of the preprocessed text that may hold a macro, as [begin, end) of the argument.
std::vector<std::pair<size_t, size_t>> pragma_arguments(std::string_view text) {
    std::vector<std::pair<size_t, size_t>> out;
    for (const auto& pragma : tokenize(text).pragmas) {
        size_t at = std::string_view::npos;
        for (const std::string_view word :
             {"unroll", "unroll_count", "vectorize_width", "interleave_count"})
            if (const size_t found = pragma.text.rfind(word); found != std::string_view::npos)
                at = std::max(at == std::string_view::npos ? 0 : at, found + word.size());
        if (at == std::string_view::npos) continue;
        const auto argument = pragma.text.substr(at);
        const auto words = tokenize(argument);
        const bool may_expand =
            std::any_of(words.tokens.begin(), words.tokens.end(), [](const Token& token) {
                return token.is_word() && !token.is("full") && !token.is("enable") &&
                       !token.is("disable");
            });
        const auto begin = static_cast<size_t>(argument.data() - text.data());
        if (may_expand) out.emplace_back(begin, begin + argument.size());
    }
    return out;
}

// Expands them in a second run, which sees the macros as they are at the end of the source.
Result<std::string> expand_pragmas(const Toolchain& tools, const fs::path& path,
                                   const fs::path& folder, std::string text,
                                   const CompileOptions& options) {
    constexpr std::string_view kMark = "softmetal_pragma_argument";
    const auto arguments = pragma_arguments(text);
    if (arguments.empty()) return text;
    auto source = SOFTMETAL_TRY(read_file(path));
    for (const auto& [begin, end] : arguments)
        source += "\n" + std::string(kMark) + text.substr(begin, end - begin) + "\n";
    SOFTMETAL_TRY(write_file(path, source));
    auto process = SOFTMETAL_TRY(Process::start(tools.preprocess(path, folder, options)));
    const auto output = process.wait().out;
    std::string out;
    size_t at = 0, mark = 0;
    for (const auto& [begin, end] : arguments) {
        mark = output.find(kMark, mark);
        if (mark == std::string::npos) return text;
        mark += kMark.size();
        out += text.substr(at, begin - at) + output.substr(mark, output.find('\n', mark) - mark);
        at = end;
    }
    return out + text.substr(at);
}

}  // namespace

Result<Preprocessed> preprocess(std::string_view source, const std::string& name,
                                const fs::path& folder, const CompileOptions& options) {
    const auto tools = Toolchain::configured();
    SOFTMETAL_TRY(tools.check());
    const auto temporary = SOFTMETAL_TRY(TemporaryFolder::create());
    const auto path = temporary.path() / "source.metal";
    SOFTMETAL_TRY(write_file(path, with_name(source, name)));
    auto process = Process::start(tools.preprocess(path, folder, options));
    if (!process) return fail(tools.missing(process.error()));
    const auto output = process->wait();
    if (output.status == 127 && output.out.empty()) return fail(tools.missing("exit status 127"));
    auto log = Log(source, name, tools.library()).rewrite(output.error, "");
    if (output.status != 0) return fail(std::move(log));
    const auto own = std::vector<std::string>{temporary.path().string(), tools.stubs.string(),
                                              tools.library().string()};
    auto text = SOFTMETAL_TRY(expand_pragmas(
        tools, path, folder, without_digraphs(only_the_users(output.out, own)), options));
    return Preprocessed{std::move(text), std::move(log)};
}

}  // namespace softmetal::msl

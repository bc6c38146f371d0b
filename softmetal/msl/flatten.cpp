#include "softmetal/msl/flatten.h"

#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "softmetal/msl/process.h"

namespace softmetal::msl {
namespace {

namespace fs = std::filesystem;

std::string_view trimmed(std::string_view text) {
    const size_t begin = text.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

// The text after `# include`, `# pragma`, ...
std::optional<std::string_view> directive(std::string_view line, std::string_view name) {
    line = trimmed(line);
    if (!line.starts_with('#')) return std::nullopt;
    line = trimmed(line.substr(1));
    if (!line.starts_with(name)) return std::nullopt;
    return trimmed(line.substr(name.size()));
}

// Follows comments across lines; a directive inside one is none.
class Comments {
  public:
    // Takes a line; true when it began inside a block comment.
    bool step(std::string_view line) {
        const bool began_inside = inside_;
        for (size_t i = 0; i < line.size(); ++i) {
            const auto two = line.substr(i, 2);
            if (inside_) {
                if (two == "*/") inside_ = false, ++i;
            } else if (two == "//") {
                break;
            } else if (two == "/*") {
                inside_ = true, ++i;
            } else if (line[i] == '"') {
                for (++i; i < line.size() && line[i] != '"'; ++i)
                    if (line[i] == '\\') ++i;
            }
        }
        return began_inside;
    }

  private:
    bool inside_ = false;
};

class Flattener {
  public:
    explicit Flattener(const std::vector<fs::path>& folders) : folders_(folders) {}

    Result<> file(const fs::path& path) {
        const auto text = SOFTMETAL_TRY(read_file(path));
        if (open_.size() > 200) return fail(path.string() + ": includes itself without end");
        open_.push_back(path);
        const bool once = has_pragma_once(text);
        if (once) out_ += "#ifndef " + guard(path) + "\n#define " + guard(path) + "\n";
        mark(1, path);
        SOFTMETAL_TRY(lines(text, path));
        if (once) out_ += "#endif\n";
        open_.pop_back();
        return {};
    }

    std::string take() { return std::move(out_); }

  private:
    static bool has_pragma_once(std::string_view text) {
        Comments comments;
        while (!text.empty()) {
            const auto line = next_line(text);
            if (!comments.step(line) && is_pragma_once(line)) return true;
        }
        return false;
    }

    static bool is_pragma_once(std::string_view line) {
        const auto rest = directive(line, "pragma");
        return rest && rest->starts_with("once");
    }

    static std::string_view next_line(std::string_view& text) {
        const size_t newline = text.find('\n');
        const auto line = text.substr(0, newline);
        text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
        return line;
    }

    Result<> lines(std::string_view text, const fs::path& path) {
        Comments comments;
        for (size_t number = 1; !text.empty(); ++number) {
            const auto line = next_line(text);
            const bool in_comment = comments.step(line);
            const auto included = in_comment ? std::nullopt : directive(line, "include");
            const auto found = included ? find(*included, path.parent_path()) : std::nullopt;
            if (found) {
                SOFTMETAL_TRY(file(*found));
                mark(number + 1, path);
            } else if (!in_comment && is_pragma_once(line)) {
                out_ += "\n";
            } else {
                out_ += std::string(line) + "\n";
            }
        }
        return {};
    }

    // Headers that are not found, such as <metal_stdlib>, are left to the compiler.
    std::optional<fs::path> find(std::string_view name, const fs::path& beside) const {
        const bool quoted = name.starts_with('"');
        if (!quoted && !name.starts_with('<')) return std::nullopt;
        const size_t end = name.find(quoted ? '"' : '>', 1);
        if (end == std::string_view::npos) return std::nullopt;
        const fs::path wanted = name.substr(1, end - 1);
        std::vector<fs::path> places;
        if (quoted) places.push_back(beside / wanted);
        for (const auto& folder : folders_) places.push_back(folder / wanted);
        for (const auto& place : places)
            if (fs::is_regular_file(place)) return place.lexically_normal();
        return std::nullopt;
    }

    std::string guard(const fs::path& path) {
        const auto [found, is_new] =
            guards_.try_emplace(fs::weakly_canonical(path).string(), guards_.size());
        return "SOFTMETAL_FLATTENED_" + std::to_string(found->second);
    }

    void mark(size_t line, const fs::path& path) {
        out_ += "#line " + std::to_string(line) + " \"" + path.generic_string() + "\"\n";
    }

    const std::vector<fs::path>& folders_;
    std::vector<fs::path> open_;
    std::map<std::string, size_t> guards_;
    std::string out_;
};

}  // namespace

Result<std::string> flatten(const std::vector<fs::path>& files,
                            const std::vector<fs::path>& include_folders) {
    Flattener flattener(include_folders);
    for (const auto& path : files) SOFTMETAL_TRY(flattener.file(path));
    return flattener.take();
}

}  // namespace softmetal::msl

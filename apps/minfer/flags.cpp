#include "flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <numeric>

#include "not_yet.h"

namespace minfer {
namespace {

std::vector<std::string> split_names(std::string_view names) {
    std::vector<std::string> list;
    for (;;) {
        const auto comma = names.find(',');
        list.emplace_back(names.substr(0, comma));
        if (comma == std::string_view::npos) return list;
        names.remove_prefix(comma + 1);
    }
}

bool cli11_takes(std::string_view name) { return name.starts_with("--") || name.size() == 2; }

// Levenshtein's.
size_t edit_distance(std::string_view a, std::string_view b) {
    auto row = std::vector<size_t>(b.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 0; i < a.size(); ++i) {
        auto diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < b.size(); ++j) {
            const auto replaced = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

std::string wrapped(std::string_view text) {
    constexpr size_t kColumns = 90;
    std::string lines;
    while (text.size() > kColumns) {
        const auto blank = text.rfind(' ', kColumns);
        if (blank == std::string_view::npos) break;
        lines += fmt::format("{}\n", text.substr(0, blank));
        text.remove_prefix(blank + 1);
    }
    return lines.append(text);
}

class Formatter : public CLI::Formatter {
  public:
    explicit Formatter(std::string usage) : usage_(std::move(usage)) { column_width(36); }
    std::string make_usage(const CLI::App*, std::string) const override {
        return fmt::format("Usage: {}\n", usage_);
    }

  private:
    std::string usage_;
};

}  // namespace

std::optional<std::string> closest(std::string_view typed, std::span<const std::string> known) {
    std::optional<std::string> best;
    size_t best_distance = typed.size() > 5 ? 3 : 2;  // this many edits are too many
    for (const auto& name : known) {
        const auto distance = edit_distance(typed, name);
        if (distance >= best_distance) continue;
        best_distance = distance;
        best = name;
    }
    return best;
}

struct Flags::Parser {
    struct Entry {
        CLI::Option* option;
        Set set;
    };

    void add(std::string_view names, bool takes_value, std::string_view metavar, std::string help,
             Set set);
    // The arguments as CLI11 understands them, or what is wrong with one.
    Result<std::vector<std::string>> normalise(std::span<const std::string> args) const;
    const CLI::Option* find(const std::string& name) const { return app.get_option_no_throw(name); }
    Error unknown(const std::string& name) const;

    CLI::App app;
    std::string usage, group_name = "Options";
    std::vector<Entry> entries;
    std::vector<std::string> known;            // every name, for suggestions
    std::map<std::string, std::string> habit;  // "-ngl" -> "--gpu-layers"
    size_t n_positionals = 0;
};

void Flags::Parser::add(std::string_view names, bool takes_value, std::string_view metavar,
                        std::string help, Set set) {
    std::string for_cli11, first_long;
    std::vector<std::string> habits;
    for (const auto& name : split_names(names)) {
        known.push_back(name);
        if (!cli11_takes(name)) {
            habits.push_back(name);
            continue;
        }
        if (first_long.empty()) first_long = name;
        for_cli11 += (for_cli11.empty() ? "" : ",") + name;
    }
    for (const auto& name : habits) habit[name] = first_long;
    if (!habits.empty()) help += fmt::format(" (also {})", fmt::join(habits, ", "));
    auto* const option =
        takes_value ? app.add_option(
                             for_cli11, [](const CLI::results_t&) { return true; }, help)
                          ->expected(1)
                          ->allow_extra_args(false)
                          ->type_name(std::string(metavar))
                          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
                    : app.add_flag(for_cli11, std::as_const(help))->disable_flag_override();
    option->group(group_name);
    entries.push_back({option, std::move(set)});
}

Error Flags::Parser::unknown(const std::string& name) const {
    if (is_flag_not_yet(name))
        return {Fault::Unsupported, fmt::format("not supported yet by this build: {}", name)};
    // "-prompt" means "--prompt" more often than anything else.
    auto meant = closest(name, known);
    if (!meant && !name.starts_with("--")) meant = closest("-" + name, known);
    if (meant)
        return {Fault::BadInput, fmt::format("unknown flag {}; did you mean {}?", name, *meant)};
    return {Fault::BadInput, fmt::format("unknown flag {}", name)};
}

// Flags with their values first, then "--" and the positionals: CLI11 gives no text after that a
// meaning of its own.
Result<std::vector<std::string>> Flags::Parser::normalise(std::span<const std::string> args) const {
    std::vector<std::string> line, positionals;
    for (size_t i = 0; i < args.size(); ++i) {
        const auto& arg = args[i];
        if (arg == "--") {
            positionals.insert(positionals.end(), args.begin() + static_cast<ptrdiff_t>(i) + 1,
                               args.end());
            break;
        }
        if (arg.size() < 2 || arg[0] != '-') {  // a lone "-" means stdin
            positionals.push_back(arg);
            continue;
        }
        const auto equals = arg.find('=');
        auto name = arg.substr(0, equals);
        auto attached =
            equals == std::string::npos ? std::nullopt : std::optional(arg.substr(equals + 1));
        if (const auto known_as = habit.find(name); known_as != habit.end())
            name = known_as->second;
        const auto* option = cli11_takes(name) ? find(name) : nullptr;
        if (!option && !cli11_takes(name) && !attached) {  // -n32
            const auto rest = std::string_view(name).substr(2);
            const auto* const letter = find(name.substr(0, 2));
            if (letter && letter->get_items_expected_min() > 0 && parse_number<double>(rest)) {
                option = letter;
                attached = rest;
                name.resize(2);
            }
        }
        if (!option) return std::unexpected(unknown(name));
        const bool takes_value = option->get_items_expected_min() > 0;
        if (attached && !takes_value) return fail(Fault::BadInput, "{} takes no value", name);
        line.push_back(name);
        if (!takes_value) continue;
        if (!attached) {
            if (++i == args.size()) return fail(Fault::BadInput, "{} needs a value", name);
            attached = args[i];
        }
        line.push_back(*attached);
    }
    if (positionals.size() > n_positionals)
        return fail(Fault::BadInput, "unexpected argument '{}'{}", positionals[n_positionals],
                    n_positionals > 1 ? "; put quotes around text of several words" : "");
    if (!positionals.empty()) line.emplace_back("--");
    line.insert(line.end(), positionals.begin(), positionals.end());
    return line;
}

Flags::Flags(std::string usage, std::string_view description)
    : parser_(std::make_unique<Parser>()) {
    parser_->app.description(wrapped(description));
    parser_->app.formatter(std::make_shared<Formatter>(usage));
    parser_->app.set_help_flag("-h,--help", "Show this and exit");
    parser_->usage = std::move(usage);
    parser_->known = {"-h", "--help"};
}

Flags::~Flags() = default;

void Flags::group(std::string name) { parser_->group_name = std::move(name); }

void Flags::value(std::string_view names, std::string_view metavar, std::string help, Set set) {
    parser_->add(names, true, metavar, std::move(help), std::move(set));
}

void Flags::flag(std::string_view names, std::string help, std::function<void()> set) {
    parser_->add(names, false, "", std::move(help),
                 [set = std::move(set)](std::string_view) -> Result<> {
                     set();
                     return {};
                 });
}

void Flags::positional(std::string name, std::string help, std::optional<std::string>& target) {
    auto* const option =
        parser_->app.add_option(
                        name, [](const CLI::results_t&) { return true; }, help)
            ->expected(1)
            ->allow_extra_args(false)
            ->type_name("");
    ++parser_->n_positionals;
    parser_->entries.push_back({option, set_text(target)});
}

void Flags::footer(std::string text) { parser_->app.footer(std::move(text)); }

std::optional<int> Flags::parse(Console& console, std::span<const std::string> args) {
    auto line = parser_->normalise(args);
    if (!line) {
        // Asking for help wins over a mistake elsewhere on the line.
        if (std::ranges::find(args, "--help") == args.end() &&
            std::ranges::find(args, "-h") == args.end())
            return usage_error(console, line.error());
        line = std::vector<std::string>{"--help"};
    }
    try {
        std::ranges::reverse(*line);
        parser_->app.parse(*line);
    } catch (const CLI::CallForHelp&) {
        const auto shown = console.write(parser_->app.help());
        return shown ? kExitOk : console.failed(shown.error());
    } catch (const CLI::Error& error) {
        return usage_error(console, {Fault::BadInput, error.what()});
    }
    for (const auto& entry : parser_->entries)
        for (const auto& text : entry.option->results())
            if (const auto set = entry.set(text); !set)
                return usage_error(
                    console, {set.error().fault,
                              fmt::format("{}: {}", entry.option->get_name(), set.error().what)});
    return std::nullopt;
}

int Flags::usage_error(Console& console, const Error& error) const {
    (void)console.failed(error);
    console.note("usage: {} (--help lists the flags)", parser_->usage);
    return kExitUsage;
}

Flags::Set set_text(std::optional<std::string>& target) {
    return [&target](std::string_view text) -> Result<> {
        target = text;
        return {};
    };
}

Flags::Set append_text(std::vector<std::string>& target) {
    return [&target](std::string_view text) -> Result<> {
        target.emplace_back(text);
        return {};
    };
}

}  // namespace minfer

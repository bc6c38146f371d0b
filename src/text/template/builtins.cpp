// The functions that a template finds without being given them.
#include <algorithm>
#include <limits>

#include "text/template/interpreter.h"
#include "text/template/methods.h"
#include "text/template/print.h"

namespace minfer::jinja {
namespace {

constexpr int64_t kMaxRange = 100'000;  // Jinja's sandbox has this bound, too

Result<Value> make_range(const Args& args) {
    const auto given = MINFER_TRY(bind("range", args, {"start", "stop", "step"}, 1));
    int64_t numbers[3] = {0, 0, 1};
    for (size_t i = 0; i < 3; ++i) {
        if (!given[i]) continue;
        const auto number = as_integer(*given[i]);
        if (!number)
            return fail(Fault::BadInput, "'{}' object cannot be interpreted as an integer",
                        type_name(*given[i]));
        // Half of the 64-bit range, so that differences fit.
        constexpr Integer kMost = Integer{1} << 62;
        if (*number > kMost || *number < -kMost)
            return fail(Fault::BadInput, "range: a bound is out of range");
        numbers[i] = static_cast<int64_t>(*number);
    }
    if (!given[1]) numbers[1] = std::exchange(numbers[0], 0);
    if (numbers[2] == 0) return fail(Fault::BadInput, "range() arg 3 must not be zero");
    const auto range = Range{numbers[0], numbers[1], numbers[2]};
    if (range.size() > kMaxRange)
        return fail(Fault::BadInput, "Range too big. The sandbox blocks ranges larger than {}.",
                    kMaxRange);
    return Value{range};
}

// The entries that dict(...) and namespace(...) start with: of one mapping or pairs, then named.
Result<Dict> entries_of(Runtime& runtime, const Args& args) {
    Dict dict;
    if (args.positional.size() > 1)
        return fail(Fault::BadInput, "dict expected at most 1 argument, got {}",
                    args.positional.size());
    if (!args.positional.empty()) {
        const Value& source = args.positional[0];
        if (const auto* other = source.dict()) {
            MINFER_TRY(runtime.charge_walk(source));
            dict = *other;
        } else {
            const auto pairs = MINFER_TRY(runtime.items(source));
            for (const auto& pair : pairs) {
                const auto parts = MINFER_TRY(runtime.items(pair));
                if (parts.size() != 2)
                    return fail(Fault::BadInput,
                                "dictionary update sequence element has length {}; 2 is required",
                                parts.size());
                if (!hashable(parts[0]))
                    return fail(Fault::BadInput, "unhashable type: '{}'", type_name(parts[0]));
                MINFER_TRY(runtime.charge(parts[0].string() ? 1 : 1 + dict.extent.weight));
                dict.set(parts[0], parts[1]);
            }
        }
    }
    for (const auto& [name, value] : args.named) {
        auto key = MINFER_TRY(runtime.string(name));
        dict.set(std::move(key), value);
    }
    return dict;
}

// datetime.now().strftime(format). Python passes all but %f on to the C library.
Result<std::string> format_time(const std::tm& now, std::string_view format) {
    std::string plain;
    for (size_t i = 0; i < format.size(); ++i) {
        if (format[i] == '%' && i + 1 < format.size()) {
            const char c = format[i + 1];
            if (c == 'f')  // we know no fractions of a second
                plain += "000000";
            else if (c != 'z' && c != 'Z')  // a time without zone has none to print
                plain += format.substr(i, 2);
            ++i;
        } else {
            plain.push_back(format[i]);
        }
    }
    if (plain.empty()) return plain;
    constexpr size_t kMaxLength = 4096;
    if (plain.size() > kMaxLength / 4)
        return fail(Fault::BadInput, "strftime_now: the format is longer than {}", kMaxLength / 4);
    std::string out(kMaxLength, '\0');
    plain.push_back('.');  // so that an empty result differs from one that does not fit
    const size_t length = std::strftime(out.data(), out.size(), plain.c_str(), &now);
    if (length == 0) return fail(Fault::BadInput, "strftime_now: the result is too long");
    out.resize(length - 1);
    return out;
}

}  // namespace

Result<Value> Interpreter::call_builtin(Builtin builtin, const Args& args) {
    switch (builtin) {
        case Builtin::Range:
            return make_range(args);
        case Builtin::Dict: {
            auto dict = MINFER_TRY(entries_of(runtime_, args));
            return runtime_.dict(std::move(dict));
        }
        case Builtin::Namespace: {
            const auto dict = MINFER_TRY(entries_of(runtime_, args));
            MINFER_TRY(runtime_.charge(1, sizeof(Namespace)));
            auto& made = namespaces_.emplace_back();
            for (const auto& [key, value] : dict.entries) {
                if (!key.string())
                    return fail(Fault::Unsupported, "a namespace attribute that is no string");
                made.set(key.string()->text, value);
            }
            return Value{&made};
        }
        case Builtin::RaiseException: {
            const auto given = MINFER_TRY(bind("raise_exception", args, {"message"}, 1));
            auto message = MINFER_TRY(to_str(runtime_, *given[0]));
            runtime_.error_is_placed = true;  // the text is the template's own
            return fail(Fault::BadInput, "{}", message);
        }
        case Builtin::StrftimeNow: {
            const auto given = MINFER_TRY(bind("strftime_now", args, {"format"}, 1));
            if (!given[0]->string())
                return fail(Fault::BadInput, "strftime_now: the format is not a string");
            auto text = MINFER_TRY(format_time(runtime_.now(), given[0]->string()->text));
            return runtime_.string(std::move(text));
        }
    }
    std::unreachable();
}

}  // namespace minfer::jinja

#include "text/template/methods.h"

#include <algorithm>
#include <array>
#include <limits>

#include "text/template/contains.h"
#include "text/template/loop.h"
#include "text/template/operators.h"

namespace minfer::jinja {
namespace {

constexpr std::string_view kStringMethods[] = {
    "strip",      "lstrip",  "rstrip",       "split",       "rsplit", "startswith",
    "endswith",   "replace", "lower",        "upper",       "title",  "capitalize",
    "join",       "find",    "rfind",        "index",       "rindex", "count",
    "splitlines", "format",  "removeprefix", "removesuffix"};
constexpr std::string_view kOtherStringMethods[] = {
    "casefold",     "center",     "encode",    "expandtabs",  "format_map",
    "isalnum",      "isalpha",    "isascii",   "isdecimal",   "isdigit",
    "isidentifier", "islower",    "isnumeric", "isprintable", "isspace",
    "istitle",      "isupper",    "ljust",     "maketrans",   "partition",
    "rjust",        "rpartition", "swapcase",  "translate",   "zfill"};
constexpr std::string_view kListMethods[] = {"index", "count"};
constexpr std::string_view kUnsafeListMethods[] = {"append", "clear", "pop",    "reverse",
                                                   "insert", "sort",  "extend", "remove"};
constexpr std::string_view kDictMethods[] = {"items", "keys", "values", "get"};
constexpr std::string_view kUnsafeDictMethods[] = {"clear", "pop", "popitem", "setdefault",
                                                   "update"};
constexpr std::string_view kLoopMethods[] = {"cycle", "changed"};

bool in(const auto& names, std::string_view name) { return contains(names, name); }

Result<Value> call_dict_method(Runtime& runtime, const Dict& self, std::string_view name,
                               const Args& args) {
    if (name == "get") {
        const auto given = MINFER_TRY(bind("get", args, {"key", "default"}, 1));
        if (!hashable(*given[0]))
            return fail(Fault::BadInput, "unhashable type: '{}'", type_name(*given[0]));
        const Value* found = self.find(*given[0]);
        if (found) return *found;
        return given[1].value_or(Value{None{}});
    }
    MINFER_TRY(bind(name, args, {}, 0));
    std::vector<Value> items;
    for (const auto& [key, value] : self.entries) {
        if (name == "items") {
            auto pair = MINFER_TRY(runtime.sequence({key, value}, Sequence::Form::Tuple));
            items.push_back(std::move(pair));
        } else {
            items.push_back(name == "keys" ? key : value);
        }
    }
    return runtime.sequence(std::move(items), name == "items"  ? Sequence::Form::Items
                                              : name == "keys" ? Sequence::Form::Keys
                                                               : Sequence::Form::Values);
}

Result<Value> call_list_method(Runtime& runtime, const Sequence& self, std::string_view name,
                               const Args& args) {
    const auto given = MINFER_TRY(bind(name, args, {"value"}, 1));
    Integer count = 0;
    for (size_t i = 0; i < self.items.size(); ++i) {
        const bool same = MINFER_TRY(compare_with(runtime, Op::Eq, self.items[i], *given[0]));
        if (!same) continue;
        if (name == "index") return make_int(static_cast<Integer>(i));
        ++count;
    }
    if (name == "index") return fail(Fault::BadInput, "the value is not in list");
    return make_int(count);
}

Result<Value> call_loop_method(Runtime& runtime, Loop& self, std::string_view name,
                               const Args& args) {
    if (!args.named.empty())
        return fail(Fault::BadInput, "loop.{} takes no keyword arguments", name);
    if (name == "cycle") {
        if (args.positional.empty()) return fail(Fault::BadInput, "no items for cycling given");
        const auto n = static_cast<int64_t>(args.positional.size());
        return args.positional[static_cast<size_t>(((self.index0 % n) + n) % n)];
    }
    auto now = MINFER_TRY(runtime.sequence(args.positional, Sequence::Form::Tuple));
    if (self.last_changed) {
        const bool same = MINFER_TRY(compare_with(runtime, Op::Eq, *self.last_changed, now));
        if (same) return make_bool(false);
    }
    self.last_changed = std::move(now);
    return make_bool(true);
}

}  // namespace

MethodStatus method_status(const Value& object, std::string_view name) {
    using enum MethodStatus;
    if (name.starts_with("__") && name.ends_with("__")) return Unsafe;
    if (object.string())
        return in(kStringMethods, name) ? Known : in(kOtherStringMethods, name) ? NotOurs : None;
    if (object.dict())
        return in(kDictMethods, name)                 ? Known
               : in(kUnsafeDictMethods, name)         ? Unsafe
               : name == "copy" || name == "fromkeys" ? NotOurs
                                                      : None;
    if (const auto* s = object.sequence()) {
        const bool is_list = s->form == Sequence::Form::List;
        if (!is_list && s->form != Sequence::Form::Tuple) return None;
        if (in(kListMethods, name)) return Known;
        if (is_list && in(kUnsafeListMethods, name)) return Unsafe;
        return is_list && name == "copy" ? NotOurs : None;
    }
    return None;
}

bool is_method_of_any(std::string_view name) {
    return in(kStringMethods, name) || in(kListMethods, name) || in(kDictMethods, name) ||
           in(kLoopMethods, name);
}

Result<Value> call_method(Runtime& runtime, const Method& method, const Args& args) {
    if (const auto* s = method.self.string()) {
        const bool text_in = std::ranges::any_of(args.positional, [](const Value& v) {
            return v.string() != nullptr || v.sequence() != nullptr;
        });
        if (s->markup && (text_in || method.name == "format"))
            return fail(Fault::Unsupported, "{}() of a string marked safe", method.name);
        return call_string_method(runtime, *s, method.name, args);
    }
    if (const auto* dict = method.self.dict())
        return call_dict_method(runtime, *dict, method.name, args);
    if (const auto* list = method.self.sequence())
        return call_list_method(runtime, *list, method.name, args);
    return call_loop_method(runtime, *method.self.as<Loop*>(), method.name, args);
}

int64_t clamp_to_int64(Integer i) {
    return static_cast<int64_t>(std::clamp<Integer>(i, std::numeric_limits<int64_t>::min(),
                                                    std::numeric_limits<int64_t>::max()));
}

}  // namespace minfer::jinja

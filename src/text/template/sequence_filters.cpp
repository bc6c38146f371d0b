#include "text/template/sequence_filters.h"

#include <algorithm>

#include "text/template/filters.h"
#include "text/template/operators.h"
#include "text/template/print.h"
#include "text/template/string_literal.h"
#include "text/template/unicode.h"

namespace minfer::jinja {
namespace {

// "a.b.0": attributes of attributes, numbers as indices; none of the text for a whole number.
struct Path {
    std::vector<Value> parts;

    static Result<Path> parse(const Value& attribute) {
        if (attribute.is<None>()) return Path{};
        if (as_integer(attribute)) return Path{{attribute}};
        if (!attribute.string())
            return fail(Fault::BadInput, "an attribute is neither a string nor a number but '{}'",
                        type_name(attribute));
        Path path;
        std::string_view text = attribute.string()->text;
        while (true) {
            const size_t dot = text.find('.');
            const auto part = text.substr(0, dot);
            const auto index = parse_integer(part, 10);
            path.parts.push_back(index ? make_int(*index) : make_string(std::string(part)));
            if (dot == std::string_view::npos) return path;
            text = text.substr(dot + 1);
        }
    }

    // `fallback`, if there is one that is not none, stands in for what is undefined at any part.
    Result<Value> follow(Runtime& runtime, Value value, const Value* fallback) const {
        for (const auto& part : parts) {
            value = MINFER_TRY(get_item(runtime, value, part));
            if (fallback && !fallback->is<None>() && value.is_undefined()) value = *fallback;
        }
        return value;
    }
};

Args without_first(const Args& args, size_t count) {
    return Args{
        {args.positional.begin() + static_cast<std::ptrdiff_t>(count), args.positional.end()},
        args.named};
}

Result<Value> pick(Runtime& runtime, const Value& self, const Args& args, bool by_attribute,
                   bool keep) {
    // Jinja looks at nothing, not even the arguments, when there is nothing to walk.
    if (!truthy(self)) return runtime.generator({});
    Path path;
    size_t used = 0;
    if (by_attribute) {
        if (args.positional.empty())
            return fail(Fault::BadInput, "Missing parameter for attribute name");
        path = MINFER_TRY(Path::parse(args.positional[0]));
        used = 1;
    }
    const TestInfo* test = nullptr;
    if (args.positional.size() > used) {
        const auto* name = args.positional[used].string();
        test = name ? find_test(name->text) : nullptr;
        if (!test)
            return fail(Fault::Unsupported, "test '{}'", name ? name->text : "(not a string)");
        ++used;
    }
    const auto rest = without_first(args, used);
    auto cursor = MINFER_TRY(Cursor::over(self));
    std::vector<Value> out;
    while (auto item = cursor.next()) {
        MINFER_TRY(runtime.charge(1));
        const auto value = MINFER_TRY(path.follow(runtime, *item, nullptr));
        bool passes = truthy(value);
        if (test) passes = MINFER_TRY(test->run(runtime, value, rest));
        if (passes == keep) out.push_back(*std::move(item));
    }
    return runtime.generator(std::move(out));
}

}  // namespace

Result<Value> first_filter(Runtime&, const Value& self, const Args& args) {
    MINFER_TRY(bind("first", args, {}, 0));
    auto cursor = MINFER_TRY(Cursor::over(self));
    return cursor.next().value_or(undefined("No first item, sequence was empty."));
}

Result<Value> last_filter(Runtime& runtime, const Value& self, const Args& args) {
    MINFER_TRY(bind("last", args, {}, 0));
    if (self.is<GeneratorRef>())
        return fail(Fault::BadInput, "'generator' object is not reversible");
    const auto items = MINFER_TRY(runtime.items(self));
    return items.empty() ? undefined("No last item, sequence was empty.") : items.back();
}

Result<Value> items_filter(Runtime& runtime, const Value& self, const Args& args) {
    MINFER_TRY(bind("items", args, {}, 0));
    if (self.is_undefined()) return runtime.generator({});
    const auto* dict = self.dict();
    if (!dict) return fail(Fault::BadInput, "Can only get item pairs from a mapping.");
    std::vector<Value> out;
    for (const auto& [key, value] : dict->entries) {
        auto pair = MINFER_TRY(runtime.sequence({key, value}, Sequence::Form::Tuple));
        out.push_back(std::move(pair));
    }
    return runtime.generator(std::move(out));
}

Result<Value> list_filter(Runtime& runtime, const Value& self, const Args& args) {
    MINFER_TRY(bind("list", args, {}, 0));
    auto items = MINFER_TRY(runtime.items(self));
    return runtime.sequence(std::move(items));
}

Result<Value> join_filter(Runtime& runtime, const Value& self, const Args& args) {
    const auto given = MINFER_TRY(bind("join", args, {"d", "attribute"}, 0));
    const auto separator =
        given[0] ? to_str(runtime, *given[0]) : Result<std::string>(std::string());
    if (!separator) return std::unexpected(separator.error());
    const bool by_attribute = given[1] && !given[1]->is<None>();
    const auto path = MINFER_TRY(Path::parse(by_attribute ? *given[1] : Value{None{}}));
    auto cursor = MINFER_TRY(Cursor::over(self));
    std::string out;
    bool first = true;
    while (auto item = cursor.next()) {
        const auto value = MINFER_TRY(path.follow(runtime, *std::move(item), nullptr));
        if (!first) {
            MINFER_TRY(runtime.charge(1, separator->size()));
            out += *separator;
        }
        first = false;
        MINFER_TRY(append_str(runtime, out, value));
    }
    return runtime.string(std::move(out));
}

Result<Value> map_filter(Runtime& runtime, const Value& self, const Args& args) {
    if (!truthy(self)) return runtime.generator({});
    const bool by_attribute = args.positional.empty();
    const FilterInfo* filter = nullptr;
    Path path;
    std::optional<Value> fallback;
    if (by_attribute) {
        const auto given = MINFER_TRY(bind("map", args, {"attribute", "default"}, 1));
        path = MINFER_TRY(Path::parse(*given[0]));
        fallback = given[1];
    } else {
        const auto* name = args.positional[0].string();
        filter = name ? find_filter(name->text) : nullptr;
        if (!filter)
            return fail(Fault::Unsupported, "filter '{}'", name ? name->text : "(not a string)");
    }
    const auto rest = by_attribute ? Args() : without_first(args, 1);
    auto cursor = MINFER_TRY(Cursor::over(self));
    std::vector<Value> out;
    while (auto item = cursor.next()) {
        MINFER_TRY(runtime.charge(1));
        auto value = filter ? filter->run(runtime, *item, rest)
                            : path.follow(runtime, *item, fallback ? &*fallback : nullptr);
        if (!value) return std::unexpected(value.error());
        out.push_back(*std::move(value));
    }
    return runtime.generator(std::move(out));
}

Result<Value> reverse_filter(Runtime& runtime, const Value& self, const Args& args) {
    MINFER_TRY(bind("reverse", args, {}, 0));
    if (self.string()) return get_slice(runtime, self, Value{None{}}, Value{None{}}, make_int(-1));
    // What Python cannot reverse in place (a generator) becomes a list.
    const bool to_list = self.is<GeneratorRef>() || self.is_undefined();
    auto items = MINFER_TRY(runtime.items(self));
    std::ranges::reverse(items);
    return to_list ? runtime.sequence(std::move(items)) : runtime.generator(std::move(items));
}

Result<Value> select_filter(Runtime& runtime, const Value& self, const Args& args) {
    return pick(runtime, self, args, false, true);
}
Result<Value> reject_filter(Runtime& runtime, const Value& self, const Args& args) {
    return pick(runtime, self, args, false, false);
}
Result<Value> selectattr_filter(Runtime& runtime, const Value& self, const Args& args) {
    return pick(runtime, self, args, true, true);
}
Result<Value> rejectattr_filter(Runtime& runtime, const Value& self, const Args& args) {
    return pick(runtime, self, args, true, false);
}

}  // namespace minfer::jinja

// object.name, object[key], object[a:b:c].
#include <algorithm>

#include "text/template/loop.h"
#include "text/template/methods.h"
#include "text/template/operators.h"
#include "text/template/print.h"
#include "text/template/unicode.h"

namespace minfer::jinja {
namespace {

Value missing_attribute(const Value& object, std::string_view name) {
    return undefined(fmt::format("'{}' has no attribute '{}'", object_name(object), name));
}

// What Python's getattr finds, or nullopt.
Result<std::optional<Value>> python_attribute(const Value& object, std::string_view name) {
    if (object.is_undefined()) return undefined_error(object);
    if (const auto* loop = object.get<Loop*>()) return (*loop)->attribute(name);
    if (const auto* ns = object.get<Namespace*>()) {
        const Value* found = (*ns)->find(name);
        return found ? std::optional(*found) : std::nullopt;
    }
    switch (method_status(object, name)) {
        case MethodStatus::Known:
            return Value{std::make_shared<const Method>(Method{object, std::string(name)})};
        case MethodStatus::Unsafe:
            return undefined(fmt::format("access to attribute '{}' of '{}' object is unsafe.", name,
                                         type_name(object)));
        case MethodStatus::NotOurs:
            return fail(Fault::Unsupported, "attribute '{}' of a '{}' object", name,
                        type_name(object));
        case MethodStatus::None:
            return std::optional<Value>();
    }
    std::unreachable();
}

std::optional<Value> element(Runtime& runtime, const Value& object, Integer index) {
    const auto in_bounds = [&](Integer size) -> std::optional<size_t> {
        if (index < 0) index += size;
        if (index < 0 || index >= size) return std::nullopt;
        return static_cast<size_t>(index);
    };
    if (const auto* s = object.string()) {
        if (s->ascii) {
            const auto i = in_bounds(static_cast<Integer>(s->text.size()));
            return i ? std::optional(make_string(s->text.substr(*i, 1), s->markup)) : std::nullopt;
        }
        if (!runtime.charge_walk(object)) return std::nullopt;  // the next charge reports it
        const auto i = in_bounds(static_cast<Integer>(count_points(s->text)));
        if (!i) return std::nullopt;
        const size_t start = byte_offset(s->text, *i);
        size_t end = start;
        next_point(s->text, end);
        return make_string(s->text.substr(start, end - start), s->markup);
    }
    if (const auto* r = object.get<Range>()) {
        const auto i = in_bounds(r->size());
        return i ? std::optional(make_int(r->at(static_cast<int64_t>(*i)))) : std::nullopt;
    }
    const auto* s = object.sequence();
    if (!s || (s->form != Sequence::Form::List && s->form != Sequence::Form::Tuple))
        return std::nullopt;
    const auto i = in_bounds(static_cast<Integer>(s->items.size()));
    return i ? std::optional(s->items[*i]) : std::nullopt;
}

struct SliceBounds {
    int64_t start, stop, step;
};

Result<std::optional<Integer>> slice_part(const Value& part) {
    if (part.is<None>()) return std::optional<Integer>();
    const auto i = as_integer(part);
    if (!i)
        return fail(Fault::BadInput,
                    "slice indices must be integers or None or have an __index__ method");
    return i;
}

// Python's slice.indices(size).
Result<SliceBounds> slice_bounds(const Value& start, const Value& stop, const Value& step,
                                 Integer size) {
    const auto by = MINFER_TRY(slice_part(step));
    const auto from = MINFER_TRY(slice_part(start));
    const auto to = MINFER_TRY(slice_part(stop));
    if (by == Integer{0}) return fail(Fault::BadInput, "slice step cannot be zero");
    const Integer stride = std::clamp<Integer>(by.value_or(1), -size - 1, size + 1);
    const Integer lowest = stride < 0 ? -1 : 0, highest = stride < 0 ? size - 1 : size;
    const auto place = [&](std::optional<Integer> at, Integer fallback) {
        if (!at) return fallback;
        if (*at < 0) return *at < -size ? lowest : *at + size;
        return std::min(*at, highest);
    };
    const Integer first = place(from, stride < 0 ? highest : lowest);
    const Integer last = place(to, stride < 0 ? lowest : highest);
    return SliceBounds{static_cast<int64_t>(first), static_cast<int64_t>(last),
                       static_cast<int64_t>(stride)};
}

Result<Value> slice_string(Runtime& runtime, const String& s, const Range& range) {
    std::string out;
    const auto n = range.size();
    if (s.ascii && range.step == 1) {
        if (n > 0) out = s.text.substr(static_cast<size_t>(range.start), static_cast<size_t>(n));
    } else if (s.ascii) {
        for (int64_t i = 0; i < n; ++i) out.push_back(s.text[static_cast<size_t>(range.at(i))]);
    } else {
        const auto points = to_points(s.text);
        MINFER_TRY(runtime.charge(static_cast<int64_t>(points.size() / 16)));
        for (int64_t i = 0; i < n; ++i) append_point(out, points[static_cast<size_t>(range.at(i))]);
    }
    return runtime.string(std::move(out), s.markup);
}

}  // namespace

Result<Value> get_attribute(const Value& object, std::string_view name) {
    auto found = MINFER_TRY(python_attribute(object, name));
    if (found) return *std::move(found);
    if (const auto* dict = object.dict())
        if (const Value* item = dict->find(name)) return *item;
    return missing_attribute(object, name);
}

Result<Value> get_item(Runtime& runtime, const Value& object, const Value& key) {
    if (object.is_undefined()) return undefined_error(object);
    if (const auto* dict = object.dict()) {
        if (!key.string()) MINFER_TRY(runtime.charge_walk(object));
        if (hashable(key))
            if (const Value* found = dict->find(key)) return *found;
    } else if (const auto index = as_integer(key)) {
        if (auto found = element(runtime, object, *index)) return *std::move(found);
    }
    if (const auto* name = key.string()) {
        auto found = MINFER_TRY(python_attribute(object, name->text));
        if (found) return *std::move(found);
        return missing_attribute(object, name->text);
    }
    const auto shown = MINFER_TRY(to_repr(runtime, key));
    return undefined(fmt::format("{} has no element {}", object_name(object), shown));
}

Result<Value> get_slice(Runtime& runtime, const Value& object, const Value& start,
                        const Value& stop, const Value& step) {
    if (object.is_undefined()) return undefined_error(object);
    const auto* s = object.string();
    const auto* list = object.sequence();
    const auto* range = object.get<Range>();
    if (list && list->form != Sequence::Form::List && list->form != Sequence::Form::Tuple)
        list = nullptr;
    if (!s && !list && !range)
        return fail(Fault::BadInput, "'{}' object is not subscriptable", type_name(object));
    const Integer size = s ? static_cast<Integer>(s->ascii ? s->text.size() : count_points(s->text))
                         : list ? static_cast<Integer>(list->items.size())
                                : Integer{range->size()};
    MINFER_TRY(runtime.charge(1 + static_cast<int64_t>(s ? size / 64 : 0)));
    const auto bounds = MINFER_TRY(slice_bounds(start, stop, step, size));
    const auto picked = Range{bounds.start, bounds.stop, bounds.step};
    if (s) return slice_string(runtime, *s, picked);
    if (range)
        return Value{
            Range{range->at(picked.start), range->at(picked.stop), range->step * picked.step}};
    std::vector<Value> items;
    for (int64_t i = 0, n = picked.size(); i < n; ++i)
        items.push_back(list->items[static_cast<size_t>(picked.at(i))]);
    return runtime.sequence(std::move(items), list->form);
}

}  // namespace minfer::jinja

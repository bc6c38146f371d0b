#include "text/template/value.h"

#include <algorithm>
#include <cmath>

#include "text/template/unicode.h"

namespace minfer::jinja {

const Value* Dict::find(std::string_view key) const {
    if (entries.size() >= kIndexFrom) {
        const auto found = index.find(key);
        return found == index.end() ? nullptr : &entries[found->second].second;
    }
    for (const auto& [name, value] : entries)
        if (const auto* s = name.string(); s && s->text == key) return &value;
    return nullptr;
}

const Value* Dict::find(const Value& key) const {
    if (const auto* s = key.string()) return find(s->text);
    for (const auto& [name, value] : entries)
        if (!name.string() && equal(name, key)) return &value;
    return nullptr;
}

void Dict::set(Value key, Value value) {
    extent.contain(extent_of(key));
    extent.contain(extent_of(value));
    if (const Value* old = find(key)) {
        *const_cast<Value*>(old) = std::move(value);  // ours: find only hands out a view of it
        return;
    }
    entries.emplace_back(std::move(key), std::move(value));
    if (entries.size() < kIndexFrom) return;
    const size_t first_unindexed = entries.size() == kIndexFrom ? 0 : entries.size() - 1;
    for (size_t i = first_unindexed; i < entries.size(); ++i)
        if (const auto* s = entries[i].first.string()) index.emplace(s->text, i);
}

int64_t Range::size() const {
    if (step > 0) return start < stop ? (stop - start - 1) / step + 1 : 0;
    return start > stop ? (start - stop - 1) / -step + 1 : 0;
}

const Value* Namespace::find(std::string_view name) const {
    const auto found = std::ranges::find(attributes, name, &std::pair<std::string, Value>::first);
    return found == attributes.end() ? nullptr : &found->second;
}

void Namespace::set(std::string_view name, Value value) {
    const auto found = std::ranges::find(attributes, name, &std::pair<std::string, Value>::first);
    if (found != attributes.end())
        found->second = std::move(value);
    else
        attributes.emplace_back(name, std::move(value));
}

Value undefined(std::string message) {
    return Value{Undefined{std::make_shared<const std::string>(std::move(message))}};
}
Value make_bool(bool b) { return Value{b}; }
Value make_int(Integer i) { return Value{i}; }
Value make_string(std::string text, bool markup) {
    const bool ascii = is_ascii(text);
    return Value{std::make_shared<const String>(String{std::move(text), ascii, markup})};
}

std::optional<Integer> as_integer(const Value& value) {
    if (const auto* b = value.get<bool>()) return Integer{*b};
    if (const auto* i = value.get<Integer>()) return *i;
    return std::nullopt;
}

std::optional<double> as_double(const Value& value) {
    if (const auto* d = value.get<double>()) return *d;
    if (const auto i = as_integer(value)) return static_cast<double>(*i);
    return std::nullopt;
}

bool is_number(const Value& value) { return as_double(value).has_value(); }

void Extent::contain(const Extent& inner) {
    depth = std::max(depth, 1 + inner.depth);
    weight = std::min(weight + inner.weight, kMaxWeight + 1);
}

Extent extent_of(const Value& value) {
    constexpr int64_t kBytesPerStep = 32;
    if (const auto* s = value.string())
        return {.weight = 1 + static_cast<int64_t>(s->text.size()) / kBytesPerStep};
    if (const auto* sequence = value.sequence()) return sequence->extent;
    if (const auto* dict = value.dict()) return dict->extent;
    if (const auto* generator = value.get<GeneratorRef>()) return (*generator)->extent;
    if (const auto* method = value.get<MethodRef>()) {
        auto extent = Extent{.depth = 1};
        extent.contain(extent_of((*method)->self));
        return extent;
    }
    return {};
}

bool truthy(const Value& value) {
    struct Visitor {
        bool operator()(const Undefined&) const { return false; }
        bool operator()(const None&) const { return false; }
        bool operator()(bool b) const { return b; }
        bool operator()(Integer i) const { return i != 0; }
        bool operator()(double d) const { return d != 0; }
        bool operator()(const StringRef& s) const { return !s->text.empty(); }
        bool operator()(const SequenceRef& s) const { return !s->items.empty(); }
        bool operator()(const DictRef& d) const { return !d->entries.empty(); }
        bool operator()(const Range& r) const { return r.size() != 0; }
        bool operator()(const GeneratorRef&) const { return true; }
        bool operator()(const MethodRef&) const { return true; }
        bool operator()(Builtin) const { return true; }
        bool operator()(Namespace*) const { return true; }
        bool operator()(Loop*) const { return true; }
        bool operator()(const Macro*) const { return true; }
    };
    return std::visit(Visitor{}, value.data);
}

namespace {

bool equal_sequences(const Sequence& a, const Sequence& b) {
    using Form = Sequence::Form;
    if (a.form != b.form) return false;
    if (a.form == Form::Values) return &a == &b;
    if (a.items.size() != b.items.size()) return false;
    if (a.form == Form::List || a.form == Form::Tuple)
        return std::ranges::equal(a.items, b.items, equal);
    // Views of keys and items are sets.
    return std::ranges::all_of(a.items, [&](const Value& x) {
        return std::ranges::any_of(b.items, [&](const Value& y) { return equal(x, y); });
    });
}

bool equal_dicts(const Dict& a, const Dict& b) {
    if (a.entries.size() != b.entries.size()) return false;
    return std::ranges::all_of(a.entries, [&](const auto& entry) {
        const Value* other = b.find(entry.first);
        return other && equal(entry.second, *other);
    });
}

// long double holds every 64-bit integer and every double exactly on x86; elsewhere the comparison
// of an integer above 2^53 with a float may round.
int compare_numbers(const Value& a, const Value& b) {
    const auto ia = as_integer(a), ib = as_integer(b);
    if (ia && ib) return *ia < *ib ? -1 : *ia > *ib;
    const auto wide = [](const Value& v) {
        if (const auto i = as_integer(v)) return static_cast<long double>(*i);
        return static_cast<long double>(*as_double(v));
    };
    const long double x = wide(a), y = wide(b);
    if (std::isnan(x) || std::isnan(y)) return 2;
    return x < y ? -1 : x > y;
}

}  // namespace

bool equal(const Value& a, const Value& b) {
    if (is_number(a) && is_number(b)) return compare_numbers(a, b) == 0;
    if (a.data.index() != b.data.index()) return false;
    if (a.is<Undefined>() || a.is<None>()) return true;
    if (const auto* s = a.string()) return s->text == b.string()->text;
    if (const auto* s = a.sequence()) return equal_sequences(*s, *b.sequence());
    if (const auto* d = a.dict()) return equal_dicts(*d, *b.dict());
    if (const auto* r = a.get<Range>()) {
        const auto& other = b.as<Range>();
        const auto n = r->size();
        if (n != other.size()) return false;
        return n == 0 || (r->start == other.start && (n == 1 || r->step == other.step));
    }
    if (const auto* m = a.get<MethodRef>()) {
        const auto& other = b.as<MethodRef>();
        return (*m)->name == other->name && equal((*m)->self, other->self);
    }
    if (const auto* g = a.get<GeneratorRef>()) return *g == b.as<GeneratorRef>();
    if (const auto* f = a.get<Builtin>()) return *f == b.as<Builtin>();
    if (const auto* n = a.get<Namespace*>()) return *n == b.as<Namespace*>();
    if (const auto* l = a.get<Loop*>()) return *l == b.as<Loop*>();
    return a.as<const Macro*>() == b.as<const Macro*>();
}

Result<int> compare(const Value& a, const Value& b, std::string_view op) {
    if (is_number(a) && is_number(b)) return compare_numbers(a, b);
    for (const Value* side : {&a, &b})
        if (const auto* u = side->get<Undefined>()) return fail(Fault::BadInput, "{}", *u->message);
    if (a.string() && b.string()) {  // UTF-8 sorts as its code points do
        const int order = a.string()->text.compare(b.string()->text);
        return order < 0 ? -1 : order > 0;
    }
    const auto *x = a.sequence(), *y = b.sequence();
    const auto ordered = [](const Sequence* s) {
        return s && (s->form == Sequence::Form::List || s->form == Sequence::Form::Tuple);
    };
    if (!ordered(x) || !ordered(y) || x->form != y->form)
        return fail(Fault::BadInput, "'{}' not supported between instances of '{}' and '{}'", op,
                    type_name(a), type_name(b));
    for (size_t i = 0; i < std::min(x->items.size(), y->items.size()); ++i)
        if (!equal(x->items[i], y->items[i])) return compare(x->items[i], y->items[i], op);
    return x->items.size() < y->items.size() ? -1 : x->items.size() > y->items.size();
}

bool hashable(const Value& value) {
    if (value.dict()) return false;
    const auto* s = value.sequence();
    if (!s) return true;
    return s->form == Sequence::Form::Tuple && std::ranges::all_of(s->items, hashable);
}

std::string type_name(const Value& value) {
    struct Visitor {
        const char* operator()(const Undefined&) const { return "Undefined"; }
        const char* operator()(const None&) const { return "NoneType"; }
        const char* operator()(bool) const { return "bool"; }
        const char* operator()(Integer) const { return "int"; }
        const char* operator()(double) const { return "float"; }
        const char* operator()(const StringRef& s) const { return s->markup ? "Markup" : "str"; }
        const char* operator()(const SequenceRef& s) const {
            switch (s->form) {
                case Sequence::Form::List:
                    return "list";
                case Sequence::Form::Tuple:
                    return "tuple";
                case Sequence::Form::Keys:
                    return "dict_keys";
                case Sequence::Form::Values:
                    return "dict_values";
                case Sequence::Form::Items:
                    return "dict_items";
            }
            std::unreachable();
        }
        const char* operator()(const DictRef&) const { return "dict"; }
        const char* operator()(const GeneratorRef&) const { return "generator"; }
        const char* operator()(const Range&) const { return "range"; }
        const char* operator()(const MethodRef&) const { return "builtin_function_or_method"; }
        const char* operator()(Builtin) const { return "function"; }
        const char* operator()(Namespace*) const { return "Namespace"; }
        const char* operator()(Loop*) const { return "LoopContext"; }
        const char* operator()(const Macro*) const { return "Macro"; }
    };
    return std::visit(Visitor{}, value.data);
}

std::string object_name(const Value& value) {
    if (value.is<None>()) return "None";
    if (value.is<Namespace*>()) return "jinja2.utils.Namespace object";
    if (value.is<Loop*>()) return "jinja2.runtime.LoopContext object";
    if (value.is<const Macro*>()) return "jinja2.runtime.Macro object";
    return type_name(value) + " object";
}

}  // namespace minfer::jinja

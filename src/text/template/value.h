#pragma once
// Python's values as far as chat templates can meet them. Values are immutable and shared;
// the three that change while a template runs (namespace, loop, macro scope) belong to the
// rendering's arena, and values only point at them, so that no cycle keeps memory alive.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace minfer::jinja {

// Python's integers have no bounds; ours hold every 64-bit number and the products of two.
// Beyond that an operation is an error.
using Integer = __int128;

struct Value;
struct Namespace;
struct Loop;
struct Macro;
struct Method;

struct Undefined {
    std::shared_ptr<const std::string> message;  // what using it says
};
struct None {};

struct String {
    std::string text;     // UTF-8
    bool ascii = false;   // then a byte is a character
    bool markup = false;  // came from the safe filter: + escapes what it is joined with
};

// How deep a value nests and how many values it stands for when shared ones are counted each time
// (printing or comparing takes that long). Containers know theirs, so that both can be bounded
// where a container is made.
struct Extent {
    int depth = 0;
    int64_t weight = 1;
    static constexpr int kMaxDepth = 128;
    static constexpr int64_t kMaxWeight = 1 << 24;
    bool allowed() const { return depth <= kMaxDepth && weight <= kMaxWeight; }
    void contain(const Extent& inner);
};

struct Sequence {
    enum class Form : uint8_t { List, Tuple, Keys, Values, Items };
    Form form = Form::List;
    std::vector<Value> items;
    Extent extent{.depth = 1};
};

// In order of insertion. Few entries are searched one by one, many through an index of the keys
// that are strings.
struct Dict {
    std::vector<std::pair<Value, Value>> entries;
    std::map<std::string, size_t, std::less<>> index;  // filled from kIndexFrom entries on
    Extent extent{.depth = 1};

    static constexpr size_t kIndexFrom = 12;
    const Value* find(std::string_view key) const;
    const Value* find(const Value& key) const;
    void set(Value key, Value value);  // replaces the value of an equal key
};

// What map, select, reverse, items make: can be walked once.
struct Generator {
    std::vector<Value> items;
    size_t next = 0;
    Extent extent{.depth = 1};
};

struct Range {
    int64_t start = 0, stop = 0, step = 1;
    int64_t size() const;
    int64_t at(int64_t i) const { return start + i * step; }
};

enum class Builtin : uint8_t { Range, Namespace, Dict, RaiseException, StrftimeNow };

using StringRef = std::shared_ptr<const String>;
using SequenceRef = std::shared_ptr<const Sequence>;
using DictRef = std::shared_ptr<const Dict>;
using GeneratorRef = std::shared_ptr<Generator>;
using MethodRef = std::shared_ptr<const Method>;

struct Value {
    std::variant<Undefined, None, bool, Integer, double, StringRef, SequenceRef, DictRef,
                 GeneratorRef, Range, MethodRef, Builtin, Namespace*, Loop*, const Macro*>
        data;

    template <class T>
    bool is() const {
        return std::holds_alternative<T>(data);
    }
    template <class T>
    const T& as() const {
        return *std::get_if<T>(&data);
    }
    template <class T>
    const T* get() const {
        return std::get_if<T>(&data);
    }
    bool is_undefined() const { return is<Undefined>(); }
    const String* string() const { return is<StringRef>() ? as<StringRef>().get() : nullptr; }
    const Sequence* sequence() const {
        return is<SequenceRef>() ? as<SequenceRef>().get() : nullptr;
    }
    const Dict* dict() const { return is<DictRef>() ? as<DictRef>().get() : nullptr; }
};

// A method looked up on a value: 'x'.strip, before the call.
struct Method {
    Value self;
    std::string name;
};

// What namespace() makes: attributes that templates may set from inner scopes.
struct Namespace {
    std::vector<std::pair<std::string, Value>> attributes;
    const Value* find(std::string_view name) const;
    void set(std::string_view name, Value value);
};

Value undefined(std::string message);
Value make_bool(bool b);
Value make_int(Integer i);
Value make_string(std::string text, bool markup = false);

bool is_number(const Value& value);                     // bool, int, float, as in Python
std::optional<Integer> as_integer(const Value& value);  // bool or int
std::optional<double> as_double(const Value& value);    // bool, int or float
Extent extent_of(const Value& value);

bool truthy(const Value& value);
bool equal(const Value& a, const Value& b);
// -1, 0, 1, or 2 for NaN; an error for types that Python does not order. `op` is for its text.
Result<int> compare(const Value& a, const Value& b, std::string_view op);
bool hashable(const Value& value);

std::string type_name(const Value& value);    // as in Python's messages: 'str', 'NoneType'
std::string object_name(const Value& value);  // as in Jinja's messages: 'str object', 'None'

}  // namespace minfer::jinja

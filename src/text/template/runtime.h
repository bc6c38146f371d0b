#pragma once
// What one rendering may still spend, and the makers of values that spend it.

#include <ctime>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/template/value.h"

namespace minfer::jinja {

// Arguments of a call, a filter or a test after evaluation.
struct Args {
    std::vector<Value> positional;
    std::vector<std::pair<std::string, Value>> named;
};

class Runtime {
  public:
    Runtime(int64_t steps, size_t memory_bytes, std::optional<std::tm> now)
        : steps_(steps), memory_bytes_(memory_bytes), now_(now) {}

    // An error once the limits given at the start are spent.
    Result<> charge(int64_t steps, size_t bytes = 0);
    // The cost of walking `value` once (comparing, printing).
    Result<> charge_walk(const Value& value) { return charge(extent_of(value).weight); }

    Result<Value> string(std::string text, bool markup = false);
    Result<Value> sequence(std::vector<Value> items, Sequence::Form form = Sequence::Form::List);
    Result<Value> generator(std::vector<Value> items);
    Result<Value> dict(Dict dict);
    // The values of anything that Python can iterate; a generator is used up.
    Result<std::vector<Value>> items(const Value& iterable);

    std::tm now() const;

    // Whether the error on its way up already says where it happened (or must not: the text of
    // raise_exception is the template's own).
    bool error_is_placed = false;

  private:
    int64_t steps_;
    size_t memory_bytes_;
    std::optional<std::tm> now_;
};

// Walks what a for loop can walk, without copying it. Keeps the walked value alive.
class Cursor {
  public:
    static Result<Cursor> over(const Value& iterable);
    std::optional<Value> next();
    // The number of values in all; nullopt for a generator.
    std::optional<int64_t> size() const;

  private:
    explicit Cursor(Value source) : source_(std::move(source)) {}
    Value source_;
    size_t at_ = 0;
};

// Named parameters of a filter or method, in order: value or nullopt. An error for too many,
// unknown, double, or fewer than `required` arguments.
Result<std::vector<std::optional<Value>>> bind(std::string_view callee, const Args& args,
                                               std::initializer_list<std::string_view> parameters,
                                               size_t required);

std::unexpected<Error> undefined_error(const Value& value);  // value.is_undefined()

}  // namespace minfer::jinja

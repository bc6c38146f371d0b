#include "text/template/runtime.h"

#include <algorithm>

#include "text/template/unicode.h"

namespace minfer::jinja {

Result<> Runtime::charge(int64_t steps, size_t bytes) {
    if (steps > steps_) {
        steps_ = 0;
        return fail(Fault::BadInput, "the template takes more steps than allowed");
    }
    if (bytes > memory_bytes_) {
        memory_bytes_ = 0;
        return fail(Fault::BadInput, "the template takes more memory than allowed");
    }
    steps_ -= steps;
    memory_bytes_ -= bytes;
    return {};
}

Result<Value> Runtime::string(std::string text, bool markup) {
    MINFER_TRY(charge(1 + static_cast<int64_t>(text.size() / 64), sizeof(String) + text.size()));
    return make_string(std::move(text), markup);
}

namespace {

Result<Extent> extent_of_all(const std::vector<Value>& items) {
    auto extent = Extent{.depth = 1};
    for (const auto& item : items) extent.contain(extent_of(item));
    if (!extent.allowed())
        return fail(Fault::BadInput, "a value nests deeper or grows larger than allowed");
    return extent;
}

}  // namespace

Result<Value> Runtime::sequence(std::vector<Value> items, Sequence::Form form) {
    MINFER_TRY(charge(1 + static_cast<int64_t>(items.size()),
                      sizeof(Sequence) + items.size() * sizeof(Value)));
    const auto extent = MINFER_TRY(extent_of_all(items));
    return Value{std::make_shared<const Sequence>(Sequence{form, std::move(items), extent})};
}

Result<Value> Runtime::generator(std::vector<Value> items) {
    MINFER_TRY(charge(1 + static_cast<int64_t>(items.size()),
                      sizeof(Generator) + items.size() * sizeof(Value)));
    const auto extent = MINFER_TRY(extent_of_all(items));
    return Value{std::make_shared<Generator>(
        Generator{.items = std::move(items), .next = 0, .extent = extent})};
}

Result<Value> Runtime::dict(Dict dict) {
    const size_t entries = dict.entries.size();
    MINFER_TRY(
        charge(1 + static_cast<int64_t>(entries), sizeof(Dict) + entries * 2 * sizeof(Value)));
    if (!dict.extent.allowed())
        return fail(Fault::BadInput, "a value nests deeper or grows larger than allowed");
    return Value{std::make_shared<const Dict>(std::move(dict))};
}

Result<std::vector<Value>> Runtime::items(const Value& iterable) {
    auto cursor = MINFER_TRY(Cursor::over(iterable));
    std::vector<Value> out;
    while (auto item = cursor.next()) {
        MINFER_TRY(charge(1, sizeof(Value)));
        out.push_back(*std::move(item));
    }
    return out;
}

std::tm Runtime::now() const {
    if (now_) return *now_;
    const std::time_t seconds = std::time(nullptr);
    std::tm local{};
    ::localtime_r(&seconds, &local);
    return local;
}

Result<Cursor> Cursor::over(const Value& iterable) {
    if (iterable.is_undefined() || iterable.string() || iterable.sequence() || iterable.dict() ||
        iterable.is<GeneratorRef>() || iterable.is<Range>())
        return Cursor(iterable);
    return fail(Fault::BadInput, "'{}' object is not iterable", type_name(iterable));
}

std::optional<Value> Cursor::next() {
    if (const auto* s = source_.string()) {
        if (at_ >= s->text.size()) return std::nullopt;
        const size_t start = at_;
        next_point(s->text, at_);
        return make_string(s->text.substr(start, at_ - start));
    }
    if (const auto* sequence = source_.sequence()) {
        if (at_ >= sequence->items.size()) return std::nullopt;
        return sequence->items[at_++];
    }
    if (const auto* dict = source_.dict()) {
        if (at_ >= dict->entries.size()) return std::nullopt;
        return dict->entries[at_++].first;
    }
    if (const auto* generator = source_.get<GeneratorRef>()) {
        auto& g = **generator;
        if (g.next >= g.items.size()) return std::nullopt;
        return g.items[g.next++];
    }
    if (const auto* range = source_.get<Range>()) {
        if (static_cast<int64_t>(at_) >= range->size()) return std::nullopt;
        return make_int(range->at(static_cast<int64_t>(at_++)));
    }
    return std::nullopt;
}

std::optional<int64_t> Cursor::size() const {
    if (const auto* s = source_.string()) return static_cast<int64_t>(count_points(s->text));
    if (const auto* sequence = source_.sequence())
        return static_cast<int64_t>(sequence->items.size());
    if (const auto* dict = source_.dict()) return static_cast<int64_t>(dict->entries.size());
    if (const auto* range = source_.get<Range>()) return range->size();
    if (source_.is_undefined()) return 0;
    return std::nullopt;
}

Result<std::vector<std::optional<Value>>> bind(std::string_view callee, const Args& args,
                                               std::initializer_list<std::string_view> parameters,
                                               size_t required) {
    std::vector<std::optional<Value>> out(parameters.size());
    if (args.positional.size() > parameters.size())
        return fail(Fault::BadInput, "{} takes at most {} arguments ({} given)", callee,
                    parameters.size(), args.positional.size());
    std::ranges::copy(args.positional, out.begin());
    for (const auto& [name, value] : args.named) {
        const auto found = std::ranges::find(parameters, name);
        if (found == parameters.end())
            return fail(Fault::BadInput, "{} has no argument '{}'", callee, name);
        auto& slot = out[static_cast<size_t>(found - parameters.begin())];
        if (slot) return fail(Fault::BadInput, "{} got two values for '{}'", callee, name);
        slot = value;
    }
    for (size_t i = 0; i < required; ++i)
        if (!out[i])
            return fail(Fault::BadInput, "{} needs the argument '{}'", callee,
                        parameters.begin()[i]);
    return out;
}

std::unexpected<Error> undefined_error(const Value& value) {
    return fail(Fault::BadInput, "{}", *value.as<Undefined>().message);
}

}  // namespace minfer::jinja

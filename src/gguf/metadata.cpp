#include "gguf/metadata.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/printable.h"

namespace minfer::gguf {
namespace {

struct TypeRow {
    ValueType type;
    std::string_view name, plural;
    size_t bytes;
};
constexpr TypeRow kTypes[] = {
    {ValueType::U8, "u8", "u8", 1},
    {ValueType::I8, "i8", "i8", 1},
    {ValueType::U16, "u16", "u16", 2},
    {ValueType::I16, "i16", "i16", 2},
    {ValueType::U32, "u32", "u32", 4},
    {ValueType::I32, "i32", "i32", 4},
    {ValueType::F32, "f32", "f32", 4},
    {ValueType::Bool, "bool", "bools", 1},
    {ValueType::String, "string", "strings", 0},
    {ValueType::Array, "array", "arrays", 0},
    {ValueType::U64, "u64", "u64", 8},
    {ValueType::I64, "i64", "i64", 8},
    {ValueType::F64, "f64", "f64", 8},
};

const TypeRow& row(ValueType type) {
    const auto* const found = std::ranges::find(kTypes, type, &TypeRow::type);
    MINFER_ASSERT(found != std::end(kTypes));
    return *found;
}

template <class T>
T load(std::span<const std::byte> bytes, uint64_t index) {
    T value;
    std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
    return value;
}

template <class To, class From>
std::optional<To> fit(From value) {
    if (!std::in_range<To>(value)) return std::nullopt;
    return static_cast<To>(value);
}

template <class To>
std::optional<To> load_integer(ValueType type, std::span<const std::byte> bytes, uint64_t index) {
    switch (type) {
        case ValueType::U8:
            return fit<To>(load<uint8_t>(bytes, index));
        case ValueType::I8:
            return fit<To>(load<int8_t>(bytes, index));
        case ValueType::U16:
            return fit<To>(load<uint16_t>(bytes, index));
        case ValueType::I16:
            return fit<To>(load<int16_t>(bytes, index));
        case ValueType::U32:
            return fit<To>(load<uint32_t>(bytes, index));
        case ValueType::I32:
            return fit<To>(load<int32_t>(bytes, index));
        case ValueType::U64:
            return fit<To>(load<uint64_t>(bytes, index));
        case ValueType::I64:
            return fit<To>(load<int64_t>(bytes, index));
        case ValueType::F32:
        case ValueType::F64:
        case ValueType::Bool:
        case ValueType::String:
        case ValueType::Array:
            return std::nullopt;
    }
    std::unreachable();
}

std::string_view text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string_view name(ValueType type) { return row(type).name; }
size_t scalar_bytes(ValueType type) { return row(type).bytes; }

Value Value::scalar(ValueType type, std::span<const std::byte> encoded) {
    Value value;
    value.type_ = type;
    value.encoded_ = encoded;
    return value;
}

Value Value::array(ValueType element, uint64_t count, std::span<const std::byte> encoded,
                   std::vector<std::string_view> strings) {
    Value value;
    value.type_ = element;
    value.is_array_ = true;
    value.count_ = count;
    value.encoded_ = encoded;
    value.strings_ = std::move(strings);
    return value;
}

std::optional<uint64_t> Value::as_uint(uint64_t index) const {
    MINFER_ASSERT(index < count_);
    return load_integer<uint64_t>(type_, encoded_, index);
}

std::optional<int64_t> Value::as_int(uint64_t index) const {
    MINFER_ASSERT(index < count_);
    return load_integer<int64_t>(type_, encoded_, index);
}

std::optional<double> Value::as_float(uint64_t index) const {
    MINFER_ASSERT(index < count_);
    if (type_ == ValueType::F32) return load<float>(encoded_, index);
    if (type_ == ValueType::F64) return load<double>(encoded_, index);
    if (const auto number = load_integer<int64_t>(type_, encoded_, index))
        return static_cast<double>(*number);
    if (const auto number = load_integer<uint64_t>(type_, encoded_, index))
        return static_cast<double>(*number);
    return std::nullopt;
}

std::optional<bool> Value::as_bool(uint64_t index) const {
    MINFER_ASSERT(index < count_);
    if (type_ != ValueType::Bool) return std::nullopt;
    return load<uint8_t>(encoded_, index) != 0;
}

std::optional<std::string_view> Value::as_string(uint64_t index) const {
    MINFER_ASSERT(index < count_);
    if (type_ != ValueType::String) return std::nullopt;
    return is_array_ ? strings_[index] : text_of(encoded_.subspan(sizeof(uint64_t)));
}

std::string Value::describe_type() const {
    if (!is_array_) return std::string(row(type_).name);
    return fmt::format("array of {} {}", count_, count_ == 1 ? row(type_).name : row(type_).plural);
}

std::string Value::describe(size_t max_elements, size_t max_text) const {
    const auto element = [&](uint64_t index) -> std::string {
        if (const auto text = as_string(index)) return printable(*text, max_text);
        if (const auto flag = as_bool(index)) return *flag ? "true" : "false";
        if (const auto number = as_int(index)) return fmt::format("{}", *number);
        if (const auto number = as_uint(index)) return fmt::format("{}", *number);
        if (type_ == ValueType::F32) return fmt::format("{}", load<float>(encoded_, index));
        return fmt::format("{}", *as_float(index));
    };
    if (!is_array_) return element(0);
    std::string text = "[";
    const uint64_t shown = std::min<uint64_t>(count_, max_elements);
    for (uint64_t i = 0; i < shown; ++i) text += (i > 0 ? ", " : "") + element(i);
    if (shown < count_) text += fmt::format("{}… {} in all", shown > 0 ? ", " : "", count_);
    return text + "]";
}

Result<Metadata> Metadata::make(std::vector<Entry> entries) {
    Metadata metadata;
    metadata.entries_ = std::move(entries);
    for (size_t i = 0; i < metadata.entries_.size(); ++i) {
        const auto [first, fresh] = metadata.index_.emplace(metadata.entries_[i].key, i);
        if (!fresh)
            return fail(Fault::BadInput, "key {} occurs twice (entries {} and {}), expected once",
                        printable(first->first), first->second, i);
    }
    return metadata;
}

const Value* Metadata::find(std::string_view key) const {
    const auto found = index_.find(key);
    return found == index_.end() ? nullptr : &entries_[found->second].value;
}

template <class T, class Convert>
Result<T> Metadata::get(std::string_view key, std::string_view wanted, Convert convert) const {
    const auto* const value = find(key);
    if (!value)
        return fail(Fault::NotFound, "key {} is missing, expected {}", printable(key), wanted);
    std::optional<T> converted;
    if (!value->is_array()) converted = convert(*value, uint64_t{0});
    if (!converted)
        return fail(Fault::BadInput, "key {} is {} ({}), expected {}", printable(key),
                    value->describe(), value->describe_type(), wanted);
    return *std::move(converted);
}

Result<uint64_t> Metadata::get_uint(std::string_view key, uint64_t max) const {
    const auto wanted = max == UINT64_MAX ? std::string("an integer of at least 0")
                                          : fmt::format("an integer from 0 to {}", max);
    return get<uint64_t>(key, wanted, [max](const Value& value, uint64_t i) {
        const auto number = value.as_uint(i);
        return number && *number <= max ? number : std::nullopt;
    });
}

Result<int64_t> Metadata::get_int(std::string_view key) const {
    return get<int64_t>(key, "an integer",
                        [](const Value& value, uint64_t i) { return value.as_int(i); });
}

Result<double> Metadata::get_float(std::string_view key) const {
    return get<double>(key, "a number",
                       [](const Value& value, uint64_t i) { return value.as_float(i); });
}

Result<bool> Metadata::get_bool(std::string_view key) const {
    return get<bool>(key, "a bool",
                     [](const Value& value, uint64_t i) { return value.as_bool(i); });
}

Result<std::string_view> Metadata::get_string(std::string_view key) const {
    return get<std::string_view>(key, "a string",
                                 [](const Value& value, uint64_t i) { return value.as_string(i); });
}

Result<uint64_t> Metadata::get_uint_or(std::string_view key, uint64_t fallback,
                                       uint64_t max) const {
    if (!has(key)) return fallback;
    return get_uint(key, max);
}

Result<int64_t> Metadata::get_int_or(std::string_view key, int64_t fallback) const {
    if (!has(key)) return fallback;
    return get_int(key);
}

Result<double> Metadata::get_float_or(std::string_view key, double fallback) const {
    if (!has(key)) return fallback;
    return get_float(key);
}

Result<bool> Metadata::get_bool_or(std::string_view key, bool fallback) const {
    if (!has(key)) return fallback;
    return get_bool(key);
}

Result<std::string_view> Metadata::get_string_or(std::string_view key,
                                                 std::string_view fallback) const {
    if (!has(key)) return fallback;
    return get_string(key);
}

template <class T, class Convert>
Result<std::vector<T>> Metadata::get_array(std::string_view key, std::string_view wanted,
                                           Convert convert) const {
    const auto* const value = find(key);
    if (!value)
        return fail(Fault::NotFound, "key {} is missing, expected an array of {}", printable(key),
                    wanted);
    if (!value->is_array())
        return fail(Fault::BadInput, "key {} is {}, expected an array of {}", printable(key),
                    value->describe_type(), wanted);
    std::vector<T> elements;
    elements.reserve(value->size());  // the reader has seen that many elements in the file
    for (uint64_t i = 0; i < value->size(); ++i) {
        const auto element = convert(*value, i);
        if (!element)
            return fail(Fault::BadInput, "key {} is {}; element {} does not fit, expected {}",
                        printable(key), value->describe_type(), i, wanted);
        elements.push_back(static_cast<T>(*element));
    }
    return elements;
}

Result<std::vector<int64_t>> Metadata::get_ints(std::string_view key) const {
    return get_array<int64_t>(key, "integers",
                              [](const Value& value, uint64_t i) { return value.as_int(i); });
}

Result<std::vector<float>> Metadata::get_floats(std::string_view key) const {
    return get_array<float>(key, "numbers",
                            [](const Value& value, uint64_t i) { return value.as_float(i); });
}

Result<std::vector<bool>> Metadata::get_bools(std::string_view key) const {
    return get_array<bool>(key, "bools",
                           [](const Value& value, uint64_t i) { return value.as_bool(i); });
}

Result<std::span<const std::string_view>> Metadata::get_strings(std::string_view key) const {
    const auto* const value = find(key);
    if (!value)
        return fail(Fault::NotFound, "key {} is missing, expected an array of strings",
                    printable(key));
    if (!value->is_array() || value->type() != ValueType::String)
        return fail(Fault::BadInput, "key {} is {}, expected an array of strings", printable(key),
                    value->describe_type());
    return value->strings();
}

}  // namespace minfer::gguf

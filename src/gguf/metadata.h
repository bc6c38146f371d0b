#pragma once
// Typed key-value pairs of a GGUF file. Nothing is copied: strings and arrays are views over the
// bytes of the file and live as long as the File they came from.

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"

namespace minfer::gguf {

enum class ValueType : uint32_t {  // numbered as in the files
    U8 = 0,
    I8 = 1,
    U16 = 2,
    I16 = 3,
    U32 = 4,
    I32 = 5,
    F32 = 6,
    Bool = 7,
    String = 8,
    Array = 9,
    U64 = 10,
    I64 = 11,
    F64 = 12,
};

std::string_view name(ValueType type);
// Bytes of one scalar; 0 for String and Array.
size_t scalar_bytes(ValueType type);

// One value, or an array of values of one type. Accessors take the index of an array's element; a
// scalar is element 0. They return nothing when the type or the value does not fit.
class Value {
  public:
    // `encoded` is the value as it lies in the file after its type tag (for an array: after the
    // element type and count), already checked; `strings` its string elements.
    static Value scalar(ValueType type, std::span<const std::byte> encoded);
    static Value array(ValueType element, uint64_t count, std::span<const std::byte> encoded,
                       std::vector<std::string_view> strings);

    ValueType type() const { return type_; }  // of the elements, for an array; never Array
    bool is_array() const { return is_array_; }
    uint64_t size() const { return count_; }  // 1 for a scalar
    std::span<const std::byte> encoded() const { return encoded_; }

    std::optional<uint64_t> as_uint(uint64_t index = 0) const;  // any integer type, if it fits
    std::optional<int64_t> as_int(uint64_t index = 0) const;
    std::optional<double> as_float(uint64_t index = 0) const;  // f32, f64 or any integer type
    std::optional<bool> as_bool(uint64_t index = 0) const;
    std::optional<std::string_view> as_string(uint64_t index = 0) const;
    // Elements of a string array; empty for anything else.
    std::span<const std::string_view> strings() const { return strings_; }

    // "u32", "array of 3 strings"
    std::string describe_type() const;
    // The value for a person: strings quoted and cut, arrays with their first elements.
    std::string describe(size_t max_elements = 8, size_t max_text = 80) const;

  private:
    ValueType type_ = ValueType::U8;
    bool is_array_ = false;
    uint64_t count_ = 1;
    std::span<const std::byte> encoded_;
    std::vector<std::string_view> strings_;
};

struct Entry {
    std::string_view key;
    Value value;
};

// Keys in file order. The getters convert: an integer may be stored in any width and sign that
// holds the value, a float also as an integer. A missing key is NotFound; a value of another type
// or out of range is BadInput. `…_or` gives the fallback only for a missing key, never for a bad
// one.
class Metadata {
  public:
    // Refuses a key that occurs twice.
    static Result<Metadata> make(std::vector<Entry> entries);

    std::span<const Entry> entries() const { return entries_; }
    const Value* find(std::string_view key) const;  // nullptr when absent
    bool has(std::string_view key) const { return find(key) != nullptr; }

    Result<uint64_t> get_uint(std::string_view key, uint64_t max = UINT64_MAX) const;
    Result<int64_t> get_int(std::string_view key) const;
    Result<double> get_float(std::string_view key) const;
    Result<bool> get_bool(std::string_view key) const;
    Result<std::string_view> get_string(std::string_view key) const;

    Result<uint64_t> get_uint_or(std::string_view key, uint64_t fallback,
                                 uint64_t max = UINT64_MAX) const;
    Result<int64_t> get_int_or(std::string_view key, int64_t fallback) const;
    Result<double> get_float_or(std::string_view key, double fallback) const;
    Result<bool> get_bool_or(std::string_view key, bool fallback) const;
    Result<std::string_view> get_string_or(std::string_view key, std::string_view fallback) const;

    // Arrays. The string views are borrowed; the numbers are converted and copied.
    Result<std::span<const std::string_view>> get_strings(std::string_view key) const;
    Result<std::vector<int64_t>> get_ints(std::string_view key) const;
    Result<std::vector<float>> get_floats(std::string_view key) const;
    Result<std::vector<bool>> get_bools(std::string_view key) const;

  private:
    template <class T, class Convert>
    Result<T> get(std::string_view key, std::string_view wanted, Convert convert) const;
    template <class T, class Convert>
    Result<std::vector<T>> get_array(std::string_view key, std::string_view wanted,
                                     Convert convert) const;

    std::vector<Entry> entries_;
    std::map<std::string_view, size_t> index_;  // ordered: no worst case an attacker can choose
};

}  // namespace minfer::gguf

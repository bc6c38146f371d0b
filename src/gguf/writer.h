#pragma once
// Writes GGUF v3 files: keys and tensors in the order given, the same bytes every time. Tensor
// data may be streamed, so a file larger than memory can be written.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "gguf/metadata.h"
#include "tensor/dtype.h"

namespace minfer::gguf {

// Takes the next bytes of a tensor.
using Sink = std::function<Result<>(std::span<const std::byte>)>;
// Delivers all bytes of a tensor, in order and in pieces of any size, to `sink`.
using Producer = std::function<Result<>(const Sink& sink)>;

// The stored type of a C++ number.
template <class T>
consteval ValueType value_type() {
    if constexpr (std::is_same_v<T, bool>) return ValueType::Bool;
    if constexpr (std::is_same_v<T, float>) return ValueType::F32;
    if constexpr (std::is_same_v<T, double>) return ValueType::F64;
    constexpr bool negative = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1) return negative ? ValueType::I8 : ValueType::U8;
    if constexpr (sizeof(T) == 2) return negative ? ValueType::I16 : ValueType::U16;
    if constexpr (sizeof(T) == 4) return negative ? ValueType::I32 : ValueType::U32;
    if constexpr (sizeof(T) == 8) return negative ? ValueType::I64 : ValueType::U64;
}

class Writer {
  public:
    // Setting a key again replaces its value and keeps its place. `general.alignment` (u32, a
    // power of two, multiple of 8) decides the padding of the tensors; 32 without it.
    template <class T>
        requires std::is_arithmetic_v<T>
    void set(std::string_view key, T value) {
        put_scalar(key, value_type<T>(), std::as_bytes(std::span(&value, 1)));
    }
    void set(std::string_view key, std::string_view text);
    void set(std::string_view key, const char* text) { set(key, std::string_view(text)); }
    template <class T>
        requires std::is_arithmetic_v<T>
    void set_array(std::string_view key, std::span<const T> values) {
        put_array(key, value_type<T>(), values.size(), std::as_bytes(values));
    }
    void set_array(std::string_view key, std::span<const std::string> values);
    void set_array(std::string_view key, std::span<const std::string_view> values);
    template <class T>
    void set_array(std::string_view key, const std::vector<T>& values) {
        set_array(key, std::span<const T>(values));
    }
    // A value read from another file, as it is.
    void set(std::string_view key, const Value& value);
    void remove(std::string_view key);

    // Dimensions in file order (the row first), 1 to 4. `data` is borrowed until the file is
    // written. Refused: what the reader would refuse, and data of the wrong length.
    Result<> add_tensor(std::string_view name, DType dtype, std::span<const uint64_t> shape,
                        std::span<const std::byte> data);
    Result<> add_tensor(std::string_view name, DType dtype, std::initializer_list<uint64_t> shape,
                        std::span<const std::byte> data) {
        return add_tensor(name, dtype, std::span(shape.begin(), shape.size()), data);
    }
    // `producer` is called once per write and must deliver exactly the tensor's bytes.
    Result<> add_tensor(std::string_view name, DType dtype, std::span<const uint64_t> shape,
                        Producer producer);

    // Under a temporary name in the same folder, renamed over `path` once complete.
    Result<> write(const std::filesystem::path& path) const;
    Result<std::vector<std::byte>> bytes() const;

  private:
    struct Key {
        std::string name;
        std::string encoded;  // type tag and value
    };
    struct Tensor {
        std::string name;
        DType dtype;
        std::vector<uint64_t> shape;
        uint64_t bytes;
        Producer producer;
    };

    void put(std::string_view key, std::string encoded);
    void put_scalar(std::string_view key, ValueType type, std::span<const std::byte> bytes);
    void put_array(std::string_view key, ValueType type, uint64_t count,
                   std::span<const std::byte> bytes);
    Result<uint32_t> alignment() const;
    Result<> stream(const Sink& sink) const;

    std::vector<Key> keys_;
    std::vector<Tensor> tensors_;
    std::set<std::string, std::less<>> names_;
};

}  // namespace minfer::gguf

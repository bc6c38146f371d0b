#pragma once
// Writes GGUF v3 files: keys and tensors in the order given, the same bytes every time. Tensor
// data may be streamed, so a file larger than memory can be written.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
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

class Writer {
  public:
    // Setting a key again replaces its value and keeps its place. `general.alignment` (u32, a
    // power of two, multiple of 8) decides the padding of the tensors; 32 without it.
    template <class T>
        requires std::is_arithmetic_v<T>
    void set(std::string_view key, T value);
    void set(std::string_view key, std::string_view text);
    void set(std::string_view key, const char* text) { set(key, std::string_view(text)); }
    template <class T>
        requires std::is_arithmetic_v<T>
    void set_array(std::string_view key, std::span<const T> values);
    void set_array(std::string_view key, std::span<const std::string> values);
    void set_array(std::string_view key, std::span<const std::string_view> values);
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
    Result<uint32_t> alignment() const;
    Result<> stream(const Sink& sink) const;

    std::vector<Key> keys_;
    std::vector<Tensor> tensors_;
};

}  // namespace minfer::gguf

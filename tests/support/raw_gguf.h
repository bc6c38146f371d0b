#pragma once
// GGUF bytes put together by hand, so that a test can lie in any one field.

#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "gguf/metadata.h"

namespace minfer::gguf {

template <class T>
    requires std::is_arithmetic_v<T>
std::string raw(T value) {
    std::string bytes(sizeof(T), '\0');
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
}

inline std::string raw_text(std::string_view text) {
    return raw<uint64_t>(text.size()) + std::string(text);
}

template <class T>
std::string raw_key(std::string_view key, ValueType type, T value) {
    return raw_text(key) + raw(std::to_underlying(type)) + raw(value);
}

inline std::string raw_array(std::string_view key, ValueType element, uint64_t count,
                             std::string_view elements) {
    return raw_text(key) + raw(std::to_underlying(ValueType::Array)) +
           raw(std::to_underlying(element)) + raw(count) + std::string(elements);
}

inline std::vector<std::byte> raw_bytes(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

inline void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    MINFER_ASSERT(out.good());
}

struct RawTensor {  // as it stands, a valid tensor of 16 bytes at the start of the data
    std::string name = "w";
    uint32_t type = 0;
    std::vector<uint64_t> shape = {4};
    uint64_t offset = 0;
};

struct RawGguf {
    uint32_t version = 3;
    std::optional<uint64_t> tensor_count = std::nullopt, key_count = std::nullopt;  // lies
    std::vector<std::string> keys = {};
    std::vector<RawTensor> tensors = {};
    std::string data = {};

    std::vector<std::byte> bytes() const {
        auto text = "GGUF" + raw(version) + raw(tensor_count.value_or(tensors.size())) +
                    raw(key_count.value_or(keys.size()));
        for (const auto& key : keys) text += key;
        for (const auto& tensor : tensors) {
            text += raw_text(tensor.name) + raw(static_cast<uint32_t>(tensor.shape.size()));
            for (const auto extent : tensor.shape) text += raw(extent);
            text += raw(tensor.type) + raw(tensor.offset);
        }
        if (!tensors.empty()) text.resize((text.size() + 31) / 32 * 32, '\0');
        return raw_bytes(text + data);
    }
};

}  // namespace minfer::gguf

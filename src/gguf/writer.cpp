#include "gguf/writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/atomic_file.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "gguf/header.h"

namespace minfer::gguf {
namespace {

template <class T>
void append(std::string& bytes, T value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    bytes.append(raw, sizeof(T));
}

void append_text(std::string& bytes, std::string_view text) {
    append<uint64_t>(bytes, text.size());
    bytes += text;
}

void append_type(std::string& bytes, ValueType type) { append(bytes, std::to_underlying(type)); }

template <class T>
std::string encode_texts(std::span<const T> values) {
    std::string encoded;
    append_type(encoded, ValueType::Array);
    append_type(encoded, ValueType::String);
    append<uint64_t>(encoded, values.size());
    for (const auto& value : values) append_text(encoded, value);
    return encoded;
}

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

uint64_t padding(uint64_t bytes, uint64_t alignment) {
    return (alignment - bytes % alignment) % alignment;
}

}  // namespace

void Writer::put(std::string_view key, std::string encoded) {
    const auto same = std::ranges::find(keys_, key, &Key::name);
    if (same != keys_.end())
        same->encoded = std::move(encoded);
    else
        keys_.push_back({std::string(key), std::move(encoded)});
}

void Writer::put_scalar(std::string_view key, ValueType type, std::span<const std::byte> bytes) {
    std::string encoded;
    append_type(encoded, type);
    encoded.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    put(key, std::move(encoded));
}

void Writer::put_array(std::string_view key, ValueType type, uint64_t count,
                       std::span<const std::byte> bytes) {
    std::string encoded;
    append_type(encoded, ValueType::Array);
    append_type(encoded, type);
    append(encoded, count);
    encoded.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    put(key, std::move(encoded));
}

void Writer::set(std::string_view key, std::string_view text) {
    std::string encoded;
    append_type(encoded, ValueType::String);
    append_text(encoded, text);
    put(key, std::move(encoded));
}

void Writer::set_array(std::string_view key, std::span<const std::string> values) {
    put(key, encode_texts(values));
}

void Writer::set_array(std::string_view key, std::span<const std::string_view> values) {
    put(key, encode_texts(values));
}

void Writer::set(std::string_view key, const Value& value) {
    if (value.is_array())
        put_array(key, value.type(), value.size(), value.encoded());
    else
        put_scalar(key, value.type(), value.encoded());
}

void Writer::remove(std::string_view key) {
    std::erase_if(keys_, [&](const Key& entry) { return entry.name == key; });
}

Result<> Writer::add_tensor(std::string_view name, DType dtype, std::span<const uint64_t> shape,
                            Producer producer) {
    const auto what = fmt::format("tensor {}", printable(name));
    if (name.size() > kMaxNameBytes)
        return fail(Fault::BadInput, "{}: name of {} bytes, at most {} are allowed", what,
                    name.size(), kMaxNameBytes);
    if (!names_.emplace(name).second) return fail(Fault::BadInput, "{}: added twice", what);
    if (shape.empty() || shape.size() > 4)
        return fail(Fault::BadInput, "{}: {} dimensions, allowed are 1 to 4", what, shape.size());
    const auto& layout = info(dtype);
    if (shape[0] % layout.block_values != 0)
        return fail(Fault::BadInput, "{}: rows of {} values, {} needs a multiple of {}", what,
                    shape[0], layout.name, layout.block_values);
    uint64_t values = 1, bytes = 0;
    for (const auto extent : shape)
        if (extent == 0 || extent > INT64_MAX || __builtin_mul_overflow(values, extent, &values))
            return fail(Fault::BadInput, "{}: extents must be at least 1 and fit 64 bits together",
                        what);
    if (__builtin_mul_overflow(values / layout.block_values, uint64_t{layout.block_bytes}, &bytes))
        return fail(Fault::BadInput, "{}: more bytes than 64 bits count", what);
    tensors_.push_back({std::string(name), dtype, std::vector(shape.begin(), shape.end()), bytes,
                        std::move(producer)});
    return {};
}

Result<> Writer::add_tensor(std::string_view name, DType dtype, std::span<const uint64_t> shape,
                            std::span<const std::byte> data) {
    return add_tensor(name, dtype, shape, [data](const Sink& sink) { return sink(data); });
}

Result<uint32_t> Writer::alignment() const {
    const auto key = std::ranges::find(keys_, "general.alignment", &Key::name);
    if (key == keys_.end()) return kDefaultAlignment;
    if (key->encoded.size() != 8 || key->encoded[0] != static_cast<char>(ValueType::U32))
        return fail(Fault::BadInput, "key 'general.alignment' must be a u32");
    const auto value = Value::scalar(ValueType::U32, bytes_of(key->encoded).subspan(4));
    return check_alignment(&value);
}

Result<> Writer::stream(const Sink& sink) const {
    const auto align = MINFER_TRY(alignment());
    std::string head;
    append(head, kMagic);
    append(head, kVersion);
    append<uint64_t>(head, tensors_.size());
    append<uint64_t>(head, keys_.size());
    for (const auto& key : keys_) {
        if (key.name.empty() || find_invalid_utf8(key.name))
            return fail(Fault::BadInput, "key {}: expected UTF-8 and at least one byte",
                        printable(key.name));
        append_text(head, key.name);
        head += key.encoded;
    }
    uint64_t offset = 0;
    for (const auto& tensor : tensors_) {
        append_text(head, tensor.name);
        append(head, static_cast<uint32_t>(tensor.shape.size()));
        for (const auto extent : tensor.shape) append(head, extent);
        append(head, std::to_underlying(tensor.dtype));
        append(head, offset);
        offset += tensor.bytes + padding(tensor.bytes, align);
    }
    head.append(padding(head.size(), align), '\0');
    MINFER_TRY(sink(bytes_of(head)));

    for (const auto& tensor : tensors_) {
        uint64_t left = tensor.bytes;
        const Sink bounded = [&](std::span<const std::byte> bytes) -> Result<> {
            if (bytes.size() > left)
                return fail(Fault::BadInput, "{} bytes more than its {}", bytes.size() - left,
                            tensor.bytes);
            left -= bytes.size();
            return sink(bytes);
        };
        auto produced = tensor.producer(bounded);
        if (produced && left > 0)
            produced = fail(Fault::BadInput, "{} bytes less than its {}", left, tensor.bytes);
        if (!produced)
            return at(fmt::format("tensor {}", printable(tensor.name)),
                      std::move(produced).error());
        MINFER_TRY(sink(bytes_of(std::string(padding(tensor.bytes, align), '\0'))));
    }
    return {};
}

Result<std::vector<std::byte>> Writer::bytes() const {
    std::vector<std::byte> all;
    MINFER_TRY(stream([&](std::span<const std::byte> bytes) -> Result<> {
        all.insert(all.end(), bytes.begin(), bytes.end());
        return {};
    }));
    return all;
}

Result<> Writer::write(const std::filesystem::path& path) const {
    auto file = MINFER_TRY(AtomicFile::create(path, {.mode = new_file_mode(), .before_step = {}}));
    MINFER_TRY(stream([&](std::span<const std::byte> bytes) { return file.write(bytes); }));
    return file.commit();
}

}  // namespace minfer::gguf

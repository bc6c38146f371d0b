#include "gguf/header.h"

#include <bit>
#include <utility>

#include "base/byte_reader.h"
#include "base/printable.h"
#include "base/utf8.h"

namespace minfer::gguf {
namespace {

constexpr uint64_t kMaxStringBytes = uint64_t{1} << 30;
constexpr uint64_t kMaxArrayElements = uint64_t{1} << 30;
// The least a key and a tensor can take in a file, to bound their counts before anything is read:
// length, one character, type, one byte; length, dimension count, one dimension, type, offset.
constexpr uint64_t kMinKeyBytes = 8 + 1 + 4 + 1;
constexpr uint64_t kMinTensorBytes = 8 + 4 + 8 + 4 + 8;

std::string_view text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

uint64_t round_up(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

// Gives each error the name of what was being read; MINFER_TRY passes it on.
template <class T>
Result<T> named(std::string_view what, Result<T> result) {
    if (!result) return at(what, std::move(result).error());
    return result;
}

Result<std::string_view> read_string(ByteReader& in) {
    const auto length = MINFER_TRY(in.read<uint64_t>());
    if (length > kMaxStringBytes)
        return fail(Fault::BadInput, "string of {} bytes at byte {}, at most {} are allowed",
                    length, in.position(), kMaxStringBytes);
    if (length > in.left())
        return fail(Fault::BadInput, "string of {} bytes at byte {}, {} are left in the file",
                    length, in.position(), in.left());
    const auto bytes = MINFER_TRY(in.take(length));
    return text_of(bytes);
}

Result<ValueType> read_type(ByteReader& in) {
    const auto tag = MINFER_TRY(in.read<uint32_t>());
    if (tag > std::to_underlying(ValueType::F64))
        return fail(Fault::BadInput, "value type {}, known are 0 to {}", tag,
                    std::to_underlying(ValueType::F64));
    return static_cast<ValueType>(tag);
}

Result<> check_bools(std::span<const std::byte> bytes) {
    for (size_t i = 0; i < bytes.size(); ++i)
        if (std::to_integer<unsigned>(bytes[i]) > 1)
            return fail(Fault::BadInput, "bool {} is {}, expected 0 or 1", i,
                        std::to_integer<unsigned>(bytes[i]));
    return {};
}

Result<Value> read_array(ByteReader& in, std::span<const std::byte> all) {
    const auto element = MINFER_TRY(read_type(in));
    if (element == ValueType::Array)
        return fail(Fault::Unsupported, "array of arrays; arrays of scalars and strings are read");
    const auto count = MINFER_TRY(in.read<uint64_t>());
    if (count > kMaxArrayElements)
        return fail(Fault::BadInput, "array of {} elements, at most {} are allowed", count,
                    kMaxArrayElements);
    const auto start = in.position();
    if (const auto size = scalar_bytes(element); size > 0) {
        if (count > in.left() / size)
            return fail(Fault::BadInput, "array of {} {} at byte {}, {} bytes are left in the file",
                        count, name(element), start, in.left());
        const auto bytes = MINFER_TRY(in.take(count * size));
        if (element == ValueType::Bool) MINFER_TRY(check_bools(bytes));
        return Value::array(element, count, bytes, {});
    }
    if (count > in.left() / sizeof(uint64_t))  // each string has at least its length
        return fail(Fault::BadInput,
                    "array of {} strings at byte {}, {} bytes are left in the file", count, start,
                    in.left());
    std::vector<std::string_view> strings;
    strings.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
        const auto text = MINFER_TRY(named(fmt::format("element {}", i), read_string(in)));
        strings.push_back(text);
    }
    return Value::array(element, count, all.subspan(start, in.position() - start),
                        std::move(strings));
}

Result<Value> read_value(ByteReader& in, std::span<const std::byte> all) {
    const auto type = MINFER_TRY(read_type(in));
    if (type == ValueType::Array) return read_array(in, all);
    const auto start = in.position();
    if (type == ValueType::String) {
        MINFER_TRY(read_string(in));
        return Value::scalar(type, all.subspan(start, in.position() - start));
    }
    const auto bytes = MINFER_TRY(in.take(scalar_bytes(type)));
    if (type == ValueType::Bool) MINFER_TRY(check_bools(bytes));
    return Value::scalar(type, bytes);
}

Result<Metadata> read_metadata(ByteReader& in, std::span<const std::byte> all, uint64_t count) {
    std::vector<Entry> entries;  // grows with what is there, not with what is claimed
    for (uint64_t i = 0; i < count; ++i) {
        const auto key = MINFER_TRY(named(fmt::format("key {} of {}", i, count), read_string(in)));
        if (key.empty()) return fail(Fault::BadInput, "key {} of {} has no name", i, count);
        if (find_invalid_utf8(key))
            return fail(Fault::BadInput, "key {} of {}, {}, is not UTF-8", i, count,
                        printable(key));
        auto value = read_value(in, all);
        if (!value) return at(fmt::format("key {}", printable(key)), std::move(value).error());
        entries.push_back({key, *std::move(value)});
    }
    return Metadata::make(std::move(entries));
}

struct Placed {
    TensorInfo tensor;    // without its data
    uint64_t offset = 0;  // from the start of the data, as the file says
    uint64_t bytes = 0;
};

// Name, dimensions, type and offset, everything that can be judged without the other tensors.
Result<Placed> read_tensor(ByteReader& in, uint32_t alignment) {
    Placed placed;
    auto& tensor = placed.tensor;
    tensor.name = MINFER_TRY(named("name", read_string(in)));
    if (tensor.name.size() > kMaxNameBytes)
        return fail(Fault::BadInput, "name {} has {} bytes, at most {} are allowed",
                    printable(tensor.name), tensor.name.size(), kMaxNameBytes);
    const auto rest = [&]() -> Result<> {
        tensor.n_dims = MINFER_TRY(in.read<uint32_t>());
        if (tensor.n_dims < 1 || tensor.n_dims > 4)
            return fail(Fault::BadInput, "{} dimensions, allowed are 1 to 4", tensor.n_dims);
        for (uint32_t i = 0; i < tensor.n_dims; ++i) {
            tensor.shape[i] = MINFER_TRY(in.read<uint64_t>());
            if (tensor.shape[i] == 0 || tensor.shape[i] > INT64_MAX)
                return fail(Fault::BadInput, "dimension {} is {}, expected at least 1", i,
                            static_cast<int64_t>(tensor.shape[i]));
        }
        const auto type = MINFER_TRY(in.read<uint32_t>());
        const auto dtype = dtype_from_file(type);
        if (!dtype) {
            const auto removed = removed_dtype_name(type);
            return fail(
                Fault::Unsupported, "tensor type {} is {}", type,
                removed.empty() ? "unknown" : fmt::format("{}, removed from the format", removed));
        }
        tensor.dtype = *dtype;
        const auto& layout = info(*dtype);
        if (tensor.shape[0] % layout.block_values != 0)
            return fail(Fault::BadInput, "rows of {} values, {} needs a multiple of {}",
                        tensor.shape[0], layout.name, layout.block_values);
        uint64_t values = 1;
        for (const auto extent : tensor.shape)
            if (__builtin_mul_overflow(values, extent, &values))
                return fail(Fault::BadInput, "shape {} has more values than 64 bits count",
                            shape_text(tensor));
        if (__builtin_mul_overflow(values / layout.block_values, uint64_t{layout.block_bytes},
                                   &placed.bytes))
            return fail(Fault::BadInput, "shape {} of {} has more bytes than 64 bits count",
                        shape_text(tensor), layout.name);
        placed.offset = MINFER_TRY(in.read<uint64_t>());
        if (placed.offset % alignment != 0)
            return fail(Fault::BadInput, "offset {} is not a multiple of the alignment {}",
                        placed.offset, alignment);
        return {};
    }();
    if (!rest) return at(fmt::format("tensor {}", printable(tensor.name)), rest.error());
    return placed;
}

// Each tensor begins where the one before it, padded, ended; the last ends inside the file.
Result<> place_tensors(std::vector<Placed>& tensors, std::span<const std::byte> all,
                       uint64_t data_start, uint32_t alignment) {
    uint64_t expected = 0;
    std::string_view before;
    for (auto& [tensor, offset, bytes] : tensors) {
        if (offset != expected)
            return fail(Fault::BadInput, "tensor {}: begins at data byte {}, expected {} ({} {})",
                        printable(tensor.name), offset, expected,
                        offset < expected ? "overlap with" : "gap after",
                        before.empty() ? "the start" : printable(before));
        uint64_t end = 0;
        if (__builtin_add_overflow(data_start + offset, bytes, &end) || end > all.size())
            return fail(Fault::BadInput,
                        "tensor {}: {} {} needs {} bytes from byte {}, the file has {} ({} bytes "
                        "are missing: incomplete download?)",
                        printable(tensor.name), name(tensor.dtype), shape_text(tensor), bytes,
                        data_start + offset, all.size(),
                        bytes - (all.size() - std::min<uint64_t>(all.size(), data_start + offset)));
        tensor.data = all.subspan(data_start + offset, bytes);
        expected = round_up(offset + bytes, alignment);
        before = tensor.name;
    }
    return {};
}

Result<uint32_t> read_version(ByteReader& in) {
    const auto start = in.left();
    if (start < 4) return fail(Fault::BadInput, "not a GGUF file: only {} bytes", start);
    const auto magic = MINFER_TRY(in.take(4));
    if (text_of(magic) != "GGUF")
        return fail(Fault::BadInput, "not a GGUF file: begins with {}, expected 'GGUF'",
                    printable(text_of(magic)));
    const auto version = MINFER_TRY(named("version", in.read<uint32_t>()));
    if (const auto swapped = std::byteswap(version); version > 0xffff && swapped <= 0xffff)
        return fail(Fault::Unsupported,
                    "version {} in the other endianness: a big-endian file, little-endian is read",
                    swapped);
    if (version < 2 || version > kVersion)
        return fail(Fault::Unsupported, "GGUF version {}, versions 2 and {} are read{}", version,
                    kVersion, version == 1 ? "; convert the model again" : "");
    return version;
}

Result<uint64_t> read_count(ByteReader& in, std::string_view of, uint64_t min_bytes) {
    const auto count = MINFER_TRY(named(fmt::format("{} count", of), in.read<uint64_t>()));
    if (count > in.left() / min_bytes)
        return fail(Fault::BadInput, "{} count is {}, the {} bytes left hold at most {}", of,
                    static_cast<int64_t>(count), in.left(), in.left() / min_bytes);
    return count;
}

}  // namespace

Result<uint32_t> check_alignment(const Value* value) {
    if (!value) return kDefaultAlignment;
    const auto number = value->is_array() || value->type() != ValueType::U32
                            ? std::optional<uint64_t>()
                            : value->as_uint();
    if (!number || *number % 8 != 0 || !std::has_single_bit(*number))
        return fail(Fault::BadInput,
                    "key 'general.alignment' is {} ({}), expected a u32 that is a power of two and "
                    "a multiple of 8",
                    value->describe(), value->describe_type());
    return static_cast<uint32_t>(*number);
}

Result<Header> read_header(std::span<const std::byte> bytes) {
    Header header;
    ByteReader in(bytes);
    header.version = MINFER_TRY(read_version(in));
    const auto n_tensors = MINFER_TRY(read_count(in, "tensor", kMinTensorBytes));
    const auto n_keys = MINFER_TRY(read_count(in, "key", kMinKeyBytes));
    header.metadata = MINFER_TRY(read_metadata(in, bytes, n_keys));
    header.alignment = MINFER_TRY(check_alignment(header.metadata.find("general.alignment")));
    std::vector<Placed> placed;  // grows with what is there
    for (uint64_t i = 0; i < n_tensors; ++i) {
        auto tensor = MINFER_TRY(
            named(fmt::format("tensor {} of {}", i, n_tensors), read_tensor(in, header.alignment)));
        placed.push_back(std::move(tensor));
    }
    MINFER_TRY(
        place_tensors(placed, bytes, round_up(in.position(), header.alignment), header.alignment));
    header.tensors.reserve(placed.size());
    for (auto& tensor : placed) header.tensors.push_back(std::move(tensor.tensor));
    return header;
}

}  // namespace minfer::gguf

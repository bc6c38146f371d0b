#pragma once
// Reads little-endian values from bytes nobody vouches for: every length is checked against what
// is left before it is used.

#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/result.h"

namespace minfer {

static_assert(std::endian::native == std::endian::little, "file formats are read as they lie");

class ByteReader {
  public:
    explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    size_t position() const { return position_; }
    size_t left() const { return bytes_.size() - position_; }

    template <class T>
        requires std::is_arithmetic_v<T>
    Result<T> read() {
        const auto raw = MINFER_TRY(take(sizeof(T)));
        T value;
        std::memcpy(&value, raw.data(), sizeof(T));
        return value;
    }

    // The next `count` bytes, borrowed from the span this reader was made of.
    Result<std::span<const std::byte>> take(size_t count) {
        if (count > left())
            return fail(Fault::BadInput, "needs {} bytes at byte {}, {} are left", count, position_,
                        left());
        const auto taken = bytes_.subspan(position_, count);
        position_ += count;
        return taken;
    }

  private:
    std::span<const std::byte> bytes_;
    size_t position_ = 0;
};

}  // namespace minfer

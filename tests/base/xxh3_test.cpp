#include "base/xxh3.h"

#include <gtest/gtest.h>

#include <vector>

namespace minfer {
namespace {

std::vector<std::byte> some_bytes(size_t count) {
    auto bytes = std::vector<std::byte>(count);
    for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 31 + (i >> 8));
    return bytes;
}

uint64_t sum_of(std::span<const std::byte> bytes, size_t piece) {
    Xxh3 hash;
    for (; bytes.size() > piece; bytes = bytes.subspan(piece)) hash.add(bytes.first(piece));
    hash.add(bytes);
    return hash.sum();
}

TEST(Xxh3, IsTheHashThatOthersCompute) {
    // As `xxhsum -H3` prints it.
    EXPECT_EQ(Xxh3().sum(), 0x2d06800538d394c2u);
    const std::string_view text = "Once upon a time";
    EXPECT_EQ(sum_of(std::as_bytes(std::span(text)), 100), 0xdb6ad26f562987b0u);
}

TEST(Xxh3, DoesNotDependOnThePieces) {
    for (const size_t size : {0, 1, 16, 17, 128, 240, 241, 1024, 5000}) {
        const auto bytes = some_bytes(size);
        for (const size_t piece : {1, 3, 64, 256, 1000})
            EXPECT_EQ(sum_of(bytes, piece), sum_of(bytes, 10'000)) << size << ", " << piece;
    }
}

TEST(Xxh3, ChangesWithEveryBit) {
    auto bytes = some_bytes(300);
    const auto before = sum_of(bytes, 300);
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        bytes[bit / 8] ^= std::byte{1} << (bit % 8);
        EXPECT_NE(sum_of(bytes, 300), before) << bit;
        bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
}

}  // namespace
}  // namespace minfer

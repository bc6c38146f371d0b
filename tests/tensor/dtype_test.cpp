#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <set>

namespace minfer {
namespace {

TEST(DType, NumbersAndNamesFindTheirRows) {
    std::set<uint32_t> numbers;
    for (const auto& row : all_dtypes()) {
        const auto number = static_cast<uint32_t>(row.type);
        EXPECT_TRUE(numbers.insert(number).second) << row.name;
        EXPECT_EQ(dtype_from_file(number), row.type);
        EXPECT_EQ(dtype_from_name(row.name), row.type);
        EXPECT_EQ(name(row.type), row.name);
        EXPECT_TRUE(removed_dtype_name(number).empty());
    }
    EXPECT_EQ(dtype_from_name("q4_k"), DType::Q4_K);
    EXPECT_EQ(dtype_from_name("q4_K_M"), std::nullopt);
}

TEST(DType, EveryNumberUpToTheLastIsKnownOrRemoved) {
    for (uint32_t number = 0; number <= 41; ++number)
        EXPECT_NE(dtype_from_file(number).has_value(), !removed_dtype_name(number).empty())
            << number;
    EXPECT_EQ(dtype_from_file(42), std::nullopt);
    EXPECT_TRUE(removed_dtype_name(42).empty());
}

TEST(DType, RowsAreWholeBlocks) {
    EXPECT_EQ(row_bytes(DType::F32, 5), 20u);
    EXPECT_EQ(row_bytes(DType::Q8_0, 64), 68u);
    EXPECT_EQ(row_bytes(DType::Q6_K, 512), 420u);
}

}  // namespace
}  // namespace minfer

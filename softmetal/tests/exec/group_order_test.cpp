#include "softmetal/exec/group_order.h"

#include <gtest/gtest.h>

#include <vector>

namespace softmetal::exec {
namespace {

TEST(GroupOrder, IsAscendingWithoutASeed) {
    const auto order = GroupOrder(1000, 0);
    for (uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(order.at(i), i);
    EXPECT_EQ(order.salt(5), 0u);
}

TEST(GroupOrder, VisitsEveryGroupOnce) {
    for (const uint64_t count : {1, 2, 3, 5, 64, 1000, 4097}) {
        const auto order = GroupOrder(count, 42);
        auto seen = std::vector<int>(count);
        for (uint64_t i = 0; i < count; ++i) {
            ASSERT_LT(order.at(i), count);
            ++seen[order.at(i)];
        }
        for (const int times : seen) EXPECT_EQ(times, 1) << "of " << count;
    }
}

TEST(GroupOrder, DiffersBetweenSeeds) {
    int same = 0;
    for (uint64_t i = 0; i < 1000; ++i) {
        same += GroupOrder(1000, 1).at(i) == GroupOrder(1000, 2).at(i);
    }
    EXPECT_LT(same, 20);
}

}  // namespace
}  // namespace softmetal::exec

#include "graph/weight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace minfer::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(CheckWeight, WhatDoesNotFitItsShapeIsRefusedByName) {
    const auto bytes = std::vector<std::byte>(292);
    EXPECT_TRUE(check_weight({.name = "w", .shape = {73, 1, 1, 1}, .data = bytes}));
    const struct {
        Weight weight;
        const char* message;
    } bad[] = {
        {{.name = "w", .shape = {73, 1, 2, 1}, .data = bytes}, "shape [73, 1, 2, 1]"},
        {{.name = "w", .shape = {73, 1, 1, 2}, .data = bytes}, "shape [73, 1, 1, 2]"},
        {{.name = "w", .shape = {0, 1, 1, 1}, .data = bytes}, "shape [0, 1, 1, 1]"},
        {{.name = "w", .shape = {73, 0, 1, 1}, .data = bytes}, "shape [73, 0, 1, 1]"},
        {{.name = "w", .dtype = DType::Q4_0, .shape = {73, 1, 1, 1}, .data = bytes},
         "rows of 73 elements, Q4_0 needs multiples of 32"},
        {{.name = "w", .shape = {73, 2, 1, 1}, .data = bytes},
         "F32 [73, 2] takes 584 bytes, found 292"},
    };
    for (const auto& [weight, message] : bad) {
        const auto done = check_weight(weight);
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().fault, Fault::BadInput);
        EXPECT_THAT(done.error().what, AllOf(HasSubstr("weight 'w'"), HasSubstr(message)));
    }
}

TEST(CheckKnown, IsTheSameWeightOnlyWithTheSameTypeShapeAndAddress) {
    const auto bytes = std::vector<std::byte>(64), copy = bytes;
    const auto known = Weight{.name = "w", .shape = {4, 4, 1, 1}, .data = bytes};
    EXPECT_TRUE(check_known(known, known));
    auto elsewhere = known, reshaped = known, retyped = known;
    elsewhere.data = copy;
    reshaped.shape = {2, 8, 1, 1};
    retyped.dtype = DType::I32;
    for (const auto& other : {elsewhere, reshaped, retyped}) {
        const auto done = check_known(known, other);
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().fault, Fault::BadInput);
        EXPECT_THAT(done.error().what,
                    HasSubstr("weight 'w' is registered already, as F32 [4, 4]"));
    }
}

}  // namespace
}  // namespace minfer::test

#include "graph/attn_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace minfer {
namespace {

using testing::HasSubstr;

std::string error(WindowKind kind, const std::vector<int32_t>& data, size_t n_tokens) {
    const auto checked = check_windows(kind, data, n_tokens, 100);
    return checked ? "" : checked.error().what;
}

TEST(AttnWindow, TheLengthAloneTellsTheKind) {
    EXPECT_EQ(window_kind(6, 3), WindowKind::Span);
    EXPECT_EQ(window_kind(24, 3), WindowKind::Map);
    const auto other = window_kind(7, 3);
    ASSERT_FALSE(other);
    EXPECT_THAT(other.error().what, HasSubstr("7 elements; for 3 tokens 6 (spans) or 24 (runs)"));
}

TEST(AttnWindow, ASpanIsNotEmptyAndLiesInTheArena) {
    EXPECT_EQ(error(WindowKind::Span, {0, 99, 1, 100}, 2), "");
    EXPECT_THAT(error(WindowKind::Span, {0, 7, 1, 7}, 2), HasSubstr("token 1 is cells [7, 7)"));
    EXPECT_THAT(error(WindowKind::Span, {5, 3}, 1), HasSubstr("cells [5, 3)"));
    EXPECT_THAT(error(WindowKind::Span, {-1, 3}, 1), HasSubstr("cells [-1, 3)"));
    EXPECT_THAT(error(WindowKind::Span, {0, 101}, 1), HasSubstr("lie in [0, 100)"));
}

TEST(AttnWindow, RunsLieInTheArenaAndEndAtTheFirstEmptyOne) {
    EXPECT_EQ(error(WindowKind::Map, {99, 1, 0, 99, 0, 0, 0, 0}, 1), "");
    EXPECT_EQ(error(WindowKind::Map, {1, 1, 2, 1, 3, 1, 4, 1}, 1), "");
    EXPECT_THAT(error(WindowKind::Map, {0, 0, 0, 0, 0, 0, 0, 0}, 1), HasSubstr("has 0 cells"));
    EXPECT_THAT(error(WindowKind::Map, {0, 0, 5, 1, 0, 0, 0, 0}, 1),
                HasSubstr("an empty run ends the window"));
    EXPECT_THAT(error(WindowKind::Map, {2147483647, 2147483647, 0, 0, 0, 0, 0, 0}, 1),
                HasSubstr("2147483647 cells from cell 2147483647, the arena has 100"));
    EXPECT_THAT(error(WindowKind::Map, {0, 60, 0, 60, 0, 0, 0, 0}, 1), HasSubstr("120 cells"));
}

}  // namespace
}  // namespace minfer

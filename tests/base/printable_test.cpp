#include "base/printable.h"

#include <gtest/gtest.h>

namespace minfer {
namespace {

TEST(Printable, EscapesControlCharactersAndBrokenBytesAndNothingElse) {
    EXPECT_EQ(escaped("plain \\ 'text' ä 語 😀"), "plain \\ 'text' ä 語 😀");
    EXPECT_EQ(escaped("\x1b[2J\r\n\t\x7f"), "\\x1b[2J\\x0d\\n\\t\\x7f");
    EXPECT_EQ(escaped(std::string_view("a\0b", 3)), "a\\x00b");
    EXPECT_EQ(escaped("\xff ok \xc3"), "\\xff ok \\xc3");
    // U+009B begins a terminal command just as ESC [ does; U+00A0 is a space.
    EXPECT_EQ(escaped("\xc2\x9b\x32J\xc2\xa0"), "\\xc2\\x9b2J\xc2\xa0");
}

TEST(Printable, CutsBetweenCharacters) {
    EXPECT_EQ(printable("abc", 3), "'abc'");
    EXPECT_EQ(printable("abcd", 3), "'abc…'");
    EXPECT_EQ(printable("abä", 3), "'ab…'");
    EXPECT_EQ(printable("a\x1b\x1b", 2), "'a\\x1b…'");
}

}  // namespace
}  // namespace minfer

// The .smlib container: what is written is read back, and nothing else is.
#include "softmetal/msl/compiler.h"

#include <gtest/gtest.h>

namespace softmetal::msl {
namespace {

CompiledLibrary some_library() {
    CompiledLibrary out;
    out.units.push_back({.plain = "first plain object",
                         .checked = "first checked object",
                         .warnings = {},
                         .includes = {}});
    out.units.push_back(
        {.plain = std::string("\0\1\2\377", 4), .checked = "", .warnings = {}, .includes = {}});
    return out;
}

bool equal(const CompiledLibrary& a, const CompiledLibrary& b) {
    if (a.units.size() != b.units.size()) return false;
    for (size_t i = 0; i < a.units.size(); ++i)
        if (a.units[i].plain != b.units[i].plain || a.units[i].checked != b.units[i].checked)
            return false;
    return true;
}

TEST(Smlib, ComesBackAsItWas) {
    const auto library = some_library();
    const auto read = deserialize(serialize(library));
    ASSERT_TRUE(read) << read.error();
    EXPECT_TRUE(equal(*read, library));
}

TEST(Smlib, MayBeEmpty) {
    const auto read = deserialize(serialize({}));
    ASSERT_TRUE(read) << read.error();
    EXPECT_TRUE(read->units.empty());
}

TEST(Smlib, RefusesEveryTruncation) {
    const auto bytes = serialize(some_library());
    for (size_t n = 0; n < bytes.size(); ++n)
        EXPECT_FALSE(deserialize(bytes.substr(0, n))) << n << " bytes";
}

TEST(Smlib, RefusesBytesAfterItsEnd) { EXPECT_FALSE(deserialize(serialize(some_library()) + "x")); }

TEST(Smlib, RefusesEveryChangedByte) {
    const auto bytes = serialize(some_library());
    for (size_t i = 0; i < bytes.size(); ++i) {
        for (const int change : {1, 0x80, 0xff}) {
            auto damaged = bytes;
            damaged[i] = static_cast<char>(damaged[i] ^ change);
            EXPECT_FALSE(deserialize(damaged)) << "byte " << i << " changed by " << change;
        }
    }
}

TEST(Smlib, SaysWhatItIsNot) {
    EXPECT_EQ(deserialize("ELF, perhaps, but no library of kernels").error(), "not an smlib file");
    auto newer = serialize(some_library());
    newer[8] = 77;
    EXPECT_EQ(deserialize(newer).error(), "smlib: version 77, this program reads version 1");
}

// A count or length that promises more than there is must not be believed, whatever the checksum
// says.
TEST(Smlib, BelievesNoLength) {
    auto bytes = serialize(some_library());
    for (size_t i = 12; i < 16; ++i) bytes[i] = '\xff';
    EXPECT_FALSE(deserialize(bytes));
}

}  // namespace
}  // namespace softmetal::msl

// Accesses past a thread's own variables and a module's tables.
#include "support.h"

namespace softmetal::exec {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class PrivateArrays : public ::testing::Test {
  protected:
    std::string error_with(const char* kernel, std::vector<int32_t> in) {
        return error_of(launch_of(load_module("private_arrays"), kernel, 1, 1, {out, in.data()}));
    }
    uint32_t out[16] = {};
};

TEST_F(PrivateArrays, MayBeUsedToTheirEnds) {
    EXPECT_EQ(error_with("index_variable", {0, 7}), "");
    EXPECT_EQ(out[0], 21u);
    EXPECT_EQ(error_with("index_variable", {7, 7}), "");
    EXPECT_EQ(out[0], 100u);
    EXPECT_EQ(error_with("index_table", {4}), "");
    EXPECT_EQ(out[0], 50u);
    EXPECT_EQ(error_with("copy_variable", {24}), "");
}

TEST_F(PrivateArrays, WritesPastTheEndAreReported) {
    EXPECT_THAT(error_with("index_variable", {8, 0}),
                AllOf(StartsWith(place("private_arrays", "the write")),
                      HasSubstr("kernel 'index_variable'"),
                      HasSubstr("writes 4 bytes at offset 32 of a variable of its own"),
                      HasSubstr("which has 32"), HasSubstr("thread (0, 0, 0)")));
}

TEST_F(PrivateArrays, ReadsBeforeTheBeginningAreReported) {
    EXPECT_THAT(error_with("index_variable", {0, -1}),
                AllOf(StartsWith(place("private_arrays", "the read")),
                      HasSubstr("reads 4 bytes at offset -4 of a variable of its own")));
}

TEST_F(PrivateArrays, TablesAreNamed) {
    EXPECT_THAT(error_with("index_table", {5}),
                AllOf(StartsWith(place("private_arrays", "the table")),
                      HasSubstr("reads 4 bytes at offset 20 of table '(anonymous "
                                "namespace)::table', which has 20")));
}

TEST_F(PrivateArrays, CopiesOfAnyLengthAreWatched) {
    EXPECT_THAT(error_with("copy_variable", {25}),
                AllOf(StartsWith(place("private_arrays", "the copy")),
                      HasSubstr("reads 25 bytes at offset 0 of a variable of its own")));
}

}  // namespace
}  // namespace softmetal::exec

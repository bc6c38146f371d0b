// One source without includes of its own: what newLibraryWithSource is given.
#include "softmetal/msl/flatten.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "softmetal/msl/compiler.h"
#include "softmetal/msl/process.h"

namespace softmetal::msl {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class Flatten : public testing::Test {
  protected:
    void SetUp() override {
        auto folder = TemporaryFolder::create();
        ASSERT_TRUE(folder) << folder.error();
        folder_ = std::make_unique<TemporaryFolder>(std::move(*folder));
    }
    fs::path write(const std::string& name, const std::string& text) {
        const auto path = folder_->path() / name;
        fs::create_directories(path.parent_path());
        EXPECT_TRUE(write_file(path, text));
        return path;
    }
    fs::path root() const { return folder_->path(); }

  private:
    std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(Flatten, PutsIncludedFilesInPlace) {
    write("inc/constants.h", "#pragma once\nconstant float kTwo = 2;\n");
    write("helper.h",
          "#pragma once\n#include <lib/constants.h>\nfloat twice(float x) { return kTwo * x; }\n");
    write("root/lib/constants.h", "#pragma once\nconstant float kTwo = 2;\n");
    const auto main =
        write("main.metal",
              "#include <metal_stdlib>\n"
              "#include \"helper.h\"\n"
              "#include \"helper.h\"\n"
              "/*\n#include \"nothing.h\"\n*/\n"
              "kernel void f(device float* x [[buffer(0)]]) { x[0] = twice(x[1]); }\n");
    const auto flat = flatten({main}, {root() / "root"});
    ASSERT_TRUE(flat) << flat.error();
    EXPECT_THAT(*flat, HasSubstr("#include <metal_stdlib>"));
    EXPECT_THAT(*flat, Not(HasSubstr("#include \"helper.h\"")));
    EXPECT_THAT(*flat, Not(HasSubstr("#pragma once")));
    const auto unit = compile(*flat, "program_source", "", {.checked = false, .cache = false});
    EXPECT_TRUE(unit) << unit.error();
}

TEST_F(Flatten, KeepsFilesAndLinesInDiagnostics) {
    const auto helper =
        write("helper.h", "#pragma once\n\nfloat twice(float x) { return two * x; }\n");
    const auto main = write("main.metal", "#include \"helper.h\"\nkernel void f() { wrong(); }\n");
    const auto flat = flatten({main}, {});
    ASSERT_TRUE(flat) << flat.error();
    const auto unit = compile(*flat, "program_source", "", {.checked = false, .cache = false});
    ASSERT_FALSE(unit);
    EXPECT_THAT(unit.error(), HasSubstr(helper.string() + ":3:"));
    EXPECT_THAT(unit.error(), HasSubstr(main.string() + ":2:"));
}

TEST_F(Flatten, KeepsBothBranchesOfACondition) {
    write("a.h", "#pragma once\nconstant int kValue = 1;\n");
    const auto main = write("main.metal",
                            "#ifdef NEVER\n#include \"a.h\"\n#else\n#include \"a.h\"\n#endif\n"
                            "kernel void f(device int* x [[buffer(0)]]) { x[0] = kValue; }\n");
    const auto flat = flatten({main}, {});
    ASSERT_TRUE(flat) << flat.error();
    const auto unit = compile(*flat, "program_source", "", {.checked = false, .cache = false});
    EXPECT_TRUE(unit) << unit.error();
}

TEST_F(Flatten, RefusesAFileThatIncludesItselfWithoutEnd) {
    const auto main = write("main.metal", "#include \"main.metal\"\n");
    EXPECT_FALSE(flatten({main}, {}));
}

}  // namespace
}  // namespace softmetal::msl

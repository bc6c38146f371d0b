#include "softmetal/exec/module.h"

#include "support.h"

namespace softmetal::exec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
std::string bytes_of(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::vector<float> apply(const std::shared_ptr<const Module>& module) {
    auto out = std::vector<float>(4);
    EXPECT_EQ(error_of(launch_of(module, "apply", 1, 1, {out.data()})), "");
    return out;
}

TEST(Module, FindsItsKernels) {
    const auto module = load_module("threads");
    ASSERT_NE(module->find("reverse"), nullptr);
    EXPECT_STREQ(module->find("reverse")->name, "reverse");
    EXPECT_EQ(module->find("no such kernel"), nullptr);
}

TEST(Module, KnowsTheThreadgroupMemoryOfAKernel) {
    const auto module = load_module("threads");
    EXPECT_EQ(module->limits(*module->find("reverse")).static_threadgroup_bytes, 4099u);
    EXPECT_EQ(module->limits(*module->find("identify")).static_threadgroup_bytes, 0u);
}

TEST(Module, NamesItsFiles) {
    const auto module = load_module("threads");
    EXPECT_EQ(module->file_name(sm_hash_file("threads.cpp")), "threads.cpp");
    EXPECT_EQ(module->file_name(1), "");
}

TEST(Module, GivesFunctionConstantsByNameAndByIndex) {
    EXPECT_THAT(apply(load_module("constants")), ElementsAre(1, 0, 0, 1));
    EXPECT_THAT(apply(load_module("constants", {{.name = "scale", .type = 29, .bytes = bytes_of(5)},
                                                {.index = 7, .type = 3, .bytes = bytes_of(2.5f)}})),
                ElementsAre(5, 2.5f, 3, 1));
}

TEST(Module, IgnoresConstantsItDoesNotHave) {
    EXPECT_THAT(apply(load_module("constants", {{.index = 3, .type = 29, .bytes = bytes_of(5)}})),
                ElementsAre(1, 0, 0, 1));
}

TEST(Module, RefusesAConstantOfAnotherType) {
    const auto module = Module::load(module_bytes("constants"),
                                     {{.name = "scale", .type = 3, .bytes = bytes_of(5.f)}});
    ASSERT_FALSE(module);
    EXPECT_THAT(module.error(), HasSubstr("function constant 'scale'"));
}

TEST(Module, EveryLoadHasItsOwnVariables) {
    const auto first = load_module("constants");
    const auto second = load_module("constants");
    EXPECT_THAT(apply(first), ElementsAre(1, 0, 0, 1));
    EXPECT_THAT(apply(first), ElementsAre(1, 0, 0, 2));
    EXPECT_THAT(apply(second), ElementsAre(1, 0, 0, 1));
    auto many = std::vector<std::shared_ptr<const Module>>();
    for (int i = 0; i < 50; ++i) many.push_back(load_module("constants"));
    for (const auto& module : many) EXPECT_THAT(apply(module), ElementsAre(1, 0, 0, 1));
}

TEST(Module, RefusesAnotherAbi) {
    const auto module = Module::load(module_bytes("old_abi"), {});
    ASSERT_FALSE(module);
    EXPECT_THAT(module.error(), HasSubstr("has ABI version 41, this program runs " +
                                          std::to_string(SM_ABI_VERSION)));
}

TEST(Module, RefusesWhatIsNoModule) {
    EXPECT_THAT(Module::load("not an object", {}).error(), HasSubstr("cannot load a module"));
    const std::string whole = module_bytes("constants");
    EXPECT_THAT(Module::load(whole.substr(0, 100), {}).error(), HasSubstr("cannot load a module"));
}

}  // namespace
}  // namespace softmetal::exec

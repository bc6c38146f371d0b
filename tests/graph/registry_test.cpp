#include "graph/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_backend.h"

namespace minfer {
namespace {

using ::testing::HasSubstr;
using Names = std::vector<std::string>;

BackendEntry entry(BackendId id, std::optional<std::string> unavailable = {}) {
    return {.id = id,
            .unavailable = [unavailable] { return unavailable; },
            .make = [id]() -> Result<std::unique_ptr<Backend>> {
                return std::make_unique<FakeBackend>(id);
            }};
}

std::vector<BackendId> ids(const BackendChoice& choice) {
    auto list = std::vector<BackendId>();
    for (const auto* e : choice.entries) list.push_back(e->id);
    return list;
}

TEST(BackendRegistry, IdsNamesAndPrioritiesArePinned) {
    const auto known = known_backends();
    ASSERT_EQ(known.size(), 3u);
    EXPECT_EQ(static_cast<int>(known[0].id), 0);
    EXPECT_EQ(known[0].name, "cpu");
    EXPECT_EQ(known[0].priority, 100);
    EXPECT_EQ(static_cast<int>(known[1].id), 1);
    EXPECT_EQ(known[1].name, "metal");
    EXPECT_EQ(known[1].priority, 300);
    EXPECT_EQ(static_cast<int>(known[2].id), 2);
    EXPECT_EQ(known[2].name, "cuda");
    EXPECT_EQ(known[2].priority, 200);
}

TEST(BackendRegistry, UsesEveryUsableBackendByPriorityWithTheCpuLast) {
    BackendRegistry registry;
    registry.add(entry(BackendId::Cpu));
    registry.add(entry(BackendId::Cuda));
    registry.add(entry(BackendId::Metal));
    const auto choice = registry.choose({});
    ASSERT_TRUE(choice);
    EXPECT_EQ(ids(*choice), (std::vector{BackendId::Metal, BackendId::Cuda, BackendId::Cpu}));
    const auto made = choice->entries[0]->make();
    ASSERT_TRUE(made);
    EXPECT_EQ((*made)->id(), BackendId::Metal);
}

TEST(BackendRegistry, TheFenceOnlyRemovesDevices) {
    BackendRegistry registry;
    registry.add(entry(BackendId::Metal));
    registry.add(entry(BackendId::Cuda));
    registry.add(entry(BackendId::Cpu));
    EXPECT_EQ(ids(*registry.choose(Names{"cpu"})), std::vector{BackendId::Cpu});
    EXPECT_EQ(ids(*registry.choose(Names{" CUDA "})),
              (std::vector{BackendId::Cuda, BackendId::Cpu}));
    EXPECT_EQ(ids(*registry.choose(Names{"cuda, Metal"})),
              (std::vector{BackendId::Metal, BackendId::Cuda, BackendId::Cpu}));
    EXPECT_EQ(ids(*registry.choose(Names{"cuda", "metal"})),
              (std::vector{BackendId::Metal, BackendId::Cuda, BackendId::Cpu}));
}

TEST(BackendRegistry, AnUnknownNameListsTheKnownOnesBeforeAnyDeviceIsAsked) {
    BackendRegistry registry;
    auto metal = entry(BackendId::Metal);
    bool asked = false;
    metal.unavailable = [&]() -> std::optional<std::string> {
        asked = true;
        return std::nullopt;
    };
    registry.add(std::move(metal));
    registry.add(entry(BackendId::Cpu));
    for (const char* list : {"metal,vulkan", "metal, vulkan ,cuda"}) {
        const auto choice = registry.choose(Names{list});
        ASSERT_FALSE(choice);
        EXPECT_EQ(choice.error().fault, Fault::BadInput);
        EXPECT_EQ(choice.error().what, "backend 'vulkan' is unknown; there are: cpu, metal, cuda");
    }
    EXPECT_THAT(registry.choose(Names{""}).error().what, HasSubstr("backend '' is unknown"));
    EXPECT_THAT(registry.choose(Names{"cpu,"}).error().what, HasSubstr("backend '' is unknown"));
    EXPECT_FALSE(asked);
}

TEST(BackendRegistry, AKnownNameThatIsNotCompiledInIsRefused) {
    BackendRegistry registry;
    registry.add(entry(BackendId::Cpu));
    const auto choice = registry.choose(Names{"cuda"});
    ASSERT_FALSE(choice);
    EXPECT_EQ(choice.error().fault, Fault::Unsupported);
    EXPECT_EQ(choice.error().what, "backend 'cuda' is not part of this build, which has: cpu");
}

TEST(BackendRegistry, AnUnusableBackendIsRefusedWhenNamedAndSkippedWhenNot) {
    BackendRegistry registry;
    registry.add(entry(BackendId::Metal, "no Metal device"));
    registry.add(entry(BackendId::Cpu));
    const auto named = registry.choose(Names{"metal"});
    ASSERT_FALSE(named);
    EXPECT_EQ(named.error().fault, Fault::Device);
    EXPECT_EQ(named.error().what, "backend 'metal' does not work here: no Metal device");
    const auto unnamed = registry.choose({});
    ASSERT_TRUE(unnamed);
    EXPECT_EQ(ids(*unnamed), std::vector{BackendId::Cpu});
    EXPECT_EQ(unnamed->skipped, Names{"metal: no Metal device"});
}

TEST(BackendRegistry, ASoftwareDeviceIsUsedOnlyWhenNamed) {
    BackendRegistry registry;
    auto metal = entry(BackendId::Metal);
    metal.software = true;
    registry.add(std::move(metal));
    registry.add(entry(BackendId::Cpu));
    EXPECT_EQ(ids(*registry.choose({})), std::vector{BackendId::Cpu});
    EXPECT_EQ(ids(*registry.choose(Names{"metal"})),
              (std::vector{BackendId::Metal, BackendId::Cpu}));
}

}  // namespace
}  // namespace minfer

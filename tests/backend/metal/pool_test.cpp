#include "backend/metal/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/metal/device_rig.h"
#include "backend/metal/rig.h"

namespace minfer::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct MetalPool : ::testing::Test {
    std::unique_ptr<metal::Device> device = *metal::Device::create("");
    metal::Pool pool{*device};

    BufferId take(size_t bytes, bool fresh = false) {
        const auto id = pool.alloc(bytes, fresh, 0, SIZE_MAX);
        EXPECT_TRUE(id) << id.error().what;
        return *id;
    }
};

TEST_F(MetalPool, ReusesABufferOfExactlyThisSize) {
    const auto a = take(100), b = take(200);
    pool.free(b);
    EXPECT_NE(take(100), b);
    EXPECT_NE(take(199), b);
    EXPECT_EQ(take(200), b);
    pool.free(a);
    EXPECT_EQ(take(100), a);
    EXPECT_EQ(pool.count(), 4u);
    EXPECT_EQ(pool.bytes(), 599u);
}

TEST_F(MetalPool, AFreshBufferIsNeverARecycledOne) {
    const auto a = take(100);
    pool.free(a);
    EXPECT_NE(take(100, true), a);
    EXPECT_EQ(take(100), a);
    EXPECT_EQ(pool.bytes(), 200u);
}

TEST_F(MetalPool, AFreedBufferKeepsItsMemory) {
    const auto id = take(100);
    const auto ref = BufRef{.backend = BackendId::Metal, .id = id, .bytes = 100};
    const auto* const buffer = pool.slice(ref).buffer;
    pool.free(id);
    EXPECT_EQ(pool.bytes(), 100u);
    EXPECT_EQ(pool.slice(ref).buffer, buffer);
}

TEST_F(MetalPool, AReferenceIsAWindowOfItsBuffer) {
    const auto id = take(100);
    const auto window =
        pool.slice({.backend = BackendId::Metal, .id = id, .offset = 40, .bytes = 60});
    EXPECT_EQ(window.offset, 40u);
    EXPECT_EQ(window.bytes, 60u);
    EXPECT_DEATH(pool.slice({.backend = BackendId::Metal, .id = id, .offset = 41, .bytes = 60}),
                 "");
    EXPECT_DEATH(pool.slice({.backend = BackendId::Cpu, .id = id, .bytes = 1}), "");
    EXPECT_DEATH(pool.slice({.backend = BackendId::Metal, .id = BufferId{1}, .bytes = 1}), "");
}

TEST_F(MetalPool, FreeingABufferTwiceIsAMistakeOfOurs) {
    const auto id = take(100);
    pool.free(id);
    EXPECT_DEATH(pool.free(id), "in_use");
}

TEST_F(MetalPool, TheBudgetHoldsWeightsPoolAndRequest) {
    ASSERT_TRUE(pool.alloc(300, false, 500, 1000));
    const auto over = pool.alloc(201, false, 500, 1000);
    ASSERT_FALSE(over);
    EXPECT_EQ(over.error().fault, Fault::OutOfMemory);
    EXPECT_THAT(over.error().what, AllOf(HasSubstr("500 bytes of weights"), HasSubstr("300"),
                                         HasSubstr("201"), HasSubstr("1000")));
    EXPECT_FALSE(pool.alloc(SIZE_MAX, false, 500, 1000));
    EXPECT_FALSE(pool.alloc(1, false, 1001, 1000));
    EXPECT_EQ(pool.count(), 1u);
    const auto id = pool.alloc(200, false, 500, 1000);
    ASSERT_TRUE(id);
    // What is there already costs nothing.
    pool.free(*id);
    EXPECT_TRUE(pool.alloc(200, false, 800, 1000));
}

TEST_F(MetalPool, ARefusedAllocationIsAnErrorAndTheNextOneWorks) {
    softmetal::refuse_allocation(device->handle(), 1);
    const auto refused = pool.alloc(100, false, 0, SIZE_MAX);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fault, Fault::OutOfMemory);
    EXPECT_THAT(refused.error().what, HasSubstr("100 bytes"));
    EXPECT_EQ(pool.count(), 0u);
    EXPECT_EQ(pool.bytes(), 0u);
    EXPECT_TRUE(pool.alloc(100, false, 0, SIZE_MAX));
}

// 24 000 bytes of weights and a budget of 32 000: 8 001 bytes more are too many. Without the
// weights in the account they would be let in, which is what the control shows.
TEST(MetalBackend, metal_registered_weights_are_charged_in_the_budget_gate) {
    const auto backend = metal_backend({.memory_budget_bytes = 32000});
    const auto bytes = std::vector<std::byte>(24000);
    ASSERT_TRUE(backend->register_weight({.name = "w", .shape = {6000, 1, 1, 1}, .data = bytes}));
    ASSERT_TRUE(backend->finish_weights());
    const auto over = backend->alloc(8001);
    ASSERT_FALSE(over);
    EXPECT_EQ(over.error().fault, Fault::OutOfMemory);
    EXPECT_THAT(over.error().what, AllOf(HasSubstr("24000 bytes of weights"), HasSubstr("8001"),
                                         HasSubstr("0 in the pool"), HasSubstr("32000")));
    EXPECT_FALSE(backend->alloc_fresh(8001));
    EXPECT_TRUE(backend->alloc(8000));
    EXPECT_EQ(backend->weights_bytes(), 24000u);

    const auto without = metal_backend({.memory_budget_bytes = 32000});
    EXPECT_TRUE(without->alloc(8001));
}

TEST(MetalBackend, TheBudgetIsThreeQuartersOfTheWorkingSetUnlessSaid) {
    const auto profile = Profile({.memory_bytes = 1 << 20});
    const auto backend = metal_backend();
    const auto over = backend->alloc((3 << 18) + 1);
    ASSERT_FALSE(over);
    EXPECT_THAT(over.error().what, HasSubstr("786432"));
    EXPECT_TRUE(backend->alloc(3 << 18));
    EXPECT_TRUE(metal_backend({.memory_budget_bytes = (3 << 18) + 1})->alloc((3 << 18) + 1));
}

TEST(MetalBackend, ABudgetOfZeroRefusesEverything) {
    EXPECT_FALSE(metal_backend({.memory_budget_bytes = 0})->alloc(4));
}

}  // namespace
}  // namespace minfer::test

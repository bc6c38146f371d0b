#include "graph/reservation.h"

#include <gtest/gtest.h>

#include "support/fake_backend.h"

namespace minfer {
namespace {

constexpr auto kCpu = BackendId::Cpu, kMetal = BackendId::Metal;

struct ReservationTest : ::testing::Test {
    FakeBackend cpu{kCpu}, metal{kMetal, "metal"};
    std::vector<Backend*> backends = {&metal, &cpu};
    Reservation reservation;

    std::vector<BufferId> map(std::vector<Slot> slots) {
        auto ids = reservation.map(slots, backends);
        EXPECT_TRUE(ids);
        return *ids;
    }
};

TEST_F(ReservationTest, GraphsThatFitShareTheSameBuffers) {
    const auto first = map({{kCpu, 1024}, {kCpu, 16384}, {kMetal, 1024}, {kCpu, 1024}});
    EXPECT_EQ(cpu.pool_count(), 3u);
    EXPECT_EQ(metal.pool_count(), 1u);
    EXPECT_EQ(map({{kCpu, 1024}, {kCpu, 16384}, {kMetal, 1024}, {kCpu, 1024}}), first);
    EXPECT_EQ(map({{kMetal, 1024}})[0], first[2]);
    EXPECT_EQ(cpu.pool_count() + metal.pool_count(), 4u);
}

TEST_F(ReservationTest, TheSlotsOfOneGraphNeverShare) {
    const auto ids = map({{kCpu, 1024}, {kCpu, 1024}, {kCpu, 1024}});
    EXPECT_NE(ids[0], ids[1]);
    EXPECT_NE(ids[0], ids[2]);
    EXPECT_NE(ids[1], ids[2]);
}

TEST_F(ReservationTest, ALargerBufferServesASmallerSlot) {
    const auto large = map({{kCpu, 32768}, {kCpu, 65536}});
    EXPECT_EQ(map({{kCpu, 2048}})[0], large[0]);  // the smallest that fits
    // The large slot is served first, so that both fit.
    const auto both = map({{kCpu, 2048}, {kCpu, 65536}});
    EXPECT_EQ(both[1], large[1]);
    EXPECT_EQ(both[0], large[0]);
    EXPECT_EQ(cpu.pool_count(), 2u);
    map({{kCpu, 65536}, {kCpu, 65536}});
    EXPECT_EQ(cpu.pool_count(), 3u);
}

TEST_F(ReservationTest, AFailureKeepsWhatWasAllocatedForLater) {
    cpu.allocs_left = 1;
    const auto slots = std::vector<Slot>{{kCpu, 1024}, {kCpu, 2048}};
    const auto failed = reservation.map(slots, backends);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().fault, Fault::OutOfMemory);
    cpu.allocs_left = 1;
    map(slots);
    EXPECT_EQ(cpu.pool_count(), 2u);
}

}  // namespace
}  // namespace minfer

// A server submits a command buffer for every token it ever makes: nothing may be left of them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "backend/metal/device_rig.h"
#include "backend/metal/rig.h"

namespace minfer::test {
namespace {

size_t resident_bytes() {
    size_t pages = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> pages >> resident;
    return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST(MetalBackend, AMillionSubmissionsLeaveMemoryFlat) {
    constexpr int kSubmissions = 1'000'000;
    auto rig = metal_rig();
    softmetal::set_checks(system_device().get(), softmetal::Checks::Off);
    const auto ones = std::vector<float>(32, 1);
    const auto sum = rig.floats(std::vector<float>(32)), one = rig.floats(ones);
    const auto node = Node{.name = "n", .op = op::Add{}, .shape = {32, 1, 1, 1}};
    const BufRef in[] = {sum, one};
    const auto submit = [&](int count) {
        for (int i = 0; i < count; ++i) {
            ASSERT_TRUE(rig.backend().execute({.node = &node, .in = in, .out = sum}));
            ASSERT_TRUE(rig.backend().copy_cells(sum, 0, 1, 1, 4));
            ASSERT_TRUE(rig.backend().synchronize());
        }
    };
    // The second time on a thread: the memory of its allocator stays for the next one.
    submit(5'000);
    std::thread([&] { submit(5'000); }).join();
    const auto live_before = objects();
    const auto resident_before = resident_bytes();
    const auto start = std::chrono::steady_clock::now();
    // Half of them on a thread that has no autorelease pool of its own.
    submit(kSubmissions / 2);
    std::thread([&] { submit(kSubmissions / 2); }).join();
    const auto seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    EXPECT_EQ(objects(), live_before);
    const auto resident = resident_bytes();
    EXPECT_LT(resident, resident_before + kSubmissions / 4) << "a quarter of a byte for each";
    EXPECT_THAT(rig.view(sum), ::testing::Each(1'010'000.0f));
    RecordProperty("microseconds", std::to_string(seconds / kSubmissions * 1e6));
    RecordProperty("resident_before", std::to_string(resident_before));
    RecordProperty("resident_after", std::to_string(resident));
}

}  // namespace
}  // namespace minfer::test

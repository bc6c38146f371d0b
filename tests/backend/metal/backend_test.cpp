// What the backend does when something goes wrong, and that the next request works.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "backend/metal/context.h"
#include "backend/metal/device_rig.h"
#include "backend/metal/rig.h"
#include "graph/builder.h"
#include "graph/runner.h"
#include "support/random_data.h"

namespace minfer::test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kCount = 64;

// x + y -> sum, twice over when asked.
struct MetalRecovery : ::testing::Test {
    OpRig rig = metal_rig({.submit_bound_seconds = 0.2});
    MetalBackend& backend = dynamic_cast<MetalBackend&>(rig.backend());
    NS::SharedPtr<MTL::Device> device = system_device();
    BufRef x = rig.floats(std::vector<float>(kCount, 1));
    BufRef y = rig.floats(std::vector<float>(kCount, 2));
    BufRef sum = rig.floats(std::vector<float>(kCount));
    std::byte host[kCount * 4];

    Result<> run(const Op& op, std::vector<BufRef> in, BufRef out, std::string_view name = "n") {
        const auto node =
            Node{.name = std::string(name), .op = op, .shape = {out.bytes / 4, 1, 1, 1}};
        return backend.execute({.node = &node, .in = in, .out = out});
    }
    Result<> step() { return run(op::Add{}, {x, y}, sum); }
    // A node whose second source is missing: no kernel may see it.
    Result<> bad_step() { return run(op::Mul{}, {x}, sum, "bad"); }

    Result<std::vector<float>> result() {
        auto values = std::vector<float>(kCount);
        MINFER_TRY(backend.read(sum, std::as_writable_bytes(std::span(values))));
        return values;
    }
    Result<> fill(BufRef ref, float value) {
        const auto values = std::vector<float>(kCount, value);
        return backend.write(ref, std::as_bytes(std::span(values)));
    }
    void expect_next_request_works() {
        const auto wrote = fill(x, 10);
        ASSERT_TRUE(wrote) << wrote.error().what;
        ASSERT_TRUE(step());
        const auto done = backend.synchronize();
        ASSERT_TRUE(done) << done.error().what;
        EXPECT_THAT(*result(), Each(12.0f));
    }
};

TEST_F(MetalRecovery, metal_capture_of_work_that_failed_shows_nothing) {
    size_t seen = 0;
    const auto look = [&](std::span<const std::byte> value) { seen += value.size(); };
    for (int round = 0; round < 3; ++round) {
        softmetal::fail_next_command_buffer(device.get(), 1);
        ASSERT_TRUE(step());
        ASSERT_TRUE(backend.capture(sum, look));
        ASSERT_FALSE(backend.synchronize());
        EXPECT_EQ(seen, 0u);
    }
    const auto buffers = backend.pool_count();
    ASSERT_TRUE(step());
    ASSERT_TRUE(backend.capture(sum, look));
    EXPECT_EQ(seen, 0u) << "not before the work has ended";
    ASSERT_TRUE(backend.synchronize());
    EXPECT_EQ(seen, kCount * 4);
    EXPECT_EQ(backend.pool_count(), buffers) << "staging of failed work serves again";
}

TEST_F(MetalRecovery, AfterEachErrorCodeTheNextRequestWorks) {
    for (const int64_t code : {1, 2, 3, 4, 7, 8, 9, 10, 11, 12}) {
        ASSERT_TRUE(fill(sum, 0));
        softmetal::fail_next_command_buffer(device.get(), code);
        ASSERT_TRUE(step());
        const auto done = backend.synchronize();
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().fault, Fault::Device);
        EXPECT_THAT(done.error().what, AllOf(HasSubstr("status Error"), HasSubstr("add_f32"),
                                             HasSubstr(fmt::format("(code {})", code))));
        ASSERT_TRUE(backend.synchronize()) << "nothing is left of it";
        EXPECT_THAT(*result(), Each(0.0f));
        expect_next_request_works();
        ASSERT_TRUE(fill(x, 1));
    }
}

TEST_F(MetalRecovery, ReadsAndWritesReportTheFailureOfWhatTheySubmit) {
    softmetal::fail_next_command_buffer(device.get(), MTL::CommandBufferErrorInternal);
    ASSERT_TRUE(step());
    EXPECT_THAT(result().error().what, HasSubstr("add_f32"));
    softmetal::fail_next_command_buffer(device.get(), MTL::CommandBufferErrorInternal);
    ASSERT_TRUE(step());
    EXPECT_THAT(fill(x, 3).error().what, HasSubstr("add_f32"));
    expect_next_request_works();
}

TEST_F(MetalRecovery, AfterAHangTheAbandonedWorkIsWaitedForBeforeItsBuffersAreTouched) {
    for (const bool read_first : {false, true}) {
        softmetal::hang_next_command_buffer(device.get(), 1);
        ASSERT_TRUE(step());
        const auto start = std::chrono::steady_clock::now();
        const auto given_up = backend.synchronize();
        ASSERT_FALSE(given_up);
        EXPECT_EQ(given_up.error().fault, Fault::Timeout);
        EXPECT_THAT(given_up.error().what, AllOf(HasSubstr("did not end within"),
                                                 HasSubstr("0.2 s"), HasSubstr("add_f32")));
        bool touched = false;
        for (int i = 0; i < 600 && !touched; ++i) {
            const auto done = read_first ? backend.read(sum, {host, sizeof host}) : fill(y, 2);
            touched = done.has_value();
            if (!touched) {
                ASSERT_THAT(done.error().what, HasSubstr("given up earlier"));
            }
        }
        ASSERT_TRUE(touched);
        EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(999));
        expect_next_request_works();
    }
}

TEST_F(MetalRecovery, AHangThatGoesOnIsAnErrorOfEveryRequestUntilItEnds) {
    softmetal::hang_next_command_buffer(device.get(), 3);
    ASSERT_TRUE(step());
    ASSERT_FALSE(backend.synchronize());  // 0.2 s of them
    const auto written = fill(x, 3);      // 0.2 s more
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().fault, Fault::Timeout);
    EXPECT_THAT(written.error().what, AllOf(HasSubstr("given up earlier"), HasSubstr("0.2 s")));
    EXPECT_FALSE(result());
    const auto encoded = step();
    ASSERT_FALSE(encoded);
    EXPECT_THAT(encoded.error().what, AllOf(HasSubstr("node 'n'"), HasSubstr("given up earlier")));
    EXPECT_FALSE(backend.copy_cells(sum, 0, 1, 1, 4));
    for (int i = 0; i < 50 && !backend.synchronize(); ++i) continue;
    expect_next_request_works();
}

TEST_F(MetalRecovery, ARefusedAllocationIsAnErrorAndTheNextRequestWorks) {
    softmetal::refuse_allocation(device.get(), 1);
    const auto refused = backend.alloc(1000);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fault, Fault::OutOfMemory);
    EXPECT_THAT(refused.error().what, HasSubstr("1000 bytes"));
    EXPECT_TRUE(backend.alloc(1000));
    expect_next_request_works();
}

TEST_F(MetalRecovery, AnErrorNamesTheNodeAndNothingOfItsSplitRunsLater) {
    ASSERT_TRUE(step());
    const auto before = backend.counters();
    const auto bad = bad_step();
    ASSERT_FALSE(bad);
    EXPECT_THAT(bad.error().what, AllOf(HasSubstr("node 'bad' (Mul"), HasSubstr("256 bytes"),
                                        HasSubstr("source 1 is missing")));
    // What was encoded before it ran there and then, on its own inputs.
    EXPECT_EQ(backend.counters().command_buffers, before.command_buffers + 1);
    ASSERT_TRUE(fill(x, 10));
    EXPECT_THAT(*result(), Each(3.0f));
    EXPECT_EQ(backend.counters().command_buffers, before.command_buffers + 1);
    expect_next_request_works();
    EXPECT_EQ(backend.counters().command_buffers, before.command_buffers + 2);
}

TEST_F(MetalRecovery, CellsMovedBeforeAnErrorStayMoved) {
    auto cells = std::vector<float>(kCount);
    cells[1] = 7;
    ASSERT_TRUE(backend.write(sum, std::as_bytes(std::span(cells))));
    ASSERT_TRUE(backend.copy_cells(sum, 0, 1, 1, 4));
    ASSERT_FALSE(bad_step());
    EXPECT_EQ(result()->front(), 7.0f);
}

TEST_F(MetalRecovery, AMoveOfCellsThatFailsEndsTheSplitAndSaysWhatItWas) {
    ASSERT_TRUE(step());
    const auto before = backend.counters().command_buffers;
    const auto moved = backend.copy_cells(sum, 0, 60, 5, 4);
    ASSERT_FALSE(moved);
    EXPECT_THAT(moved.error().what, HasSubstr("cannot move 5 cells of 4 bytes from 60 to 0"));
    EXPECT_EQ(backend.counters().command_buffers, before + 1);
    EXPECT_THAT(*result(), Each(3.0f));
    expect_next_request_works();
}

TEST_F(MetalRecovery, AFailureOfTheWorkBeforeAnErrorIsToldWithIt) {
    softmetal::fail_next_command_buffer(device.get(), MTL::CommandBufferErrorPageFault);
    ASSERT_TRUE(step());
    const auto bad = bad_step();
    ASSERT_FALSE(bad);
    EXPECT_THAT(bad.error().what,
                AllOf(HasSubstr("source 1 is missing"), HasSubstr("add_f32"), HasSubstr("code 3")));
    expect_next_request_works();
}

// As an engine meets it: the step fails, nothing can be read, and the step after it is right.
TEST(MetalBackend, AStepThatFailsLeavesTheRunnerReadyForTheNext) {
    const auto backend = metal_backend({.submit_bound_seconds = 0.2});
    const auto cpu = make_cpu_backend();
    const auto device = system_device();
    auto runner = GraphRunner({backend.get(), cpu.get()}, [](const GraphParams&) {
        auto b = GraphBuilder();
        const auto x = b.input("x", DType::F32, {8, 1, 1, 1});
        b.output(b.add("twice", x, x));
        return b.finish();
    });
    ASSERT_TRUE(runner.bind({.gpu = true}));
    const auto step = [&](float value) -> Result<float> {
        const auto x = std::vector<float>(8, value);
        MINFER_TRY(runner.write_input("x", std::as_bytes(std::span(x))));
        MINFER_TRY(runner.execute());
        auto out = std::vector<float>(8);
        MINFER_TRY(runner.read_output(0, out));
        return out[7];
    };
    EXPECT_EQ(*step(1), 2.0f);
    softmetal::fail_next_command_buffer(device.get(), MTL::CommandBufferErrorInternal);
    EXPECT_THAT(step(2).error().what, HasSubstr("add_f32"));
    auto out = std::vector<float>(8);
    EXPECT_FALSE(runner.read_output(0, out));
    EXPECT_EQ(*step(3), 6.0f);
    softmetal::hang_next_command_buffer(device.get(), 1);
    EXPECT_THAT(step(4).error().what, HasSubstr("did not end within"));
    auto next = step(5);
    for (int i = 0; i < 50 && !next; ++i) next = step(5);
    EXPECT_EQ(*next, 10.0f);
}

TEST(MetalBackend, IsDestroyedWithWorkPendingAfterDoingIt) {
    const auto device = system_device();
    softmetal::reset_counters(device.get());
    {
        auto rig = metal_rig();
        const auto a = rig.floats(std::vector<float>(8, 1));
        const auto node = Node{.name = "n", .op = op::Add{}, .shape = {8, 1, 1, 1}};
        const BufRef in[] = {a, a};
        ASSERT_TRUE(rig.backend().execute({.node = &node, .in = in, .out = a}));
        EXPECT_EQ(dispatches_of("add_f32"), 0u);
    }
    EXPECT_EQ(dispatches_of("add_f32"), 1u);
}

// What was given up before, and what is given up now.
TEST(MetalBackend, IsGoneOnlyOnceWorkThatWasGivenUpHasEnded) {
    const auto device = system_device();
    for (const bool given_up_before : {true, false}) {
        const auto weights = WeightFile();  // unmapped after the backend
        auto backend = metal_backend({.submit_bound_seconds = 0.05});
        backend->add_mapping(weights.mapping());
        const auto x = BufRef{.backend = BackendId::Metal, .id = *backend->alloc(32), .bytes = 32};
        const BufRef in[] = {x, x};
        const auto node = Node{.name = "n", .op = op::Add{}, .shape = {8, 1, 1, 1}};
        ASSERT_TRUE(backend->execute({.node = &node, .in = in, .out = x}));
        softmetal::hang_next_command_buffer(device.get(), 1);
        const auto start = std::chrono::steady_clock::now();
        if (given_up_before) {
            ASSERT_FALSE(backend->synchronize());
        }
        backend.reset();
        EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(999));
    }
}

TEST(MetalBackend, LeavesNoObjectsBehind) {
    const auto device = system_device();
    const auto use = [] {
        auto rig = metal_rig();
        const auto bytes = random_rows(DType::F32, 64, 1);
        rig.weight("w", DType::F32, {64, 1, 1, 1}, bytes);
        const auto a = rig.floats(std::vector<float>(64, 1));
        const auto node = Node{.name = "n", .op = op::Add{}, .shape = {64, 1, 1, 1}};
        const BufRef in[] = {a, a};
        ASSERT_TRUE(rig.backend().execute({.node = &node, .in = in, .out = a}));
        ASSERT_TRUE(rig.backend().copy_cells(a, 0, 1, 1, 4));
        EXPECT_THAT(rig.view(a), Each(2.0f));
    };
    use();
    const auto before = objects();
    use();
    // On a thread that has no autorelease pool of its own.
    std::thread(use).join();
    EXPECT_EQ(objects(), before);
}

TEST(MetalBackend, TwoInOneProcessWorkAtOnceOnTwoThreads) {
    const auto work = [](float base, float* got) {
        auto rig = metal_rig();
        const auto n = size_t{1000};
        const auto a = rig.floats(std::vector<float>(n, base)),
                   one = rig.floats(std::vector<float>(n, 1));
        const auto node = Node{.name = "n", .op = op::Add{}, .shape = {n, 1, 1, 1}};
        const BufRef in[] = {a, one};
        for (int i = 0; i < 300; ++i) {
            ASSERT_TRUE(rig.backend().execute({.node = &node, .in = in, .out = a}));
            if (i % 7 == 0) ASSERT_TRUE(rig.backend().synchronize());
        }
        const auto values = rig.view(a);
        EXPECT_THAT(values, Each(values[0]));
        *got = values[0];
    };
    float a = 0, b = 0;
    at_once([&] { work(1000, &a); }, [&] { work(5000, &b); });
    EXPECT_EQ(a, 1300.0f);
    EXPECT_EQ(b, 5300.0f);
}

// A queue has 64 command buffers to give, and waits when they are out.
TEST_F(MetalRecovery, ErrorsHoldOnToNoCommandBuffers) {
    for (int i = 0; i < 200; ++i) {
        ASSERT_TRUE(step());
        ASSERT_FALSE(bad_step());
    }
    expect_next_request_works();
}

TEST(MetalBackend, TracesLabelsAsTheyAreEncoded) {
    auto labels = std::vector<std::string>();
    auto rig = metal_rig(traced(&labels));
    const auto a = rig.floats(std::vector<float>(8, 1));
    const BufRef in[] = {a, a};
    const auto sum = Node{.name = "n", .op = op::Add{}, .shape = {8, 1, 1, 1}};
    const auto product = Node{.name = "n", .op = op::Mul{}, .shape = {8, 1, 1, 1}};
    ASSERT_TRUE(rig.backend().execute({.node = &sum, .in = in, .out = a}));
    ASSERT_TRUE(rig.backend().execute({.node = &product, .in = in, .out = a}));
    EXPECT_THAT(labels, ElementsAre("add_f32", "mul_f32"));
}

TEST(MetalBackend, CountsWhatItSubmitted) {
    auto rig = metal_rig();
    auto& backend = dynamic_cast<MetalBackend&>(rig.backend());
    const auto a = rig.floats(std::vector<float>(8, 1));
    const BufRef in[] = {a, a};
    const auto node = Node{.name = "n", .op = op::Add{}, .shape = {8, 1, 1, 1}};
    ASSERT_TRUE(backend.synchronize());
    EXPECT_EQ(backend.counters().command_buffers, 0u);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(backend.execute({.node = &node, .in = in, .out = a}));
    EXPECT_EQ(backend.counters().dispatches, 0u);
    ASSERT_TRUE(backend.synchronize());
    ASSERT_TRUE(backend.synchronize());
    EXPECT_EQ(backend.counters().command_buffers, 1u);
    EXPECT_EQ(backend.counters().dispatches, 5u);
    EXPECT_EQ(backend.counters().barriers, 5u);
}

}  // namespace
}  // namespace minfer::test

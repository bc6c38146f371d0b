// A program of its own because it replaces operator new: counts what the backend allocates while it
// encodes and submits. The device records work in memory of its own, so the same work is given to
// it directly, and only what the backend adds counts.

#include <gtest/gtest.h>

#include "backend/metal/context.h"
#include "backend/metal/kernels/elementwise.h"
#include "backend/metal/metal_backend.h"
#include "softmetal/control.h"
#include "support/count_allocations.h"

namespace minfer {
namespace {

constexpr size_t kNodes = 50, kCount = 64, kSteps = 100;

struct Steps {
    std::unique_ptr<MetalBackend> backend;
    metal::Context* context = nullptr;
    BufRef in[2];
    BufRef out;
    Node node{.name = "sum", .op = op::Add{}, .shape = {kCount, 1, 1, 1}};
    metal::Completion completion;

    Steps() {
        auto made = *metal::Context::create({});
        context = made.get();
        backend = std::make_unique<MetalBackend>(std::move(made));
        softmetal::set_checks(context->device->handle(), softmetal::Checks::Off);
        for (auto* const ref : {&in[0], &in[1], &out})
            *ref = {.backend = BackendId::Metal,
                    .id = *backend->alloc(kCount * 4),
                    .bytes = kCount * 4};
    }

    void add_weight() {
        static const auto gain = std::vector<float>(kCount, 1);
        const auto added = backend->register_weight(
            {.name = "norm", .shape = {kCount, 1, 1, 1}, .data = std::as_bytes(std::span(gain))});
        if (!added || !backend->finish_weights()) std::abort();
    }
    void run(const Call& call) {
        for (size_t i = 0; i < kNodes; ++i)
            if (!backend->execute(call)) std::abort();
        if (!backend->synchronize()) std::abort();
    }

    void through_backend() {
        const float x[kCount] = {};
        if (!backend->write(in[0], std::as_bytes(std::span(x)))) std::abort();
        for (size_t i = 0; i < kNodes; ++i)
            if (!backend->execute({.node = &node, .in = in, .out = out})) std::abort();
        if (!backend->copy_cells(out, 0, 1, 1, 4) || !backend->synchronize()) std::abort();
        float y[kCount];
        if (!backend->read(out, std::as_writable_bytes(std::span(y)))) std::abort();
    }

    // The same messages, but for the pools around them.
    void directly() {
        const metal::AutoreleaseScope scope;
        const auto slice = context->pool.slice(out);
        const auto commands = NS::RetainPtr(context->device->queue()->commandBuffer());
        const auto& kernel = context->kernels.elementwise.add;
        const auto encoder = NS::RetainPtr(commands->computeCommandEncoder());
        const auto args = ElementwiseArgs{.count = kCount};
        for (size_t i = 0; i < kNodes; ++i) {
            encoder->setComputePipelineState(kernel.state.get());
            encoder->setBuffer(context->pool.slice(in[0]).buffer, 0, 0);
            encoder->setBuffer(context->pool.slice(in[1]).buffer, 0, 1);
            encoder->setBuffer(slice.buffer, 0, 2);
            encoder->setBytes(&args, sizeof args, 3);
            encoder->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(256, 1, 1));
            encoder->memoryBarrier(MTL::BarrierScopeBuffers);
        }
        encoder->endEncoding();
        const auto blit = NS::RetainPtr(commands->blitCommandEncoder());
        blit->copyFromBuffer(slice.buffer, 4, slice.buffer, 0, 4);
        blit->endEncoding();
        completion.expect(commands.get());
        commands->commit();
        if (!completion.wait(60)) std::abort();
    }
};

template <class Step>
size_t allocations_of(const Step& step) {
    for (size_t i = 0; i < kSteps; ++i) step();
    test::allocations = 0;
    for (size_t i = 0; i < kSteps; ++i) step();
    return test::allocations.load();
}

TEST(MetalAllocation, AStepAllocatesNothingBesideWhatTheDeviceRecords) {
    auto steps = Steps();
    const auto direct = allocations_of([&] { steps.directly(); });
    const auto backend = allocations_of([&] { steps.through_backend(); });
    ASSERT_GT(direct, 0u);  // the counter works
    // Threads of the device now and then grow something of theirs.
    EXPECT_LE(backend, direct + kSteps / 2);
}

TEST(MetalAllocation, LookingUpAWeightAllocatesNothing) {
    auto steps = Steps();
    steps.add_weight();
    const auto id = *steps.backend->find_weight("norm");
    const auto norm = Node{.name = "norm",
                           .op = op::RmsNorm{.eps = 1e-6f, .weight = "norm"},
                           .shape = {kCount, 1, 1, 1}};
    const auto x = std::span(steps.in);
    const auto without =
        allocations_of([&] { steps.run({.node = &steps.node, .in = x, .out = steps.out}); });
    const auto with = allocations_of([&] {
        steps.run({.node = &norm, .in = x.first(1), .out = steps.out, .weights = {&id, 1}});
    });
    EXPECT_LE(with, without + kSteps / 2);  // the device's threads, as above
}

}  // namespace
}  // namespace minfer

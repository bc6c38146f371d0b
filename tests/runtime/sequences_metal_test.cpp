// The same random operations on the software Metal device, every access checked. Cells that lie
// elsewhere and windows that are written out take other kernels than a sequence alone does, which
// add up in another order.
#include <gtest/gtest.h>

#include <Metal/Metal.hpp>

#include "backend/cpu/cpu_backend.h"
#include "backend/metal/metal_backend.h"
#include "softmetal/control.h"
#include "support/sequence_world.h"
#include "support/small_model.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

struct MetalSequences : testing::TestWithParam<KvFormat> {};

TEST_P(MetalSequences, RandomOperationsKeepWhatEachOneAnswers) {
    const auto model = TinyModel(small_model_bytes());
    const auto cpu = make_cpu_backend({.threads = 1, .activations = CpuActivations::F32});
    // The system's device is one object while somebody holds it: the backend's as well.
    const auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
    softmetal::set_checks(device.get(), softmetal::Checks::All);
    const auto metal = make_metal_backend({});
    ASSERT_TRUE(metal) << metal.error().what;
    const auto make = [&] {
        auto engine = Engine::create(model.model, {metal->get(), cpu.get()},
                                     {.n_ctx = 96, .n_ubatch = 16, .kv_format = GetParam()});
        MINFER_ASSERT(engine && (*engine)->offload().on_device());
        return *std::move(engine);
    };
    const auto run = [&](const KvScript& script, SequenceWorld& world) {
        for (const auto& op : script)
            if (const auto what = world.run(op); !what.empty()) return what;
        return std::string();
    };
    const auto script = random_script(1, 300, 4, 48, 8);
    auto world = SequenceWorld(make, same_cells_bar(GetParam()));
    const auto what = run(script, world);
    ASSERT_EQ(what, "") << "cut down to\n"
                        << describe(shrink(script, [&](const KvScript& shorter) {
                               auto again = SequenceWorld(make, same_cells_bar(GetParam()));
                               return !run(shorter, again).empty();
                           }));
    EXPECT_GT(world.done()[KvOp::Append], 20u);
    EXPECT_GT(world.done()[KvOp::Share], 0u);
    RecordProperty("worst_nmse", fmt::format("{:.3g}", world.worst_nmse()));
}

INSTANTIATE_TEST_SUITE_P(Formats, MetalSequences,
                         testing::Values(KvFormat::F32, KvFormat::F16, KvFormat::Q8_0),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace minfer::test

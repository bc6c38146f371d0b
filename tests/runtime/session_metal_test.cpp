// Sessions that are saved on the software Metal device or loaded there: cells in a file have one
// order, whatever order a device keeps them in.
#include <gtest/gtest.h>

#include <Metal/Metal.hpp>

#include "backend/cpu/cpu_backend.h"
#include "backend/metal/metal_backend.h"
#include "softmetal/control.h"
#include "support/session_checks.h"
#include "support/small_model.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

struct SessionsOnMetal : testing::TestWithParam<KvFormat> {
    SessionsOnMetal() {
        softmetal::set_checks(device.get(), softmetal::Checks::All);
        auto made = make_metal_backend({});
        MINFER_ASSERT(made);
        metal = *std::move(made);
    }
    // So many blocks on Metal.
    std::unique_ptr<Engine> make(size_t blocks) {
        auto engine = Engine::create(
            model.model, {metal.get(), cpu.get()},
            {.n_ctx = 160, .n_ubatch = 16, .kv_format = GetParam(), .gpu_layers = blocks});
        MINFER_ASSERT(engine && (*engine)->offload().on_device() == (blocks > 0));
        return *std::move(engine);
    }
    MakeEngine with(size_t blocks) {
        return [this, blocks] { return make(blocks); };
    }

    TinyModel model{small_model_bytes()};
    std::unique_ptr<CpuBackend> cpu =
        make_cpu_backend({.threads = 1, .activations = CpuActivations::F32});
    // The system's device is one object while somebody holds it: the backend's as well.
    NS::SharedPtr<MTL::Device> device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
    std::unique_ptr<MetalBackend> metal;
};

TEST_P(SessionsOnMetal, GoOnBitForBit) { expect_session_continues(with(2), with(2), 0); }

TEST_P(SessionsOnMetal, OfTheCpuGoOnWithinTheClassOfTwoBackends) {
    expect_session_continues(with(0), with(2), same_cells_bar(GetParam()));
}

TEST_P(SessionsOnMetal, GoOnOnTheCpuWithinTheClassOfTwoBackends) {
    expect_session_continues(with(2), with(0), same_cells_bar(GetParam()));
}

TEST_P(SessionsOnMetal, OfLayersOnTwoBackendsGoOnBitForBitAndSayWhereTheyLay) {
    expect_session_continues(with(1), with(1), 0);
    const TempDir dir;
    const auto engine = make(1);
    evaluate_some(*engine);
    const auto shape = session_shape(model.model, engine->cache());
    ASSERT_TRUE(save_session(dir.path() / "session", engine->cache(), shape, {}));
    const auto bytes = bytes_of_file(dir.path() / "session");
    const auto first = sizeof(SessionHeader) + field<uint64_t>(bytes, 56);
    const auto region = field<uint64_t>(bytes, first + 8);
    const auto second = first + sizeof(SessionLayer) + 2 * region;
    EXPECT_EQ(field<uint32_t>(bytes, first + 4), std::to_underlying(BackendId::Metal));
    EXPECT_EQ(field<uint32_t>(bytes, second + 4), std::to_underlying(BackendId::Cpu));
}

INSTANTIATE_TEST_SUITE_P(Formats, SessionsOnMetal, testing::ValuesIn(kKvFormats),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace minfer::test

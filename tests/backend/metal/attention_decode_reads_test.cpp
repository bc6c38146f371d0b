// What decode attention reads, and what it makes of nothing and of too little memory.

#include <gmock/gmock.h>

#include <algorithm>

#include "backend/metal/attention.h"
#include "backend/metal/attention_decode_rig.h"
#include "backend/metal/context.h"
#include "backend/metal/device_rig.h"
#include "softmetal/control.h"
#include "support/software_metal.h"

namespace minfer::test {
namespace {

using metal::CellType;
using testing::AllOf;
using testing::HasSubstr;

// Bytes that the SIMD groups of one token's attention load besides their queries; what one of them
// loads twice counts once: a cache has it. The kernel's arguments, a few dozen bytes, are counted
// with the cells.
double cell_bytes(const Geometry& g, CellType cells, const AttentionOptions& options) {
    const SoftwareMetal checked;
    const auto device = system_device();
    auto decoder = Decoder(g, cells, options);
    softmetal::set_memory_counters(device.get(), true);
    softmetal::reset_counters(device.get());
    decoder.values(g.n_ctx);
    softmetal::set_memory_counters(device.get(), false);
    const auto plan = *metal::plan_decode_flash(
        {.n_tokens = 1, .n_head = g.n_head, .n_head_kv = g.n_head_kv, .head_dim = g.head_dim},
        g.n_ctx, options);
    for (const auto& counters : softmetal::counters(device.get())) {
        if (!counters.kernel.starts_with("attention_decode")) continue;
        const auto queries = g.n_head * g.head_dim * sizeof(float) * plan.n_chunks;
        return static_cast<double>(counters.read_distinct_in_simdgroup_bytes - queries);
    }
    ADD_FAILURE() << "no decode kernel ran";
    return 0;
}

TEST(MetalDecodeReads, QueryHeadsThatShareLoadsReadTheCellsOnceTogether) {
    for (const auto cells : metal::kCellTypes)
        for (const size_t group : {1, 2, 4, 5, 7, 8}) {
            SCOPED_TRACE(fmt::format("{} heads over {}", group, name(cells)));
            const auto g = Geometry{2 * group, 2, 64, 130};
            const auto once =
                static_cast<double>(g.n_ctx * kv_layout(format_of(cells), 2 * 64).row_bytes * 2);
            const auto expect_times = [&](double bytes, size_t times) {
                EXPECT_GE(bytes, once * static_cast<double>(times));
                EXPECT_LE(bytes, once * static_cast<double>(times) * 1.05);
            };
            expect_times(cell_bytes(g, cells, {}), group);
            expect_times(cell_bytes(g, cells, {.share_kv_from = 1}), group <= 4 ? 1 : 2);
        }
}

class DecodeCall : public testing::Test {
  protected:
    void SetUp() override {
        context_ = *metal::Context::create({});
        const auto shape = metal::AttentionShape{
            .n_tokens = 1, .n_head = 2, .n_head_kv = 1, .head_dim = 64, .n_ctx = 100};
        auto& kernels = context_->kernels.attention;
        scratch_bytes_ = *kernels.decode.prepare_flash(*context_->device, shape, {});
        ASSERT_TRUE(kernels.decode.prepare_split(*context_->device, shape, {}));
        call_ = {.n_tokens = 1,
                 .n_head = 2,
                 .n_head_kv = 1,
                 .head_dim = 64,
                 .n_ctx = 100,
                 .cell_bytes = 64 * sizeof(float),
                 .q = memory(2 * 64 * 4),
                 .k = memory(100 * 64 * 4),
                 .v = memory(100 * 64 * 4),
                 .out = memory(2 * 64 * 4),
                 .window = memory(4),
                 .end_cell = 100,
                 .scratch = memory(scratch_bytes_)};
    }
    // Ones in every element.
    metal::Slice memory(size_t bytes) {
        buffers_.push_back(*context_->device->new_buffer(bytes));
        const auto slice =
            metal::Slice{.buffer = buffers_.back().get(), .offset = 0, .bytes = bytes};
        std::ranges::fill(floats(slice), 1.f);
        return slice;
    }
    static std::span<float> floats(const metal::Slice& slice) {
        return {reinterpret_cast<float*>(slice.host()), slice.bytes / sizeof(float)};
    }
    std::string error(const Result<>& result) { return result ? "" : result.error().what; }

    const metal::AutoreleaseScope scope_;
    std::unique_ptr<metal::Context> context_;
    std::vector<metal::Buffer> buffers_;
    metal::AttentionCall call_;
    size_t scratch_bytes_ = 0;
};

TEST_F(DecodeCall, AWindowWithoutCellsGivesZeros) {
    for (const auto run : {metal::run_decode_flash, metal::run_decode_split}) {
        for (const auto& [end, value] : {std::pair<size_t, float>{0, 0.f}, {1, 1.f}, {100, 1.f}}) {
            call_.end_cell = end;
            std::ranges::fill(floats(call_.out), 7.f);
            EXPECT_EQ(error(run(*context_, call_)), "");
            EXPECT_TRUE(context_->submit());
            EXPECT_THAT(floats(call_.out), testing::Each(testing::FloatEq(value)));
        }
    }
}

TEST_F(DecodeCall, ScratchThatIsTooSmallIsRefusedWithBothSizes) {
    EXPECT_EQ(scratch_bytes_, 2u * 4 * (2 + 64) * 4);
    for (const auto run : {metal::run_decode_flash, metal::run_decode_split}) {
        call_.scratch.bytes = scratch_bytes_ - 4;
        EXPECT_THAT(error(run(*context_, call_)),
                    HasSubstr("scratch of 2108 bytes, at least 2112 are wanted"));
        call_.scratch.bytes = scratch_bytes_;
        EXPECT_EQ(error(run(*context_, call_)), "");
        EXPECT_TRUE(context_->submit());
    }
}

TEST_F(DecodeCall, SeveralTokensAndExplicitWindowsAreRefused) {
    for (const auto run : {metal::run_decode_flash, metal::run_decode_split}) {
        auto other = call_;
        other.n_tokens = 2;
        EXPECT_THAT(error(run(*context_, other)), HasSubstr("2 tokens"));
        other = call_;
        other.window_kind = kWindowSpan;
        EXPECT_THAT(error(run(*context_, other)), HasSubstr("causal"));
        EXPECT_EQ(error(run(*context_, call_)), "");
        EXPECT_TRUE(context_->submit());
    }
}

std::string attend(uint32_t threadgroup_bytes, const AttentionOptions& options) {
    auto profile = softmetal::default_profile();
    profile.max_threadgroup_memory_bytes = threadgroup_bytes;
    const auto small = Profile(profile);
    return Decoder(decoded(), CellType::F32, options).run(40).error;
}

TEST(MetalDecodeLimits, AThreadgroupThatDoesNotFitIsRefusedWithBothSizes) {
    EXPECT_THAT(attend(9072, {.flash = false}),
                HasSubstr("kernel 'attention_split_f32' wants 9088 bytes of threadgroup memory, "
                          "the device has 9072"));
    EXPECT_EQ(attend(9088, {.flash = false}), "");
    EXPECT_THAT(attend(496, {}),
                AllOf(HasSubstr("'attention_combine' declares 512 bytes of threadgroup memory"),
                      HasSubstr("496")));
    EXPECT_EQ(attend(512, {}), "");
}

}  // namespace
}  // namespace minfer::test

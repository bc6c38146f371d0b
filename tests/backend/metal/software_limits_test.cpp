// Limits other than those of the device at hand, which only the software device can have.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/metal/attention.h"
#include "backend/metal/rig.h"
#include "softmetal/control.h"
#include "support/random_data.h"

namespace minfer::test {
namespace {

struct ThreadgroupMemory {
    explicit ThreadgroupMemory(uint32_t bytes) {
        auto profile = softmetal::default_profile();
        profile.max_threadgroup_memory_bytes = bytes;
        softmetal::set_default_profile(profile);
    }
    ~ThreadgroupMemory() { softmetal::set_default_profile(before); }
    softmetal::DeviceProfile before = softmetal::default_profile();
};

std::string attend(uint32_t threadgroup_bytes, size_t n_tokens = 1) {
    const auto memory = ThreadgroupMemory(threadgroup_bytes);
    auto rig = metal_rig({.attention = {.flash = false, .split = false}});
    const auto layout = kv_layout(KvFormat::F32, 64);
    const auto op =
        op::Attention{.n_head = 2, .n_head_kv = 1, .head_dim = 64, .layout = layout, .n_ctx = 8};
    const auto cells = random_floats(64 * 8, 1);
    const auto kv = KvPair{.k = rig.floats(cells), .v = rig.floats(cells)};
    const auto positions = rig.ints(std::vector<int32_t>(n_tokens, 3));
    const auto q = rig.floats(random_floats(128 * n_tokens, 2));
    return rig.run(op, {128, n_tokens, 1, 1}, {q, kv.k, positions}, kv).error;
}

TEST(MetalLimits, AttentionNamesTheThreadgroupMemoryItWantsAndWhatThereIs) {
    EXPECT_THAT(attend(8192),
                testing::HasSubstr("kernel 'attention_f32' wants 9088 bytes of threadgroup memory, "
                                   "the device has 8192"));
    EXPECT_EQ(attend(9088), "");
    EXPECT_THAT(attend(7216, 2),
                testing::HasSubstr("kernel 'attention_prefill_f32_64_causal' wants 7232 bytes of "
                                   "threadgroup memory, the device has 7216"));
    EXPECT_EQ(attend(7232, 2), "");
}

Result<> register_matrix(DType dtype, uint32_t threadgroup_bytes) {
    const auto memory = ThreadgroupMemory(threadgroup_bytes);
    const auto backend = metal_backend();
    const auto bytes = random_rows(dtype, 256 * 8, 1);
    return backend->register_weight(
        {.name = "w", .dtype = dtype, .shape = {256, 8, 1, 1}, .data = bytes});
}

TEST(MetalLimits, AMatrixNamesTheThreadgroupMemoryItsProductsWantAndWhatThereIs) {
    const auto quantised = register_matrix(DType::Q4_K, 6128);
    ASSERT_FALSE(quantised);
    EXPECT_EQ(quantised.error().fault, Fault::Unsupported);
    EXPECT_THAT(quantised.error().what,
                testing::HasSubstr("kernel 'mul_mm_q4_k_half_32' wants 6144 bytes of threadgroup "
                                   "memory, the device has 6128"));
    EXPECT_TRUE(register_matrix(DType::Q4_K, 6144));
    const auto wide = register_matrix(DType::BF16, 8192);
    ASSERT_FALSE(wide);
    EXPECT_THAT(wide.error().what,
                testing::HasSubstr("kernel 'mul_mm_bf16_float_32' wants 12288 bytes of threadgroup "
                                   "memory, the device has 8192"));
    EXPECT_TRUE(register_matrix(DType::BF16, 12288));
}

// A node says so before any weight of the model is on the device.
TEST(MetalLimits, ANodeThatMultipliesSaysSoWhenItIsPrepared) {
    const auto prepare = [](uint32_t threadgroup_bytes, Op op) {
        const auto memory = ThreadgroupMemory(threadgroup_bytes);
        return metal_backend()->prepare({.name = "tested", .op = std::move(op)});
    };
    const auto products = std::vector<Op>{
        op::MatMul{.weight = "w", .dtype = DType::Q4_K, .in_dim = 256, .out_dim = 8},
        op::FusedFfn{.weights = {"w"}, .dtype = DType::Q4_K, .in_dim = 256, .width = 4},
        op::Embed{.weight = "w", .dtype = DType::Q4_K, .width = 256, .vocab = 8}};
    for (const auto& product : products) {
        const auto refused = prepare(6128, product);
        ASSERT_FALSE(refused) << op_name(product);
        EXPECT_EQ(refused.error().fault, Fault::Unsupported);
        EXPECT_THAT(refused.error().what, testing::HasSubstr("the device has 6128"));
        EXPECT_TRUE(prepare(6144, product)) << op_name(product);
    }
}

// By query heads of a KV head, as many SIMD groups as a threadgroup of these families has.
TEST(MetalLimits, EveryFamilyOfAttentionComparesItsThreads) {
    struct Case {
        std::string_view kernel;
        size_t n_tokens, group, threads;
        AttentionOptions options;
    };
    const auto classic = AttentionOptions{.flash = false,
                                          .split = false,
                                          .prefill_flash = false,
                                          .three_pass = false,
                                          .window_flash = false};
    auto split = classic, three_pass = classic;
    split.split = three_pass.three_pass = true;
    const auto cases = std::vector<Case>{{"attention_f32", 1, 8, 256, classic},
                                         {"attention_f32", 9, 4, 128, classic},
                                         {"attention_split_f32", 1, 8, 256, split},
                                         {"attention_split_f32", 1, 4, 128, split},
                                         {"attention_scores_64", 9, 1, 128, three_pass},
                                         {"attention_decode_64_f32", 1, 1, 32, {}},
                                         {"attention_prefill_f32_64_causal", 9, 1, 128, {}}};
    for (const auto& c : cases)
        for (const bool fits : {false, true}) {
            auto profile = softmetal::default_profile();
            const auto before = profile;
            profile.max_threads_per_threadgroup = static_cast<uint32_t>(c.threads - !fits);
            softmetal::set_default_profile(profile);
            const auto device = *metal::Device::create("");
            softmetal::set_default_profile(before);
            metal::AttentionKernels kernels;
            const auto built = kernels.prepare(*device,
                                               {.n_tokens = c.n_tokens,
                                                .n_head = c.group,
                                                .n_head_kv = 1,
                                                .head_dim = 64,
                                                .n_ctx = 8},
                                               c.options);
            EXPECT_EQ(bool(built), fits) << c.kernel << " of " << c.group;
            if (built || fits) continue;
            EXPECT_EQ(built.error().fault, Fault::Unsupported);
            EXPECT_EQ(built.error().what,
                      fmt::format("kernel '{}' wants {} threads in a threadgroup, allowed are {}",
                                  c.kernel, c.threads, c.threads - 1));
        }
}

}  // namespace
}  // namespace minfer::test

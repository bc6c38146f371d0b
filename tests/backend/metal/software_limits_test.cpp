// Limits other than those of the device at hand, which only the software device can have.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    EXPECT_THAT(attend(6128, 2),
                testing::HasSubstr("kernel 'attention_prefill_f32_64_causal' wants 6144 bytes of "
                                   "threadgroup memory, the device has 6128"));
    EXPECT_EQ(attend(6144, 2), "");
}

// More tokens than the other kernels take: 33 in wide tiles, 9 in narrow ones.
std::string multiply(DType dtype, uint32_t threadgroup_bytes, size_t n_tokens = 33) {
    const auto memory = ThreadgroupMemory(threadgroup_bytes);
    auto rig = metal_rig();
    rig.weight("w", dtype, {256, 8, 1, 1}, random_rows(dtype, 256 * 8, 1));
    const auto op = op::MatMul{.weight = "w", .dtype = dtype, .in_dim = 256, .out_dim = 8};
    return rig.run(op, {8, n_tokens, 1, 1}, {rig.floats(random_floats(256 * n_tokens, 2))}).error;
}

TEST(MetalLimits, AMatrixProductNamesTheThreadgroupMemoryItWantsAndWhatThereIs) {
    EXPECT_THAT(multiply(DType::Q4_K, 6128),
                testing::HasSubstr("kernel 'mul_mm_q4_k_half_32' wants 6144 bytes of threadgroup "
                                   "memory, the device has 6128"));
    EXPECT_EQ(multiply(DType::Q4_K, 6144), "");
    EXPECT_THAT(multiply(DType::Q4_K, 5104, 9),
                testing::HasSubstr("kernel 'mul_mm_q4_k_half_16' wants 5120 bytes of threadgroup "
                                   "memory, the device has 5104"));
    EXPECT_EQ(multiply(DType::Q4_K, 5120, 9), "");
    EXPECT_THAT(multiply(DType::BF16, 8192),
                testing::HasSubstr("kernel 'mul_mm_bf16_float_32' wants 12288 bytes of threadgroup "
                                   "memory, the device has 8192"));
    EXPECT_EQ(multiply(DType::BF16, 12288), "");
}

}  // namespace
}  // namespace minfer::test

#include "graph/op.h"

#include <gtest/gtest.h>

#include <cmath>

namespace minfer {
namespace {

TEST(Op, NamesFollowTheVariant) {
    EXPECT_EQ(op_name(op::Input{}), "Input");
    EXPECT_EQ(op_name(op::Add{}), "Add");
    EXPECT_EQ(op_name(op::Mul{}), "Mul");
    EXPECT_EQ(op_name(op::Scale{}), "Scale");
    EXPECT_EQ(op_name(op::Silu{}), "Silu");
    EXPECT_EQ(op_name(op::SwiGlu{}), "SwiGlu");
    EXPECT_EQ(op_name(op::Softmax{}), "Softmax");
    EXPECT_EQ(op_name(op::RmsNorm{}), "RmsNorm");
    EXPECT_EQ(op_name(op::QkNorm{}), "QkNorm");
    EXPECT_EQ(op_name(op::MatMul{}), "MatMul");
    EXPECT_EQ(op_name(op::Embed{}), "Embed");
    EXPECT_EQ(op_name(op::GatherRows{}), "GatherRows");
    EXPECT_EQ(op_name(op::Rope{}), "Rope");
    EXPECT_EQ(op_name(op::KvStore{}), "KvStore");
    EXPECT_EQ(op_name(op::KvLoad{}), "KvLoad");
    EXPECT_EQ(op_name(op::Attention{}), "Attention");
    EXPECT_EQ(op_name(op::View{}), "View");
    EXPECT_EQ(op_name(op::FusedQkv{}), "FusedQkv");
    EXPECT_EQ(op_name(op::FusedQkvNorm{}), "FusedQkvNorm");
    EXPECT_EQ(op_name(op::FusedFfn{}), "FusedFfn");
}

TEST(Op, WeightsComeInCallOrderWithoutAnAbsentBias) {
    using Names = std::vector<std::string_view>;
    EXPECT_EQ(op_weights(op::MatMul{.weight = "w", .bias = "b"}), (Names{"w", "b"}));
    EXPECT_EQ(op_weights(op::MatMul{.weight = "w"}), Names{"w"});
    EXPECT_EQ(op_weights(op::Embed{.weight = "e"}), Names{"e"});
    EXPECT_EQ(op_weights(op::RmsNorm{.weight = "n"}), Names{"n"});
    EXPECT_EQ(op_weights(op::QkNorm{.weight = "q"}), Names{"q"});
    EXPECT_EQ(op_weights(op::Add{}), Names{});
    EXPECT_EQ(
        op_weights(op::FusedQkv{.qkv = {.weights = {"q", "k", "v"}}, .biases = {"a", "b", "c"}}),
        (Names{"q", "k", "v", "a", "b", "c"}));
    EXPECT_EQ(
        op_weights(op::FusedQkvNorm{.qkv = {.weights = {"qkv"}}, .q_norm = "n", .k_norm = "m"}),
        (Names{"qkv", "n", "m"}));
    EXPECT_EQ(op_weights(op::FusedFfn{.weights = {"gate", "up"}}), (Names{"gate", "up"}));
}

TEST(Op, TellsTheTypeOfItsMatrices) {
    EXPECT_EQ(op_matrix_dtype(op::MatMul{.dtype = DType::Q4_K}), DType::Q4_K);
    EXPECT_EQ(op_matrix_dtype(op::Embed{.dtype = DType::F16}), DType::F16);
    EXPECT_EQ(op_matrix_dtype(op::FusedQkv{.qkv = {.dtype = DType::Q8_0}}), DType::Q8_0);
    EXPECT_EQ(op_matrix_dtype(op::FusedQkvNorm{.qkv = {.dtype = DType::Q5_0}}), DType::Q5_0);
    EXPECT_EQ(op_matrix_dtype(op::FusedFfn{.dtype = DType::Q6_K}), DType::Q6_K);
    EXPECT_EQ(op_matrix_dtype(op::RmsNorm{}), std::nullopt);
}

TEST(Op, TellsWhichRegionsItTouchesAndWhetherItStores) {
    const auto layout = kv_layout(KvFormat::F16, 64);
    const auto reads = KvUse{.layer = 3, .layout = layout, .n_ctx = 8};
    auto writes = reads;
    writes.stores = true;
    EXPECT_EQ(op_kv_use(op::KvStore{.layer = 3, .layout = layout, .n_ctx = 8}), writes);
    EXPECT_EQ(op_kv_use(op::KvLoad{.layer = 3, .layout = layout, .n_ctx = 8}), reads);
    EXPECT_EQ(op_kv_use(op::Attention{.layer = 3, .layout = layout, .n_ctx = 8}), reads);
    const auto qkv = op::QkvProjection{.layer = 3, .layout = layout, .n_ctx = 8};
    EXPECT_EQ(op_kv_use(op::FusedQkv{.qkv = qkv}), writes);
    EXPECT_EQ(op_kv_use(op::FusedQkvNorm{.qkv = qkv}), writes);
    EXPECT_EQ(op_kv_use(op::FusedFfn{}), std::nullopt);
    EXPECT_TRUE(reads.same_regions(writes));
    EXPECT_FALSE(reads.same_regions({.layer = 3, .layout = layout, .n_ctx = 9}));
}

TEST(Op, KvRowsHaveTheDocumentedByteLengths) {
    EXPECT_EQ(kv_layout(KvFormat::F32, 96).row_bytes, 384u);
    EXPECT_EQ(kv_layout(KvFormat::F16, 96).row_bytes, 192u);
    EXPECT_EQ(kv_layout(KvFormat::Q8_0, 64).row_bytes, 68u);
    EXPECT_EQ(kv_layout(KvFormat::Q8_0, 96).row_bytes, 104u);  // 102, padded to words
    EXPECT_EQ(kv_layout(KvFormat::Q8_0, 128).row_bytes, 136u);
    EXPECT_EQ(kv_layout(KvFormat::Q8_0, 1024).row_bytes, 1088u);
}

TEST(Op, RopeFrequenciesAreRoundedOnce) {
    const auto inv_freq =
        rope_inv_freq({.freq_base = 1e6f, .freq_scale = 0.5f, .n_head = 1, .head_dim = 128});
    ASSERT_EQ(inv_freq.size(), 64u);
    EXPECT_EQ(inv_freq[0], 0.5f);
    EXPECT_EQ(inv_freq[16], static_cast<float>(0.5 / std::pow(1e6, 0.25)));
    EXPECT_EQ(inv_freq[32], 0.5e-3f);  // 1e6^(1/2), exact before the one rounding
}

TEST(Op, ComparesWithItsMetadata) {
    EXPECT_EQ(Op(op::Scale{.factor = 2}), Op(op::Scale{.factor = 2}));
    EXPECT_NE(Op(op::Scale{.factor = 2}), Op(op::Scale{.factor = 3}));
    EXPECT_NE(Op(op::KvStore{.layer = 1}), Op(op::KvStore{.layer = 2}));
    EXPECT_NE(Op(op::Silu{}), Op(op::Softmax{}));
}

}  // namespace
}  // namespace minfer

// Whole models against Hugging Face transformers, which ran in double precision on the same
// dequantised weights: tests/golden/make_tiny_logits.py.

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/golden.h"
#include "support/nmse.h"
#include "support/tiny_engine.h"
#include "support/tolerances.h"

namespace minfer {
namespace {

std::string check_sum(std::vector<std::byte> bytes) {
    bytes.resize((bytes.size() + 7) / 8 * 8);
    uint64_t sum = 0;
    for (size_t i = 0; i < bytes.size() / 8; ++i) {
        uint64_t word;
        std::memcpy(&word, bytes.data() + 8 * i, 8);
        sum += word * (i + 1);
    }
    return fmt::format("{:016x}", sum);
}

class GoldenLogits : public testing::TestWithParam<CpuActivations> {};

TEST_P(GoldenLogits, MatchTransformersForEveryType) {
    const auto golden = nlohmann::json::parse(read_golden("tiny_logits.json"));
    const auto raw = read_golden("tiny_logits.bin");
    std::vector<TokenId> tokens;
    for (const auto& id : golden["tokens"]) tokens.push_back(static_cast<TokenId>(id.get<int>()));
    const auto bar = GetParam() == CpuActivations::F32 ? test::kLogitsExactBar
                                                       : test::kLogitsQuantizedActivationBar;

    size_t at = 0;
    for (const auto& entry : golden["models"]) {
        const auto shape = entry["shape"].get<std::string>();
        const auto type = dtype_from_name(entry["type"].get<std::string>());
        ASSERT_TRUE(type);
        SCOPED_TRACE(fmt::format("{} {}", shape, name(*type)));
        ASSERT_EQ(check_sum(tiny_model_bytes(shape, *type)), entry["check_sum"].get<std::string>())
            << "the generator no longer makes the file the logits belong to";
        const TinyEngine tiny(shape, *type, {.n_ctx = 64}, GetParam());
        const auto logits = tiny.engine().evaluate(tokens, tokens.size());
        ASSERT_TRUE(logits) << logits.error().what;
        const auto n_vocab = tiny.model().hparams().n_vocab;
        for (const auto& row : golden["rows"]) {
            std::vector<float> want(n_vocab);
            ASSERT_LE(at + n_vocab * sizeof(float), raw.size());
            std::memcpy(want.data(), raw.data() + at, n_vocab * sizeof(float));
            at += n_vocab * sizeof(float);
            EXPECT_LE(test::nmse(logits->subspan(row.get<size_t>() * n_vocab, n_vocab), want), bar)
                << "position " << row;
        }
    }
    EXPECT_EQ(at, raw.size());
    EXPECT_EQ(golden["models"].size(), 30u);  // two architectures, fifteen types
}

INSTANTIATE_TEST_SUITE_P(Activations, GoldenLogits,
                         testing::Values(CpuActivations::F32, CpuActivations::Quantized),
                         [](const auto& test) {
                             return test.param == CpuActivations::F32 ? "Exact" : "Quantized";
                         });

}  // namespace
}  // namespace minfer

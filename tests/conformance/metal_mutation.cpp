#include "conformance/metal_mutation.h"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "backend/metal/attention_route.h"
#include "conformance/columns.h"
#include "conformance/op_trial.h"
#include "support/software_metal.h"
#include "support/temp_dir.h"

namespace minfer::test {
namespace {

using metal::AttentionFamily;

// Tiles of attention are compiled for the smallest heads alone.
constexpr size_t kTileHeadDim = 64;

std::string read_source() {
    auto file = std::ifstream(MINFER_KERNELS_SOURCE, std::ios::binary);
    auto text = std::ostringstream();
    text << file.rdbuf();
    EXPECT_TRUE(file) << MINFER_KERNELS_SOURCE;
    return text.str();
}

// The source without the instances that the rows of this family do not take, under these options:
// kernels of other weight types, attention for all but itself, and of attention the kernels that
// are switched off and tiles for other heads.
std::string only_used(const std::string& source, std::string_view wanted, std::string_view type,
                      const AttentionOptions& options) {
    static const auto typed = std::regex(
        R"(^MINFER_[A-Z0-9_]+\("?(q4_0|q4_1|q5_0|q5_1|q8_0_split|q8_0|q4_k|q5_k|q6_k|f16|bf16|f32)\b)");
    static const auto products = std::regex(R"(^MINFER_(MUL_M[MV]\w*|GET_ROWS)\()");
    static const auto tiles = std::regex(R"(^MINFER_PREFILL_WINDOWS\((\d+),)");
    static const auto chunks = std::regex(R"(^MINFER_ATTENTION_DECODE\()");
    static const auto others = std::regex(R"(^template \[\[host_name\("attention_)");
    const bool is_attention = wanted == "Attention";
    const bool with_tiles = is_attention && (options.prefill_flash || options.window_flash);
    const bool with_chunks = is_attention && options.flash;
    auto in = std::istringstream(source);
    auto out = std::string();
    for (std::string line; std::getline(in, line);) {
        auto match = std::smatch();
        const bool is_of_another_type =
            std::regex_search(line, match, typed) && match[1].str() != type;
        const bool is_tile = std::regex_search(line, match, tiles);
        const bool is_left_out =
            is_of_another_type ||
            (is_tile && (!with_tiles || match[1].str() != std::to_string(kTileHeadDim))) ||
            (!with_chunks && std::regex_search(line, chunks)) ||
            std::regex_search(line, is_attention ? products : others);
        out += (is_left_out ? "" : line) + "\n";
    }
    return out;
}

// Of attention, the rows that take the family which is switched on, by a kernel that only_used()
// leaves: tiles for one size of head, and of tiles and chunks those that read f32 cells. Where all
// are off, every row.
bool is_about(const AttentionOptions& options, const op::Attention& attention, size_t n_tokens) {
    const auto cells = attention.layout.format;
    const auto family_under = [&](const AttentionOptions& under) {
        return metal::attention_route({.n_tokens = n_tokens,
                                       .n_head = attention.n_head,
                                       .n_head_kv = attention.n_head_kv,
                                       .head_dim = attention.head_dim,
                                       .n_ctx = attention.n_ctx,
                                       .cells = metal::cell_type(cells, under),
                                       .explicit_span = attention.explicit_span},
                                      under)
            .family;
    };
    switch (family_under(options)) {
        case AttentionFamily::Classic:
            return !options.flash && !options.split && !options.prefill_flash &&
                   !options.three_pass && !options.window_flash;
        case AttentionFamily::DecodeFlash:
            return cells == KvFormat::F32;
        case AttentionFamily::PrefillFlash:
        case AttentionFamily::WindowFlash:
            return attention.head_dim == kTileHeadDim && cells != KvFormat::F16;
        case AttentionFamily::DecodeSplit:
        case AttentionFamily::ThreePass:
            return true;
    }
    std::unreachable();
}

// Without matrix kernels: the rows that would have gone to them.
bool is_about(const MetalOptions& options, const Row& row) {
    if (const auto* const attention = std::get_if<op::Attention>(&row.op))
        return is_about(options.attention, *attention, row.tokens());
    return options.gemm || row.tokens() >= 9;
}

void run_row(const Row& row, const MetalOptions& options, std::vector<std::string>& found) {
    for (const auto placement : {Placement::Padded, Placement::Exact}) {
        auto with_placement = options;
        with_placement.copy_weights = placement == Placement::Exact;
        auto backend = make_metal_backend(with_placement);
        ASSERT_TRUE(backend) << backend.error().what;
        auto rig = OpRig(*std::move(backend), placement);
        const auto trial = make_trial(row);
        testing::TestPartResultArray failures;
        auto got = Answer();
        {
            const testing::ScopedFakeTestPartResultReporter reporter(
                testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD,
                &failures);
            got = answer(rig, trial);
        }
        for (int i = 0; i < failures.size(); ++i)
            found.push_back(label(row) + ": " + failures.GetTestPartResult(i).message());
        const auto& like = column(options.gemm ? "metal" : "metal_no_gemm");
        for (const auto& fault : faults(trial, got, half_tiles(like, row)))
            found.push_back(label(row) + ": " + fault);
    }
}

// What the rows of a family say about kernels of this source: nothing when all is right. The first
// row that complains is the last one run.
std::vector<std::string> complaints(const std::string& source, std::string_view wanted,
                                    MetalOptions options, uint64_t orders) {
    SoftwareMetal device;
    const TempDir folder;
    options.library = (folder.path() / "kernels.metal").string();
    std::ofstream(options.library, std::ios::binary) << source;
    auto found = std::vector<std::string>();
    size_t ran = 0;
    for (const auto& row : op_rows()) {
        if (row.slow || family(row.op) != wanted || !column("metal").changes(row)) continue;
        if (!is_about(options, row)) continue;
        ++ran;
        for (uint64_t order = 0; order <= orders && found.empty(); ++order) {
            device.set_order_seed(order);
            run_row(row, options, found);
        }
        if (!found.empty()) break;
    }
    EXPECT_GT(ran, 0u);
    // That a row takes a kernel which was not compiled says nothing of the kernels that were.
    for (const auto& complaint : found)
        EXPECT_THAT(complaint, testing::Not(testing::HasSubstr("no kernel '")));
    return found;
}

}  // namespace

void expect_seen(const Mutation& mutation) {
    auto source =
        only_used(read_source(), mutation.seen_by, mutation.type, mutation.options.attention);
    size_t replaced = 0;
    for (size_t at = 0; (at = source.find(mutation.from, at)) != std::string::npos;
         at += mutation.to.size(), ++replaced)
        source.replace(at, mutation.from.size(), mutation.to);
    ASSERT_GT(replaced, 0u) << "the kernels no longer say: " << mutation.from;
    EXPECT_THAT(complaints(source, mutation.seen_by, mutation.options, mutation.orders),
                testing::Not(testing::IsEmpty()));
}

void expect_right_as_it_is(std::string_view wanted, std::string_view type,
                           const MetalOptions& options, uint64_t orders) {
    const auto source = only_used(read_source(), wanted, type, options.attention);
    EXPECT_THAT(complaints(source, wanted, options, orders), testing::IsEmpty());
}

}  // namespace minfer::test

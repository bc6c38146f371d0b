#include "backend/metal/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "backend/metal/context.h"
#include "backend/metal/device_rig.h"
#include "backend/metal/rig.h"
#include "base/mapped_file.h"
#include "support/nmse.h"
#include "support/random_data.h"
#include "support/tolerances.h"

namespace minfer::test {
namespace {

using metal::plan_views;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr size_t kPage = kMetalPage;

// Views as (first page, pages, weights), for a mapping whose bytes are never read.
struct View {
    size_t page = 0, pages = 0;
    std::vector<size_t> weights;
    bool operator==(const View&) const = default;
    friend void PrintTo(const View& view, std::ostream* out) {
        *out << "{" << view.page << ", " << view.pages << ", "
             << ::testing::PrintToString(view.weights) << "}";
    }
};
struct Range {
    size_t begin = 0, bytes = 0;
};
std::vector<View> views_of(const std::vector<Range>& ranges, size_t max_bytes = SIZE_MAX) {
    const auto* const base = reinterpret_cast<const std::byte*>(uintptr_t{1} << 40);
    const auto mapping = std::span(base, 1000 * kPage);
    auto weights = std::vector<std::span<const std::byte>>();
    for (const auto& [begin, bytes] : ranges) weights.emplace_back(base + begin, bytes);
    auto views = std::vector<View>();
    for (const auto& view : plan_views(mapping, weights, max_bytes))
        views.push_back({.page = static_cast<size_t>(view.pages.data() - base) / kPage,
                         .pages = view.pages.size() / kPage,
                         .weights = view.weights});
    return views;
}

TEST(PlanViews, RoundsToPagesAndMergesWhatTouches) {
    EXPECT_TRUE(views_of({}).empty());
    EXPECT_EQ(views_of({{32, 64}}), (std::vector<View>{{0, 1, {0}}}));
    // In one page; over a border; up to a border and on from it.
    EXPECT_EQ(views_of({{32, 64}, {96, 64}}), (std::vector<View>{{0, 1, {0, 1}}}));
    EXPECT_EQ(views_of({{kPage - 32, 64}}), (std::vector<View>{{0, 2, {0}}}));
    EXPECT_EQ(views_of({{0, kPage}, {kPage, kPage}}), (std::vector<View>{{0, 2, {0, 1}}}));
    // By address, not by order of registration.
    EXPECT_EQ(views_of({{kPage, 32}, {0, 32}}), (std::vector<View>{{0, 2, {1, 0}}}));
}

TEST(PlanViews, APartialPlanWrapsOnlyItsPages) {
    EXPECT_EQ(views_of({{10 * kPage + 32, 64}, {12 * kPage, 2 * kPage}, {500 * kPage, 1}}),
              (std::vector<View>{{10, 1, {0}}, {12, 2, {1}}, {500, 1, {2}}}));
}

TEST(PlanViews, SplitsBetweenTwoWeightsWhereAViewWouldBeTooLarge) {
    // Three weights of one and a half pages, end to end.
    const auto third = kPage * 3 / 2;
    const std::vector<Range> chain = {{0, third}, {third, third}, {2 * third, third}};
    EXPECT_EQ(views_of(chain, 5 * kPage), (std::vector<View>{{0, 5, {0, 1, 2}}}));
    EXPECT_EQ(views_of(chain, 5 * kPage - 1), (std::vector<View>{{0, 3, {0, 1}}, {3, 2, {2}}}));
    // Views may share a page, so that no weight is cut.
    EXPECT_EQ(views_of(chain, 2 * kPage),
              (std::vector<View>{{0, 2, {0}}, {1, 2, {1}}, {3, 2, {2}}}));
}

TEST(PlanViews, AWeightThatNoViewCanHoldIsInNone) {
    EXPECT_EQ(views_of({{0, 32}, {64, 3 * kPage}, {4 * kPage, 32}}, 2 * kPage),
              (std::vector<View>{{0, 1, {0}}, {4, 1, {2}}}));
}

TEST(PlanViews, LeavesOutWhatLiesElsewhereOrReachesOutOfTheMapping) {
    EXPECT_TRUE(views_of({{1000 * kPage, 1}, {1000 * kPage - 32, 33}}).empty());
    EXPECT_EQ(views_of({{1000 * kPage - 32, 32}}), (std::vector<View>{{999, 1, {0}}}));
}

// Every weight lies whole in exactly one view, views are ascending and no larger than allowed, and
// each page of a view is a page of one of its weights or lies between two that touch.
TEST(PlanViews, HoldsForWeightsOfAllSizes) {
    auto random = std::mt19937(3);
    for (int round = 0; round < 200; ++round) {
        const size_t max_pages = 1 + random() % 8;
        auto ranges = std::vector<Range>();
        for (size_t at = random() % (4 * kPage); ranges.size() < 40;) {
            const size_t bytes = 1 + random() % (3 * kPage);
            ranges.push_back({at, bytes});
            at += bytes + (random() % 4 == 0 ? random() % (5 * kPage) : 0);
        }
        std::ranges::shuffle(ranges, random);
        auto placed = std::map<size_t, int>();
        size_t last = 0;
        for (const auto& view : views_of(ranges, max_pages * kPage)) {
            ASSERT_LE(view.pages, max_pages);
            ASSERT_GE(view.page, last);
            last = view.page;
            auto used = std::vector<bool>(view.pages);
            for (const size_t i : view.weights) {
                ++placed[i];
                const auto first = ranges[i].begin / kPage;
                const auto end = (ranges[i].begin + ranges[i].bytes - 1) / kPage + 1;
                ASSERT_GE(first, view.page);
                ASSERT_LE(end, view.page + view.pages);
                for (auto page = first; page < end; ++page) used[page - view.page] = true;
            }
            ASSERT_TRUE(std::ranges::all_of(used, std::identity()));
        }
        for (size_t i = 0; i < ranges.size(); ++i) {
            const auto first = ranges[i].begin / kPage;
            const auto end = (ranges[i].begin + ranges[i].bytes - 1) / kPage + 1;
            ASSERT_EQ(placed[i], end - first <= max_pages ? 1 : 0);
        }
    }
}

// A model file of so many F32 weights, each of `rows` rows of 1024 elements (4 KiB).
struct WeightsTest : ::testing::Test {
    WeightFile file;
    std::map<std::string, std::vector<std::byte>> content;

    Weight make(std::string name, size_t kib) {
        content[name] = random_rows(DType::F32, kib * 256, static_cast<uint32_t>(content.size()));
        const auto data = file.add(content[name]);
        return {.name = std::move(name), .shape = {256, kib, 1, 1}, .data = data};
    }
    // That the device's bytes are the file's.
    void expect_placed(const metal::Weights& weights) {
        for (const auto& [name, bytes] : content) {
            const auto id = weights.find(name);
            ASSERT_TRUE(id) << name;
            const auto& slice = weights.at(*id).slice;
            ASSERT_NE(slice.buffer, nullptr) << name;
            ASSERT_EQ(slice.bytes, bytes.size());
            EXPECT_EQ(slice.offset % metal::kWeightAlignment, 0u);
            EXPECT_LE(slice.offset + slice.bytes, slice.buffer->length());
            EXPECT_TRUE(std::ranges::equal(std::span(slice.host(), slice.bytes), bytes)) << name;
        }
    }
    static const metal::Slice& slice(const metal::Weights& weights, std::string_view name) {
        return weights.at(*weights.find(name)).slice;
    }
};

TEST_F(WeightsTest, AreUsedWhereTheFileLies) {
    const auto device = *metal::Device::create("");
    auto weights = metal::Weights(*device);
    weights.add_mapping(file.mapping());
    const auto a = make("a", 3), b = make("b", 40);
    ASSERT_TRUE(weights.add(a));
    ASSERT_TRUE(weights.add(b));
    ASSERT_TRUE(weights.place(false));
    expect_placed(weights);
    EXPECT_EQ(slice(weights, "a").host(), a.data.data());
    EXPECT_EQ(slice(weights, "b").host(), b.data.data());
    EXPECT_EQ(slice(weights, "a").buffer, slice(weights, "b").buffer);
    EXPECT_EQ(slice(weights, "a").buffer->length(), 3 * kPage);  // 43 KiB and a bit
    EXPECT_EQ(weights.copied_bytes(), 0u);
    EXPECT_EQ(weights.bytes(), 43u * 1024);
    EXPECT_EQ(weights.untouched().size(), 1u);
    weights.mark_touched();
    EXPECT_TRUE(weights.untouched().empty());
}

TEST_F(WeightsTest, CanBeCopiedInstead) {
    const auto device = *metal::Device::create("");
    auto weights = metal::Weights(*device);
    weights.add_mapping(file.mapping());
    const auto a = make("a", 3), b = make("b", 40);
    ASSERT_TRUE(weights.add(a));
    ASSERT_TRUE(weights.add(b));
    ASSERT_TRUE(weights.place(true));
    expect_placed(weights);
    EXPECT_NE(slice(weights, "a").host(), a.data.data());
    EXPECT_EQ(slice(weights, "a").buffer->length(), 3u * 1024);
    EXPECT_EQ(slice(weights, "a").offset, 0u);
    EXPECT_EQ(weights.copied_bytes(), 43u * 1024);
    EXPECT_EQ(weights.bytes(), 43u * 1024);
    EXPECT_TRUE(weights.untouched().empty());
}

TEST_F(WeightsTest, OutsideAnyMappingOrAtOddAddressesAreCopied) {
    const auto device = *metal::Device::create("");
    auto weights = metal::Weights(*device);
    weights.add_mapping(file.mapping());
    content["made"] = random_rows(DType::F32, 256, 1);
    const auto made = Weight{.name = "made", .shape = {256, 1, 1, 1}, .data = content["made"]};
    auto odd = make("odd", 1);
    content["odd"].pop_back();
    content["odd"].erase(content["odd"].begin(), content["odd"].begin() + 3);
    odd.data = odd.data.subspan(3, 1020);
    odd.shape = {255, 1, 1, 1};
    ASSERT_TRUE(weights.add(made));
    ASSERT_TRUE(weights.add(odd));
    ASSERT_TRUE(weights.place(false));
    expect_placed(weights);
    EXPECT_EQ(slice(weights, "odd").offset, 0u);
    EXPECT_EQ(weights.copied_bytes(), 2044u);
    EXPECT_EQ(weights.bytes(), 2044u);
    EXPECT_TRUE(weights.untouched().empty());
}

TEST_F(WeightsTest, AMappingThatIsNotWholePagesIsNotWrapped) {
    const auto device = *metal::Device::create("");
    auto weights = metal::Weights(*device);
    weights.add_mapping(file.mapping().subspan(4096));
    weights.add_mapping(file.mapping().first(2 * kPage + 4096));
    ASSERT_TRUE(weights.add(make("a", 3)));
    ASSERT_TRUE(weights.place(false));
    expect_placed(weights);
    EXPECT_TRUE(weights.untouched().empty());
}

TEST_F(WeightsTest, MayComeInSeveralRoundsAndFromSeveralFiles) {
    const auto device = *metal::Device::create("");
    auto weights = metal::Weights(*device);
    auto second = WeightFile();
    weights.add_mapping(file.mapping());
    weights.add_mapping(second.mapping());
    ASSERT_TRUE(weights.add(make("a", 3)));
    ASSERT_TRUE(weights.place(false));
    const auto before = slice(weights, "a");
    content["b"] = random_rows(DType::F32, 512, 8);
    ASSERT_TRUE(
        weights.add({.name = "b", .shape = {512, 1, 1, 1}, .data = second.add(content["b"])}));
    ASSERT_TRUE(weights.add(make("c", 5)));
    ASSERT_TRUE(weights.place(false));
    expect_placed(weights);
    EXPECT_EQ(slice(weights, "a").buffer, before.buffer);
    EXPECT_NE(slice(weights, "b").buffer, slice(weights, "c").buffer);
    EXPECT_EQ(weights.untouched().size(), 3u);
    EXPECT_EQ(weights.bytes(), (3 + 2 + 5) * 1024u);
    ASSERT_TRUE(weights.place(false));  // nothing new
    EXPECT_EQ(weights.untouched().size(), 3u);
}

TEST_F(WeightsTest, AFileLargerThanABufferMayBeIsSplitAndNotRefused) {
    const auto profile = Profile({.max_buffer_bytes = 4 * kPage});
    const auto device = *metal::Device::create("");
    auto weights = metal::Weights(*device);
    weights.add_mapping(file.mapping());
    const size_t kib[] = {40, 24, 17, 62, 1, 8, 33};
    for (size_t i = 0; i < std::size(kib); ++i)
        ASSERT_TRUE(weights.add(make(fmt::format("w{}", i), kib[i])));
    ASSERT_TRUE(weights.place(false));
    expect_placed(weights);
    EXPECT_GE(weights.untouched().size(), 3u);
    for (const auto& view : weights.untouched()) EXPECT_LE(view.bytes, 4 * kPage);
    EXPECT_EQ(weights.bytes(), 185u * 1024);
}

TEST_F(WeightsTest, OneThatNoBufferCanHoldIsRefusedByName) {
    const auto profile = Profile({.max_buffer_bytes = 4 * kPage});
    const auto device = *metal::Device::create("");
    auto weights = metal::Weights(*device);
    weights.add_mapping(file.mapping());
    ASSERT_TRUE(weights.add(make("small", 1)));
    ASSERT_TRUE(weights.add(make("fits in a buffer, not in pages", 64)));
    ASSERT_TRUE(weights.place(false));
    EXPECT_EQ(slice(weights, "fits in a buffer, not in pages").offset, 0u);
    ASSERT_TRUE(weights.add(make("large", 65)));
    const auto done = weights.place(false);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().fault, Fault::OutOfMemory);
    EXPECT_THAT(done.error().what, AllOf(HasSubstr("weight 'large'"), HasSubstr("66560 bytes"),
                                         HasSubstr("allows 65536")));
    EXPECT_EQ(weights.bytes(), 130u * 1024);
}

TEST_F(WeightsTest, APlacementThatFailsKeepsWhatItPlacedAndCanBeTriedAgain) {
    for (const bool copy : {false, true}) {
        content.clear();
        const auto device = *metal::Device::create("");
        auto weights = metal::Weights(*device);
        auto second = WeightFile();
        weights.add_mapping(file.mapping());
        weights.add_mapping(second.mapping());
        ASSERT_TRUE(weights.add(make("a", 3)));
        content["b"] = random_rows(DType::F32, 512, 8);
        ASSERT_TRUE(
            weights.add({.name = "b", .shape = {512, 1, 1, 1}, .data = second.add(content["b"])}));
        softmetal::refuse_allocation(device->handle(), 2);
        const auto done = weights.place(copy);
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().fault, Fault::OutOfMemory);
        EXPECT_THAT(done.error().what, HasSubstr("'b'"));
        EXPECT_EQ(weights.bytes(), 5u * 1024);
        const auto before = slice(weights, "a");
        EXPECT_NE(before.buffer, nullptr);
        EXPECT_EQ(slice(weights, "b").buffer, nullptr);
        ASSERT_TRUE(weights.place(copy));
        EXPECT_EQ(slice(weights, "a").buffer, before.buffer);
        EXPECT_EQ(weights.untouched().size(), copy ? 0u : 2u);
        expect_placed(weights);
        EXPECT_EQ(weights.bytes(), 5u * 1024);
    }
}

TEST_F(WeightsTest, AKnownNameWithTheSameDataIsNothingNewAndWithOtherDataRefused) {
    const auto device = *metal::Device::create("");
    auto weights = metal::Weights(*device);
    const auto a = make("a", 4);
    ASSERT_TRUE(weights.add(a));
    ASSERT_TRUE(weights.add(a));
    EXPECT_EQ(weights.bytes(), 4096u);
    auto other = make("other", 4);
    other.name = "a";
    auto reshaped = a;
    reshaped.shape = {512, 2, 1, 1};
    for (const auto& weight : {other, reshaped}) {
        const auto done = weights.add(weight);
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().fault, Fault::BadInput);
        EXPECT_THAT(done.error().what, HasSubstr("weight 'a'"));
    }
    EXPECT_EQ(weights.bytes(), 4096u);
}

TEST_F(WeightsTest, WhatDoesNotFitItsShapeIsRefusedByName) {
    const auto device = *metal::Device::create("");
    auto weights = metal::Weights(*device);
    const auto bytes = std::vector<std::byte>(292);
    const auto done = weights.add({.name = "w", .shape = {73, 2, 1, 1}, .data = bytes});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().fault, Fault::BadInput);
    EXPECT_THAT(done.error().what, HasSubstr("'w': F32 [73, 2] takes 584 bytes, found 292"));
    EXPECT_EQ(weights.bytes(), 0u);
    EXPECT_TRUE(weights.add({.name = "w", .shape = {73, 1, 1, 1}, .data = bytes}));
}

TEST_F(WeightsTest, TheDeviceTouchesEveryPageOnceAtLoad) {
    const auto backend = metal_backend();
    const auto device = system_device();
    softmetal::set_memory_counters(device.get(), true);
    backend->add_mapping(file.mapping());
    auto vector = make("vector", 100);
    vector.shape = {256 * 100, 1, 1, 1};
    ASSERT_TRUE(backend->register_weight(vector));
    softmetal::reset_counters(device.get());
    ASSERT_TRUE(backend->finish_weights());
    const auto counters = softmetal::counters(device.get());
    ASSERT_EQ(counters.size(), 1u);
    EXPECT_EQ(counters[0].kernel, "warm_up_read");
    EXPECT_EQ(counters[0].dispatches, 1u);
    // 100 KiB from byte 96 on are seven pages. Of the arguments each of the 256 threads reads the
    // number of pages, and those with a page its size.
    EXPECT_EQ(counters[0].read_distinct_bytes, 7u + 8);
    EXPECT_EQ(counters[0].read_bytes, 7u + 4 * 256 + 4 * 7);
    ASSERT_TRUE(backend->finish_weights());  // nothing new to touch
    EXPECT_EQ(softmetal::counters(device.get())[0].dispatches, 1u);
}

TEST(WarmUp, AThreadReadsAPage) {
    EXPECT_EQ(metal::plan_warm_up(1), (metal::Launch{{1}, {256}}));
    EXPECT_EQ(metal::plan_warm_up(257), (metal::Launch{{2}, {256}}));
}

// As (buffer, first page, pages).
TEST(WarmUp, ACommandBufferTouchesNoMoreThanItsShareOfPages) {
    using Parts = std::vector<std::array<size_t, 3>>;
    const auto plan = [](const std::vector<size_t>& pages, size_t max_pages) {
        auto wrapped = std::vector<metal::Slice>();
        for (size_t i = 0; i < pages.size(); ++i)
            wrapped.push_back(
                {.buffer = reinterpret_cast<MTL::Buffer*>(i + 1), .bytes = pages[i] * kPage});
        auto all = std::vector<Parts>();
        for (const auto& parts : metal::plan_warm_up_submissions(wrapped, max_pages)) {
            all.emplace_back();
            for (const auto& part : parts)
                all.back().push_back({reinterpret_cast<size_t>(part.buffer), part.offset / kPage,
                                      part.bytes / kPage});
        }
        return all;
    };
    EXPECT_EQ(plan({}, 4), std::vector<Parts>());
    EXPECT_EQ(plan({4}, 4), (std::vector<Parts>{{{1, 0, 4}}}));
    EXPECT_EQ(plan({9}, 4), (std::vector<Parts>{{{1, 0, 4}}, {{1, 4, 4}}, {{1, 8, 1}}}));
    EXPECT_EQ(plan({1, 2, 6}, 4),
              (std::vector<Parts>{{{1, 0, 1}, {2, 0, 2}, {3, 0, 1}}, {{3, 1, 4}}, {{3, 5, 1}}}));
    // 30 GiB in pieces of 1 GiB.
    EXPECT_EQ(plan({size_t{30} << 16}, metal::kWarmUpPages).size(), 30u);
}

TEST_F(WeightsTest, AWarmUpThatFailsFailsTheLoad) {
    const auto backend = metal_backend();
    backend->add_mapping(file.mapping());
    auto vector = make("vector", 4);
    vector.shape = {1024, 1, 1, 1};
    ASSERT_TRUE(backend->register_weight(vector));
    softmetal::fail_next_command_buffer(system_device().get(), MTL::CommandBufferErrorPageFault);
    const auto done = backend->finish_weights();
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().what, HasSubstr("warm_up_read"));
    EXPECT_EQ(backend->weights_bytes(), 4096u);
    EXPECT_TRUE(backend->finish_weights());
}

TEST(MetalWeights, AModelAboveTheBudgetIsRefusedBeforeAnythingIsCopied) {
    const auto bytes = random_rows(DType::F32, 2048, 1);
    for (const bool copy : {false, true}) {
        const auto make = [&](size_t budget) {
            auto backend = metal_backend({.memory_budget_bytes = budget, .copy_weights = copy});
            EXPECT_TRUE(backend->alloc(1000));
            EXPECT_TRUE(
                backend->register_weight({.name = "w", .shape = {2048, 1, 1, 1}, .data = bytes}));
            EXPECT_EQ(backend->weights_bytes(), 8192u);
            return backend;
        };
        const auto backend = make(9191);
        const auto before = live("MTLBuffer");
        const auto done = backend->finish_weights();
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().fault, Fault::OutOfMemory);
        EXPECT_THAT(done.error().what,
                    AllOf(HasSubstr("8192 bytes"), HasSubstr("1000"), HasSubstr("9191")));
        EXPECT_EQ(live("MTLBuffer"), before);
        EXPECT_EQ(backend->weights_bytes(), 8192u);
        EXPECT_TRUE(make(9192)->finish_weights());
    }
}

TEST(MetalWeights, AModelBuildsMatrixKernelsOfTheTypesItsMatricesHaveAndNoOthers) {
    const auto pipelines = [] { return live("MTLComputePipelineState"); };
    for (const auto dtype : {DType::F16, DType::Q8_0}) {
        auto rig = metal_rig();
        const auto at_first = pipelines();
        rig.weight("norm", random_floats(64, 1));
        rig.weight("bias", random_floats(2, 2));
        EXPECT_EQ(pipelines(), at_first);
        rig.weight("w", dtype, {64, 2, 1, 1}, random_rows(dtype, 128, 3));
        const auto of_a_type = pipelines() - at_first;
        EXPECT_GT(of_a_type, 0u);
        rig.weight("same type", dtype, {64, 1, 1, 1}, random_rows(dtype, 64, 4));
        EXPECT_EQ(pipelines(), at_first + of_a_type);
        rig.weight("f32", DType::F32, {64, 2, 1, 1}, random_rows(DType::F32, 128, 5));
        EXPECT_EQ(pipelines(), at_first + 2 * of_a_type);
    }
}

// One that looks like a vector until a node takes it for what it is.
TEST(MetalWeights, AnF32MatrixOfOneRowIsMultipliedAndGathered) {
    const auto row = random_floats(64, 1), x = random_floats(64, 2);
    const int32_t ids[] = {0, 0};
    const auto expect_same = [&](const Op& op, Shape shape) {
        SCOPED_TRACE(op_name(op));
        const auto run = [&](OpRig rig) {
            rig.weight("row", row);
            const bool gathers = std::holds_alternative<op::Embed>(op);
            return rig.run(op, shape, {gathers ? rig.ints(ids) : rig.floats(x)});
        };
        const auto metal = run(metal_rig()), cpu = run(cpu_rig());
        EXPECT_EQ(metal.error, "");
        EXPECT_EQ(cpu.error, "");
        EXPECT_LE(nmse(metal.values, cpu.values), kMatmulBar);
    };
    expect_same(op::MatMul{.weight = "row", .dtype = DType::F32, .in_dim = 64, .out_dim = 1},
                {1, 1, 1, 1});
    expect_same(op::Embed{.weight = "row", .dtype = DType::F32, .width = 64, .vocab = 1},
                {64, 2, 1, 1});
}

TEST(MetalWeights, ATypeNoKernelRunsIsRefusedByName) {
    const auto backend = metal_backend();
    const auto done =
        backend->register_weight({.name = "w", .dtype = DType::IQ2_XXS, .shape = {256, 2, 1, 1}});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().fault, Fault::Unsupported);
    EXPECT_THAT(done.error().what, AllOf(HasSubstr("'w'"), HasSubstr("IQ2_XXS")));
    const auto vector =
        backend->register_weight({.name = "n", .dtype = DType::I32, .shape = {256, 1, 1, 1}});
    ASSERT_FALSE(vector);
    EXPECT_EQ(vector.error().fault, Fault::Unsupported);
    EXPECT_EQ(backend->weights_bytes(), 0u);
}

}  // namespace
}  // namespace minfer::test

#include "backend/metal/device/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "backend/metal/device_rig.h"
#include "backend/metal/kernels.h"
#include "backend/metal/matmul.h"
#include "backend/metal/rig.h"
#include "support/classic_attention.h"
#include "support/random_data.h"
#include "support/temp_dir.h"
#include "support/weight_types.h"

namespace minfer::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string error_of(const auto& result) { return result ? "no error" : result.error().what; }

TEST(MetalDevice, LimitsAreThoseOfTheDevice) {
    const auto profile = Profile({.name = "small",
                                  .memory_bytes = size_t{1} << 28,
                                  .max_buffer_bytes = size_t{1} << 20,
                                  .max_threadgroup_memory_bytes = 4096});
    const auto device = metal::Device::create("");
    ASSERT_TRUE(device) << error_of(device);
    EXPECT_EQ((*device)->name(), "small");
    EXPECT_TRUE((*device)->has_unified_memory());
    EXPECT_EQ((*device)->limits().threadgroup_bytes, 4096u);
    EXPECT_EQ((*device)->limits().buffer_bytes, size_t{1} << 20);
    EXPECT_EQ((*device)->limits().working_set_bytes, size_t{1} << 28);
    EXPECT_TRUE((*device)->new_buffer(size_t{1} << 20));
    const auto large = (*device)->new_buffer((size_t{1} << 20) + 1);
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().fault, Fault::OutOfMemory);
    EXPECT_THAT(large.error().what, AllOf(HasSubstr("1048577 bytes"), HasSubstr("1048576")));
}

TEST(MetalDevice, ABackendTellsWhatABannerSays) {
    const auto profile = Profile({.name = "banner", .memory_bytes = size_t{1} << 30});
    const auto backend = metal_backend();
    EXPECT_EQ(backend->device_name(), "banner");
    EXPECT_TRUE(backend->has_unified_memory());
    EXPECT_EQ(backend->working_set_bytes(), size_t{1} << 30);
    EXPECT_EQ(metal_unavailable(), std::nullopt);
}

TEST(MetalDevice, AGpuTraceHoldsWhatWasCommittedUntilTheBackendGoes) {
    const TempDir dir;
    const auto path = (dir.path() / "t.gputrace").string();
    {
        auto rig = metal_rig({.gpu_trace = path});
        const auto again = make_metal_backend({.gpu_trace = path});
        ASSERT_FALSE(again);
        EXPECT_EQ(again.error().fault, Fault::Device);
        EXPECT_THAT(again.error().what, HasSubstr("no GPU trace '" + path + "'"));
        const auto ones = std::vector<float>(4, 1);
        const auto x = rig.floats(ones), sum = rig.floats(ones);
        const BufRef in[] = {x, x};
        EXPECT_EQ(encode(rig.backend(), op::Add{}, {4, 1, 1, 1}, in, sum), "");
        ASSERT_TRUE(rig.backend().synchronize());
    }
    auto file = std::ifstream(path);
    const auto text = std::string(std::istreambuf_iterator<char>(file), {});
    EXPECT_THAT(text, HasSubstr("add_f32"));
    EXPECT_TRUE(make_metal_backend({.gpu_trace = path + "2"})) << "the first capture has ended";
}

TEST(MetalDevice, NewMemoryIsZeroAndAWrappedPageIsTheHostsOwn) {
    const auto device = *metal::Device::create("");
    const auto buffer = *device->new_buffer(1000);
    const auto bytes = std::span(whole(buffer).host(), 1000);
    EXPECT_TRUE(std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{}; }));
    alignas(16384) static std::byte page[16384];
    const auto wrapped = device->wrap(page);
    ASSERT_TRUE(wrapped) << error_of(wrapped);
    EXPECT_EQ((*wrapped)->contents(), page);
    const auto copied = device->copy(page);
    ASSERT_TRUE(copied) << error_of(copied);
    EXPECT_NE((*copied)->contents(), page);
}

// Together they take every route.
const AttentionOptions kAttentionVariants[] = {
    {},
    {.stage_packed = true},
    {.flash = false, .prefill_flash = false, .window_flash = false},
    {.share_kv_from = 1},
    kClassicAttention,
};

TEST(MetalDevice, metal_pipelines_compile) {
    const auto device = *metal::Device::create("");
    for (const auto& options : {MetalOptions{}, MetalOptions{.gemm_f32_tiles = true}}) {
        auto kernels = metal::Kernels::build(*device);
        ASSERT_TRUE(kernels) << error_of(kernels);
        for (const auto dtype : kWeightTypes) {
            const auto built = kernels->build_for(*device, dtype, options);
            EXPECT_TRUE(built) << error_of(built);
            const auto before = live("MTLComputePipelineState");
            EXPECT_TRUE(kernels->build_for(*device, dtype, options));
            EXPECT_EQ(live("MTLComputePipelineState"), before) << name(dtype) << " was built twice";
        }
    }
    auto kernels = metal::AttentionKernels();
    for (const auto cells : metal::kCellTypes)
        for (const size_t head_dim : {20, 64, 80, 96, 112, 128, 132, 256})
            for (const size_t n_tokens : {1, 9})
                for (const bool explicit_span : {false, true})
                    for (const auto& options : kAttentionVariants) {
                        const auto shape = metal::AttentionShape{.n_tokens = n_tokens,
                                                                 .n_head = 14,
                                                                 .n_head_kv = 2,
                                                                 .head_dim = head_dim,
                                                                 .n_ctx = 100,
                                                                 .cells = cells,
                                                                 .explicit_span = explicit_span};
                        const auto built = kernels.prepare(*device, shape, options);
                        EXPECT_TRUE(built) << error_of(built);
                    }
}

TEST(MetalDevice, AKernelThatCannotBeBuiltFailsTheLoadAndIsNamed) {
    const auto device = system_device();
    softmetal::fail_next_pipeline(device.get(), "no registers left");
    const auto backend = make_metal_backend();
    ASSERT_FALSE(backend);
    EXPECT_EQ(backend.error().fault, Fault::Device);
    EXPECT_THAT(backend.error().what, AllOf(HasSubstr("kernel '"), HasSubstr("no registers left")));
    EXPECT_TRUE(make_metal_backend());
}

TEST(MetalDevice, AKernelOfAWeightTypeThatCannotBeBuiltFailsTheLoadAndIsNamed) {
    const auto backend = metal_backend();
    const auto bytes = random_rows(DType::Q8_0, 256 * 2, 1);
    const auto weight =
        Weight{.name = "w", .dtype = DType::Q8_0, .shape = {256, 2, 1, 1}, .data = bytes};
    softmetal::fail_next_pipeline(system_device().get(), "no registers left");
    const auto done = backend->register_weight(weight);
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().what, AllOf(HasSubstr("q8_0'"), HasSubstr("no registers left")));
    EXPECT_FALSE(backend->find_weight("w"));
    EXPECT_TRUE(backend->register_weight(weight));
}

TEST(MetalDevice, AKernelThatCannotHaveItsThreadsIsAReasonForTheCpuWithBothNumbers) {
    {
        const auto profile = Profile({.max_threads_per_threadgroup = 255});
        const auto backend = make_metal_backend();
        ASSERT_FALSE(backend);
        EXPECT_EQ(backend.error().fault, Fault::Unsupported);
        EXPECT_THAT(backend.error().what,
                    AllOf(HasSubstr("kernel 'add_f32'"), HasSubstr("256 threads"),
                          HasSubstr("allowed are 255")));
    }
    const auto profile = Profile({.max_threads_per_threadgroup = 256});
    EXPECT_TRUE(make_metal_backend());
}

TEST(MetalDevice, AWaitWithoutABoundIsRefused) {
    for (const double bound : {0.0, -1.0, 1e7, std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()}) {
        const auto backend = make_metal_backend({.submit_bound_seconds = bound});
        ASSERT_FALSE(backend) << bound;
        EXPECT_EQ(backend.error().fault, Fault::BadInput);
    }
    EXPECT_TRUE(make_metal_backend({.submit_bound_seconds = 1e6}));
}

TEST(MetalLibrary, AFileThatIsNoneIsNamedWithTheReason) {
    const auto missing = make_metal_backend({.library = "/nowhere/kernels.metal"});
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().fault, Fault::NotFound);
    EXPECT_THAT(missing.error().what, HasSubstr("'/nowhere/kernels.metal': no such file"));

    for (const auto* const name : {"garbage.metallib", "garbage.smlib"}) {
        const auto file = TempFile(name, "this is not a library");
        const auto garbage = make_metal_backend({.library = file.path()});
        ASSERT_FALSE(garbage);
        EXPECT_EQ(garbage.error().fault, Fault::BadInput);
        const auto& what = garbage.error().what;
        EXPECT_THAT(what, HasSubstr(file.path()));
        EXPECT_EQ(what.find(file.path()), what.rfind(file.path())) << "named once";
    }
    const auto dir = TempDir();
    for (const auto& path : {dir.path().string(), std::string("/dev/null")}) {
        const auto other = make_metal_backend({.library = path});
        ASSERT_FALSE(other);
        EXPECT_THAT(other.error().what, HasSubstr("'" + path + "': not a regular file"));
    }
    const auto bytes = TempFile("bytes.metal", "// \xff\n");
    const auto backend = make_metal_backend({.library = bytes.path()});
    ASSERT_FALSE(backend);
    EXPECT_THAT(backend.error().what, HasSubstr("bytes.metal': byte 3 is not UTF-8"));
    const auto zeros = TempFile("zero.metal", std::string_view("// \0\n", 5));
    const auto cut = make_metal_backend({.library = zeros.path()});
    ASSERT_FALSE(cut);
    EXPECT_THAT(cut.error().what, HasSubstr("zero.metal': byte 3 is zero, not text"));
    const auto path = make_metal_backend({.library = "a\xff.smlib"});
    ASSERT_FALSE(path);
    EXPECT_THAT(path.error().what,
                HasSubstr("kernel library 'a\\xff.smlib': byte 1 of the path is not UTF-8"));
    std::filesystem::create_symlink("loop", dir.path() / "loop");
    const auto loop = make_metal_backend({.library = (dir.path() / "loop").string()});
    ASSERT_FALSE(loop);
    EXPECT_THAT(loop.error().what, AllOf(HasSubstr("loop': "), HasSubstr("symbolic links")));
}

TEST(MetalLibrary, SourceThatDoesNotCompileIsNamedWithWhatTheCompilerSays) {
    const auto file = TempFile("broken.metal", "kernel void broken( { no_such_thing; }\n");
    const auto backend = make_metal_backend({.library = file.path()});
    ASSERT_FALSE(backend);
    EXPECT_THAT(backend.error().what,
                AllOf(HasSubstr(file.path()), HasSubstr("error:"), Not(HasSubstr("\n"))));
}

TEST(MetalLibrary, AKernelItLacksIsNamed) {
    const auto file = TempFile("other.metal", kTestKernels);
    const auto backend = make_metal_backend({.library = file.path()});
    ASSERT_FALSE(backend);
    EXPECT_EQ(backend.error().fault, Fault::NotFound);
    EXPECT_THAT(backend.error().what, HasSubstr(file.path() + "' has no kernel '"));
}

// What operations of every family give.
std::vector<float> results(const MetalOptions& options) {
    auto rig = metal_rig(options);
    auto all = std::vector<float>();
    const auto run = [&](const Op& op, Shape shape, std::initializer_list<BufRef> in) {
        const auto [values, error] = rig.run(op, shape, in);
        EXPECT_EQ(error, "") << op_name(op);
        all.insert(all.end(), values.begin(), values.end());
    };
    constexpr size_t kWidth = 256, kTokens = 33;
    const auto x = rig.floats(random_floats(kWidth * kTokens, 1, 4));
    const auto y = rig.floats(random_floats(kWidth * kTokens, 2, 4));
    const auto ids = rig.ints(std::vector<int32_t>{3, 39, 0, 3, 17});
    const auto shape = Shape{kWidth, kTokens, 1, 1};
    run(op::Add{}, shape, {x, y});
    run(op::Mul{}, shape, {x, y});
    run(op::Silu{}, shape, {x});
    run(op::SwiGlu{}, shape, {x, y});
    rig.weight("norm", random_floats(kWidth, 3));
    run(op::RmsNorm{.weight = "norm"}, shape, {x});
    for (const auto dtype : kWeightTypes) {
        if (!rig.backend().supports_weight(dtype)) continue;
        const auto weight = std::string(name(dtype));
        rig.weight(weight, dtype, {kWidth, 40, 1, 1}, random_rows(dtype, kWidth * 40, 4));
        run(op::Embed{.weight = weight, .dtype = dtype, .width = kWidth, .vocab = 40},
            {kWidth, 5, 1, 1}, {ids});
        for (const size_t n : {size_t{1}, size_t{3}, kTokens}) {
            auto some = x;
            some.bytes = kWidth * n * sizeof(float);
            run(op::MatMul{.weight = weight, .dtype = dtype, .in_dim = kWidth, .out_dim = 40},
                {40, n, 1, 1}, {some});
        }
    }
    return all;
}

TEST(MetalLibrary, GivesTheSameBytesBuiltInCompiledInAFileAndFromSource) {
    const auto built_in = results({});
    const auto expect_same = [&](const char* library) {
        const auto got = results({.library = library});
        ASSERT_EQ(got.size(), built_in.size());
        EXPECT_EQ(std::memcmp(got.data(), built_in.data(), got.size() * sizeof(float)), 0);
    };
    expect_same(MINFER_KERNELS_SOURCE);
    expect_same(MINFER_KERNELS_COMPILED);
    EXPECT_GE(built_in.size(), 5u * 256 * 33);
}

TEST(MetalLibrary, TheSameKernelsAreInTheSourceAndInTheCompiledLibrary) {
    auto compiled = (*metal::Device::create(""))->kernel_names();
    auto source = (*metal::Device::create(MINFER_KERNELS_SOURCE))->kernel_names();
    std::ranges::sort(compiled);
    std::ranges::sort(source);
    EXPECT_EQ(source, compiled);
}

}  // namespace
}  // namespace minfer::test

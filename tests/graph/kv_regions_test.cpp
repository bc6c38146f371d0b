#include "graph/kv_regions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_backend.h"

namespace minfer {
namespace {

using ::testing::HasSubstr;

TEST(KvRegions, AreMadeOnceInTheirExactSize) {
    FakeBackend cpu{BackendId::Cpu};
    cpu.kv_formats = {KvFormat::F32, KvFormat::F16, KvFormat::Q8_0};
    KvRegions kv;
    const auto f32 = kv.ensure(0, cpu, kv_layout(KvFormat::F32, 96), 10);
    ASSERT_TRUE(f32);
    EXPECT_EQ(f32->k.bytes, 3840u);
    EXPECT_EQ(f32->v.bytes, 3840u);
    EXPECT_NE(f32->k.id, f32->v.id);
    EXPECT_EQ(cpu.pool_bytes(), 2 * 3840u);
    EXPECT_EQ(kv.ensure(1, cpu, kv_layout(KvFormat::F16, 96), 10)->k.bytes, 1920u);
    EXPECT_EQ(kv.ensure(2, cpu, kv_layout(KvFormat::Q8_0, 96), 10)->k.bytes, 1040u);
    const auto again = kv.ensure(0, cpu, kv_layout(KvFormat::F32, 96), 10);
    EXPECT_EQ(again->k, f32->k);
    EXPECT_EQ(kv.find(0)->v, f32->v);
    EXPECT_EQ(cpu.pool_count(), 6u);
    EXPECT_FALSE(kv.find(3));
}

TEST(KvRegions, RefuseAChangeOfALiveCache) {
    FakeBackend cpu{BackendId::Cpu}, metal{BackendId::Metal, "metal"};
    cpu.kv_formats = metal.kv_formats = {KvFormat::F32, KvFormat::F16};
    KvRegions kv;
    ASSERT_TRUE(kv.ensure(4, cpu, kv_layout(KvFormat::F32, 64), 10));
    const auto refused = [&](Backend& backend, KvFormat format, size_t n_ctx) {
        const auto result = kv.ensure(4, backend, kv_layout(format, 64), n_ctx);
        EXPECT_FALSE(result);
        return result ? "" : result.error().what;
    };
    EXPECT_EQ(refused(cpu, KvFormat::F32, 11),
              "kv.4: n_ctx, format or placement changed on a live cache: 10 cells of 64 f32 on "
              "cpu, now 11 cells of 64 f32 on cpu");
    EXPECT_THAT(refused(cpu, KvFormat::F16, 10), HasSubstr("now 10 cells of 64 f16 on cpu"));
    EXPECT_THAT(refused(metal, KvFormat::F32, 10), HasSubstr("now 10 cells of 64 f32 on metal"));
}

TEST(KvRegions, RefuseAFormatTheBackendCannotRead) {
    FakeBackend cpu{BackendId::Cpu};
    KvRegions kv;
    const auto result = kv.ensure(0, cpu, kv_layout(KvFormat::Q8_0, 64), 10);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().fault, Fault::Unsupported);
    EXPECT_EQ(result.error().what, "kv.0: backend cpu does not read q8_0 cells");
}

TEST(KvRegions, KeepNothingOfAnAllocationThatFailedHalfWay) {
    FakeBackend cpu{BackendId::Cpu};
    cpu.allocs_left = 1;
    {
        KvRegions kv;
        const auto result = kv.ensure(7, cpu, kv_layout(KvFormat::F32, 64), 10);
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().fault, Fault::OutOfMemory);
        EXPECT_THAT(result.error().what, HasSubstr("kv.7.v: "));
        EXPECT_FALSE(kv.find(7));
        EXPECT_EQ(cpu.buffers_in_use(), 0u);
    }
    EXPECT_EQ(cpu.buffers_in_use(), 0u);
}

TEST(KvRegions, GoBackToThePoolAtTheEnd) {
    FakeBackend cpu{BackendId::Cpu};
    {
        KvRegions kv;
        ASSERT_TRUE(kv.ensure(0, cpu, kv_layout(KvFormat::F32, 64), 10));
        EXPECT_EQ(cpu.buffers_in_use(), 2u);
    }
    EXPECT_EQ(cpu.buffers_in_use(), 0u);
}

}  // namespace
}  // namespace minfer

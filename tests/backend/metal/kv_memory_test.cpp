// What a layer's regions take of the device, by its own account.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/metal/cell_types.h"
#include "backend/metal/device_rig.h"
#include "backend/metal/rig.h"
#include "graph/kv_regions.h"

namespace minfer::test {
namespace {

class MetalKvMemory : public testing::TestWithParam<metal::CellType> {};

INSTANTIATE_TEST_SUITE_P(Cells, MetalKvMemory, testing::ValuesIn(metal::kCellTypes),
                         [](const auto& info) { return std::string(metal::name(info.param)); });

// 4096 cells of whole words are whole pages of the device.
TEST_P(MetalKvMemory, TheDeviceHoldsTheBytesOfTheFormatAndNoMore) {
    constexpr size_t kCells = 4096;
    const auto bytes_of = [&](size_t width) {
        switch (format_of(GetParam())) {
            case KvFormat::F32:
                return 4 * width;
            case KvFormat::F16:
                return 2 * width;
            case KvFormat::Q8_0:
                return 4 * ((34 * (width / 32) + 3) / 4);
        }
        std::unreachable();
    };
    const auto device = system_device();
    for (const size_t width : {32, 96, 128, 1024}) {
        const auto backend = metal_backend(with_cells(GetParam()));
        const auto before = device->currentAllocatedSize();
        KvRegions regions;
        const auto made =
            regions.ensure(0, *backend, kv_layout(format_of(GetParam()), width), kCells);
        ASSERT_TRUE(made) << made.error().what;
        EXPECT_EQ(made->k.bytes, bytes_of(width) * kCells);
        EXPECT_EQ(backend->pool_bytes(), 2 * bytes_of(width) * kCells);
        EXPECT_EQ(device->currentAllocatedSize() - before, 2 * bytes_of(width) * kCells);
    }
}

}  // namespace
}  // namespace minfer::test

// What a product of one token reads.

#include <gmock/gmock.h>

#include "backend/metal/product_rig.h"
#include "softmetal/control.h"

namespace minfer::test {
namespace {

class MetalMulMvReads : public Products {};

// What a SIMD group reads twice counts once: a cache has it. Of activations each row group needs
// the whole width, whether one SIMD group has the row or several share it.
uint64_t activation_bytes(const metal::Matrices& matrices) {
    const auto plan = *metal::plan_mul_mv(matrices, 1, metal::MatmulTier::Single);
    const auto simdgroups = plan.launch.threads.x / metal::kSimdWidth;
    const bool shared = info(matrices.dtype).block_values == 1 || matrices.dtype == DType::Q8_0;
    const auto rows = plan.args.rows_per_group / (shared ? 1 : simdgroups);
    return uint64_t{metal::ceil_div(matrices.rows[0], rows)} * matrices.in_dim * sizeof(float);
}

// The kernel's arguments, which every SIMD group reads too, are counted with the weights.
TEST_F(MetalMulMvReads, EachWeightIsReadByOneSimdGroupAndOnce) {
    open();
    auto* const device = context_->device->handle();
    softmetal::set_memory_counters(device, true);
    for (const auto dtype : kWeightTypes)
        for (const uint32_t rows : {64, 61}) {
            const auto matrices = upload(dtype, 2304, {rows});
            softmetal::reset_counters(device);
            multiply(matrices, random_floats(matrices.in_dim, 10));
            const auto counters = softmetal::counters(device);
            ASSERT_EQ(counters.size(), 1u);
            const auto activations = activation_bytes(matrices);
            const auto weights = counters[0].read_distinct_in_simdgroup_bytes - activations;
            const auto bytes = matrices.weights[0].bytes;
            EXPECT_GE(weights, bytes) << name(dtype);
            EXPECT_LE(static_cast<double>(weights), 1.05 * static_cast<double>(bytes))
                << name(dtype) << ", besides " << activations << " bytes of activations";
        }
}

}  // namespace
}  // namespace minfer::test

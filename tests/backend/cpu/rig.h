#pragma once
// The operation rig on a CPU backend, and tests that run for every instruction set.

#include "backend/cpu/cpu_backend.h"
#include "support/op_rig.h"

namespace minfer::test {

inline std::string isa_name(CpuIsa isa) {
    switch (isa) {
        case CpuIsa::Auto:
            return "auto";
        case CpuIsa::Scalar:
            return "scalar";
        case CpuIsa::Avx2:
            return "avx2";
        case CpuIsa::Neon:
            return "neon";
    }
    return "?";
}

class Rig : public OpRig {
  public:
    explicit Rig(CpuOptions options = {}) : OpRig(make_cpu_backend(options)) {}

    CpuBackend& backend() { return static_cast<CpuBackend&>(OpRig::backend()); }
};

// A test that runs once for every instruction set of this machine.
class EveryIsa : public testing::TestWithParam<CpuIsa> {
  protected:
    CpuOptions options() const { return {.isa = GetParam()}; }
};

inline auto isa_test_name(const testing::TestParamInfo<CpuIsa>& param) {
    return isa_name(param.param);
}

#define MINFER_FOR_EVERY_ISA(Suite)   \
    class Suite : public EveryIsa {}; \
    INSTANTIATE_TEST_SUITE_P(Isa, Suite, testing::ValuesIn(cpu_isas()), isa_test_name)

}  // namespace minfer::test

#pragma once
// One function per operation. Errors give the values at fault; execute() puts the node in front.

#include "backend/cpu/context.h"

namespace minfer::cpu {

Result<> run(Context&, const Call&, const op::Add&);
Result<> run(Context&, const Call&, const op::Mul&);
Result<> run(Context&, const Call&, const op::Scale&);
Result<> run(Context&, const Call&, const op::Silu&);
Result<> run(Context&, const Call&, const op::SwiGlu&);
Result<> run(Context&, const Call&, const op::Softmax&);
Result<> run(Context&, const Call&, const op::RmsNorm&);
Result<> run(Context&, const Call&, const op::QkNorm&);
Result<> run(Context&, const Call&, const op::MatMul&);
Result<> run(Context&, const Call&, const op::Embed&);
Result<> run(Context&, const Call&, const op::GatherRows&);
Result<> run(Context&, const Call&, const op::Rope&);
Result<> run(Context&, const Call&, const op::KvStore&);
Result<> run(Context&, const Call&, const op::Attention&);

// Nothing to compute: the host fills inputs, the planner places views, loads only name a region.
inline Result<> run(Context&, const Call&, const op::Input&) { return {}; }
inline Result<> run(Context&, const Call&, const op::View&) { return {}; }
inline Result<> run(Context&, const Call&, const op::KvLoad&) { return {}; }

// Decode fusions of devices; supports() refuses them.
inline Result<> run(Context&, const Call&, const op::FusedQkv&) {
    return fail(Fault::Unsupported, "a fused projection does not run on the CPU");
}
inline Result<> run(Context&, const Call&, const op::FusedQkvNorm&) {
    return fail(Fault::Unsupported, "a fused projection does not run on the CPU");
}
inline Result<> run(Context&, const Call&, const op::FusedFfn&) {
    return fail(Fault::Unsupported, "a fused feed-forward does not run on the CPU");
}

}  // namespace minfer::cpu

#pragma once
// One function per operation: checks what it was given, then encodes. Errors give the values at
// fault; execute() puts the node in front. Guards come first, and nothing falls through.

#include "backend/metal/context.h"

namespace minfer::metal {

Result<> run(Context&, const Call&, const op::Add&);
Result<> run(Context&, const Call&, const op::Mul&);
Result<> run(Context&, const Call&, const op::Silu&);
Result<> run(Context&, const Call&, const op::SwiGlu&);
Result<> run(Context&, const Call&, const op::RmsNorm&);
Result<> run(Context&, const Call&, const op::QkNorm&);
Result<> run(Context&, const Call&, const op::Embed&);
Result<> run(Context&, const Call&, const op::GatherRows&);
Result<> run(Context&, const Call&, const op::MatMul&);
Result<> run(Context&, const Call&, const op::Rope&);
Result<> run(Context&, const Call&, const op::KvStore&);
Result<> run(Context&, const Call&, const op::Attention&);
Result<> run(Context&, const Call&, const op::FusedQkv&);
Result<> run(Context&, const Call&, const op::FusedQkvNorm&);
Result<> run(Context&, const Call&, const op::FusedFfn&);

// Nothing to compute: the host fills inputs, the planner places views, loads only name a region.
inline Result<> run(Context&, const Call&, const op::Input&) { return {}; }
inline Result<> run(Context&, const Call&, const op::View&) { return {}; }
inline Result<> run(Context&, const Call&, const op::KvLoad&) { return {}; }

// Operations that no kernel runs; supports() says so.
inline Result<> run(Context&, const Call& call, const auto&) {
    return fail(Fault::Unsupported, "{} does not run on Metal", op_name(call.node->op));
}

// Makes ready what the node takes and returns the scratch it wants (Backend::prepare).
Result<size_t> prepare(Context&, const Node&, const op::KvStore&);
Result<size_t> prepare(Context&, const Node&, const op::Attention&);
Result<size_t> prepare(Context&, const Node&, const op::FusedQkv&);
Result<size_t> prepare(Context&, const Node&, const op::FusedQkvNorm&);
Result<size_t> prepare(Context&, const Node&, const op::FusedFfn&);
Result<size_t> prepare(Context&, const Node&, const op::MatMul&);
Result<size_t> prepare(Context&, const Node&, const op::Embed&);
Result<size_t> prepare(Context&, const Node&, const op::Rope&);
inline Result<size_t> prepare(Context&, const Node&, const auto&) { return 0; }

}  // namespace minfer::metal

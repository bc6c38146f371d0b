#pragma once
// One operation at a time on Metal, and on the CPU's exact mode beside it.

#include "backend/cpu/cpu_backend.h"
#include "backend/metal/metal_backend.h"
#include "support/op_rig.h"

namespace minfer::test {

inline std::unique_ptr<MetalBackend> metal_backend(const MetalOptions& options = {}) {
    auto backend = make_metal_backend(options);
    EXPECT_TRUE(backend) << backend.error().what;
    return std::move(*backend);
}

inline OpRig metal_rig(const MetalOptions& options = {}) { return OpRig(metal_backend(options)); }

inline OpRig cpu_rig() { return OpRig(make_cpu_backend({.activations = CpuActivations::F32})); }

// Encodes one operation and waits for nothing: what it gives lies in the future of the next.
inline std::string encode(Backend& backend, Op op, Shape shape, std::span<const BufRef> in,
                          BufRef out, std::optional<KvPair> kv = {}) {
    const auto node = Node{.name = "tested", .op = std::move(op), .shape = shape};
    const auto wanted = backend.prepare(node);
    if (!wanted) return wanted.error().what;
    auto scratch = BufRef{.backend = backend.id(), .bytes = *wanted};
    if (*wanted) scratch.id = *backend.alloc(*wanted);  // as long as the backend lives
    const auto done =
        backend.execute({.node = &node, .in = in, .out = out, .kv = kv, .scratch = scratch});
    return done ? "" : done.error().what;
}

// Options under which the labels of all dispatches are kept in `labels`.
inline MetalOptions traced(std::vector<std::string>* labels) {
    return {.trace_labels = [labels](std::string_view label) { labels->emplace_back(label); }};
}

}  // namespace minfer::test

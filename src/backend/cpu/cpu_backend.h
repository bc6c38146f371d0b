#pragma once
// The CPU backend: SIMD kernels on a thread pool, and the reference other backends are held to.
//
// A result depends on the instruction set and on the activation mode, never on the number of
// threads or on how many rows are computed together: each output element has one accumulation
// order, so a prompt fed in pieces gives the bits of the prompt fed whole.

#include <memory>
#include <span>
#include <vector>

#include "graph/backend.h"

namespace minfer {

// How activations meet quantised weight matrices, and queries meet q8_0 cells of K.
enum class CpuActivations : uint8_t {
    Quantized,  // rounded to 8 bits per block of 32 or 256, integer dot products: fast
    F32,        // weights and cells are dequantised instead: exact, the oracle for other backends
};

enum class CpuIsa : uint8_t { Auto, Scalar, Avx2, Neon };

struct CpuOptions {
    int threads = 1;  // >= 1, the calling thread included
    CpuActivations activations = CpuActivations::Quantized;
    CpuIsa isa = CpuIsa::Auto;  // another than Auto must be one of cpu_isas()
};

// The instruction sets this build has kernels for and this machine can run, best last.
std::vector<CpuIsa> cpu_isas();

namespace cpu {
struct Context;
}

class CpuBackend final : public Backend {
  public:
    explicit CpuBackend(CpuOptions options);
    ~CpuBackend() override;

    BackendId id() const override { return BackendId::Cpu; }
    std::string_view name() const override { return "cpu"; }

    bool supports(const Op& op, DType dtype) const override;
    bool supports_weight(DType dtype) const override;
    bool supports_attn_span() const override { return true; }
    bool supports_swiglu_fusion() const override { return true; }
    bool reads_kv(KvFormat) const override { return true; }

    // Borrows the bytes, which are 4-byte aligned: nothing is copied. Shapes are [in_dim, out_dim]
    // or [width].
    Result<> register_weight(const Weight& weight) override;
    std::optional<WeightId> find_weight(std::string_view name) const override;
    size_t weights_bytes() const override;

    Result<BufferId> alloc(size_t bytes) override;
    Result<BufferId> alloc_fresh(size_t bytes) override;
    void free(BufferId id) override;
    size_t pool_count() const override;
    size_t pool_bytes() const override;

    Result<> execute(const Call& call) override;
    Result<> copy_cells(BufRef region, size_t dst_row, size_t src_row, size_t rows,
                        size_t row_bytes) override;
    Result<> write(BufRef to, std::span<const std::byte> from) override;
    Result<> read(BufRef from, std::span<std::byte> to) override;
    Result<> synchronize() override { return {}; }  // execute() returns when the work is done

    // The memory behind a reference, valid until the backend dies.
    std::span<std::byte> host_view(BufRef ref);

    // OutOfMemory when the system refused some of the threads asked for. It works with fewer.
    Result<> has_its_threads() const;

    // Which kernels run: "scalar", "avx2", "neon".
    std::string_view isa() const;

    // Bytes of scratch held; grows only when a larger operation than any before is executed.
    size_t scratch_bytes() const;

  private:
    std::unique_ptr<cpu::Context> context_;
};

std::unique_ptr<CpuBackend> make_cpu_backend(CpuOptions options = {});

}  // namespace minfer

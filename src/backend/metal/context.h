#pragma once
// What the operations share while they encode: device, memory, weights, kernels, and the command
// buffer of the split.

#include "backend/metal/captures.h"
#include "backend/metal/device/command_buffer.h"
#include "backend/metal/device/device.h"
#include "backend/metal/device/gpu_capture.h"
#include "backend/metal/kernels.h"
#include "backend/metal/metal_backend.h"
#include "backend/metal/pool.h"
#include "backend/metal/weights.h"

namespace minfer::metal {

struct Context {
    static Result<std::unique_ptr<Context>> create(const MetalOptions& options);
    ~Context();

    const MetalOptions options;
    const std::unique_ptr<Device> device;
    std::unique_ptr<GpuCapture> gpu_capture;
    Pool pool{*device};
    Captures captures{pool};
    Weights weights{*device};
    InvFreq inv_freq;
    Kernels kernels;
    MetalCounters counters;
    size_t budget_bytes = 0;

    // Encodes into the split's command buffer, which the first dispatch opens.
    template <class Args>
    Result<> dispatch(const Pipeline& pipeline, const Launch& launch,
                      std::initializer_list<Slice> buffers, const Args& args) {
        auto* const commands = MINFER_TRY(open());
        MINFER_TRY(commands->dispatch(pipeline, launch, buffers, args));
        if (options.trace_labels) options.trace_labels(pipeline.name);
        return {};
    }
    Result<CommandBuffer*> open();
    // Submits what was encoded, if anything, and waits, for what was given up earlier as well.
    // Afterwards host memory is current.
    Result<> submit();
    // Shows the value at once when nothing is encoded, else has the command buffer copy it aside
    // and shows it when that has ended.
    Result<> capture(const BufRef& from, Backend::Seen seen);
    // Ends a split in which `cause` happened, so that nothing of it runs with a later one: what was
    // encoded before is submitted, as moved cells have to stay moved. Returns `cause`.
    std::unexpected<Error> give_up_split(Error cause);

    // Memory of a call as `count` elements of four bytes; BadInput naming both sizes when the
    // reference's logical length differs, and for none: a grid of nothing cannot be launched.
    Result<Slice> words_in(const Call& call, size_t source, size_t count) const;
    Result<Slice> words_out(const Call& call, size_t count) const;
    // The host's view of an integer source: those are written by the host, never by a kernel.
    Result<std::span<const int32_t>> ints_in(const Call& call, size_t source, size_t count) const;

    // The `index`-th weight of the call, as f32[count] and as dtype[rows][in_dim]. NotFound when
    // the call has no such weight or it was not placed, BadInput naming it when it is something
    // else.
    Result<Slice> vector_weight(const Call& call, size_t index, size_t count) const;
    Result<Slice> matrix_weight(const Call& call, size_t index, DType dtype, size_t in_dim,
                                size_t rows) const;
    // The kernels for matrices of a node that is mapped. One of their own weights may not have
    // brought them: an F32 matrix of one row looks like a vector, and nodes are asked for what they
    // take before any weight is registered. Nothing for a type that does not run, which run() says.
    Result<> prepare_matrix(DType dtype);

  private:
    Context(const MetalOptions& opts, std::unique_ptr<Device> dev)
        : options(opts), device(std::move(dev)) {}
    Result<> wait_for_abandoned();
    Result<const Weights::Placed*> weight(const Call& call, size_t index) const;

    std::optional<CommandBuffer> commands_;  // empty while there is abandoned work
    Completion completion_;
};

}  // namespace minfer::metal

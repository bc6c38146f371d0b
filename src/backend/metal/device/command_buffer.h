#pragma once
// One command buffer with one serial compute encoder: dispatches in order, a barrier after each,
// submitted once and waited for with a bound.

#include <Metal/Metal.hpp>
#include <initializer_list>
#include <memory>
#include <semaphore>
#include <type_traits>

#include "backend/metal/device/device.h"
#include "backend/metal/device/launch.h"

namespace minfer::metal {

// The last dispatches of a command buffer, for the message when it fails.
class LabelRing {
  public:
    void add(std::string_view label) { labels_[count_++ % labels_.size()] = label; }
    // "rms_norm_f32, mul_mv_q4_0": the oldest first.
    std::string text() const;

  private:
    std::array<std::string_view, 16> labels_;  // names of pipelines, which outlive the ring
    size_t count_ = 0;
};

// Work that was committed: shared with the completion handler, which may run after the wait for it
// was given up.
struct Flight {
    std::binary_semaphore done{0};
    NS::SharedPtr<MTL::CommandBuffer> commands;
};

class CommandBuffer {
  public:
    // Device when the queue hands out none.
    static Result<std::unique_ptr<CommandBuffer>> open(const Device& device);
    ~CommandBuffer();  // not submitted: the work is dropped

    // Binds `buffers` at 0, 1, ..., then the bytes of `args`. Device naming kernel and both numbers
    // when the launch exceeds a limit; then nothing was encoded.
    template <class Args>
    Result<> dispatch(const Pipeline& pipeline, const Launch& launch,
                      std::initializer_list<Slice> buffers, const Args& args) {
        static_assert(std::is_trivially_copyable_v<Args> && sizeof(Args) <= 4096);
        return dispatch_bytes(pipeline, launch, {buffers.begin(), buffers.size()},
                              std::as_bytes(std::span(&args, 1)));
    }
    Result<> dispatch_bytes(const Pipeline& pipeline, const Launch& launch,
                            std::span<const Slice> buffers, std::span<const std::byte> args);

    // Copies between slices of equal size that do not overlap, ordered with the dispatches and with
    // each other.
    Result<> copy(const Slice& from, const Slice& to);

    // Commits and waits `bound_seconds` at most. Device carrying the status and the labels. When
    // the bound passed, `pending` is the work that may still touch its buffers.
    Result<> submit(double bound_seconds, std::shared_ptr<Flight>* pending);

    const LabelRing& labels() const { return labels_; }
    size_t dispatches() const { return dispatches_; }
    size_t barriers() const { return barriers_; }

  private:
    explicit CommandBuffer(const Device& device) : device_(device) {}
    Result<> open_compute();
    void close_encoders();

    const Device& device_;
    std::shared_ptr<Flight> flight_;
    NS::SharedPtr<MTL::ComputeCommandEncoder> compute_;
    NS::SharedPtr<MTL::BlitCommandEncoder> blit_;
    LabelRing labels_;
    size_t dispatches_ = 0, barriers_ = 0;
};

}  // namespace minfer::metal

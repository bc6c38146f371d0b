#pragma once
// One command buffer with one serial compute encoder: dispatches in order, a barrier after each,
// submitted once and waited for with a bound.

#include <Metal/Metal.hpp>
#include <initializer_list>
#include <memory>
#include <optional>
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

// Hears that committed work has ended; one for any number of submissions, one after the other. The
// handler that Metal calls holds what it needs itself, as it may run after the wait was given up
// and all this is gone. waitUntilCompleted has no bound and wakes late.
class Completion {
  public:
    Completion();
    ~Completion();
    Completion(const Completion&) = delete;
    Completion& operator=(const Completion&) = delete;

    // Before the commit; the work before it has ended.
    void expect(MTL::CommandBuffer* commands);
    // Whether the work ended within the bound.
    bool wait(double bound_seconds);
    // Until it ends. A command buffer that hangs is ended by the system.
    void wait_for_end();
    // There is work whose wait was given up, and which may still touch its buffers.
    bool is_pending() const { return is_pending_; }

  private:
    std::shared_ptr<std::binary_semaphore> done_;  // shared with the handler
    MTL::CommandBufferHandler handler_;  // copied once, so that submitting allocates nothing
    bool is_pending_ = false;
};

class CommandBuffer {
  public:
    // Device when the queue hands out none.
    static Result<CommandBuffer> open(const Device& device);
    CommandBuffer(CommandBuffer&&) = default;
    CommandBuffer& operator=(CommandBuffer&&) = delete;
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

    // Commits and waits `bound_seconds` at most. Device carrying the status and the labels; Timeout
    // with the same when the bound passed: then the work is still pending in `completion`.
    Result<> submit(double bound_seconds, Completion& completion);

    const LabelRing& labels() const { return labels_; }
    size_t dispatches() const { return dispatches_; }
    size_t barriers() const { return barriers_; }

  private:
    explicit CommandBuffer(const Device& device) : device_(device) {}
    Result<> open_compute();
    void close_encoders();

    const Device& device_;
    NS::SharedPtr<MTL::CommandBuffer> commands_;  // null once moved from
    NS::SharedPtr<MTL::ComputeCommandEncoder> compute_;
    NS::SharedPtr<MTL::BlitCommandEncoder> blit_;
    LabelRing labels_;
    size_t dispatches_ = 0, barriers_ = 0;
};

}  // namespace minfer::metal

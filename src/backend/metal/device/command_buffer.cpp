#include "backend/metal/device/command_buffer.h"

#include <Block.h>

#include <algorithm>
#include <chrono>

namespace minfer::metal {
namespace {

std::string_view status_name(MTL::CommandBufferStatus status) {
    switch (status) {
        case MTL::CommandBufferStatusNotEnqueued:
            return "NotEnqueued";
        case MTL::CommandBufferStatusEnqueued:
            return "Enqueued";
        case MTL::CommandBufferStatusCommitted:
            return "Committed";
        case MTL::CommandBufferStatusScheduled:
            return "Scheduled";
        case MTL::CommandBufferStatusCompleted:
            return "Completed";
        case MTL::CommandBufferStatusError:
            return "Error";
    }
    return "an unknown status";
}

}  // namespace

std::string LabelRing::text() const {
    if (count_ == 0) return "none";
    std::string text;
    const auto first = count_ - std::min(count_, labels_.size());
    for (auto i = first; i < count_; ++i)
        text += fmt::format("{}{}", text.empty() ? "" : ", ", labels_[i % labels_.size()]);
    return text;
}

Completion::Completion() : done_(std::make_shared<std::binary_semaphore>(0)) {
    const auto done = done_;
    handler_ = Block_copy(^(MTL::CommandBuffer*) {
      done->release();
    });
}

Completion::~Completion() { Block_release(handler_); }

void Completion::expect(MTL::CommandBuffer* commands) {
    MINFER_ASSERT(!is_pending_);
    is_pending_ = true;
    commands->addCompletedHandler(handler_);
}

bool Completion::wait(double bound_seconds) {
    MINFER_ASSERT(is_pending_);
    is_pending_ = !done_->try_acquire_for(std::chrono::duration<double>(bound_seconds));
    return !is_pending_;
}

void Completion::wait_for_end() {
    MINFER_ASSERT(is_pending_);
    done_->acquire();
    is_pending_ = false;
}

Result<CommandBuffer> CommandBuffer::open(const Device& device) {
    const AutoreleaseScope scope;
    auto opened = CommandBuffer(device);
    opened.commands_ = NS::RetainPtr(device.queue()->commandBuffer());
    if (!opened.commands_)
        return fail(Fault::Device, "{}: the queue has no command buffer", device.name());
    return opened;
}

CommandBuffer::~CommandBuffer() {
    if (!compute_ && !blit_) return;
    const AutoreleaseScope scope;
    close_encoders();
}

Result<> CommandBuffer::open_compute() {
    if (compute_) return {};
    const AutoreleaseScope scope;
    close_encoders();
    compute_ = NS::RetainPtr(commands_->computeCommandEncoder());
    if (!compute_) return fail(Fault::Device, "no compute encoder");
    return {};
}

void CommandBuffer::close_encoders() {
    if (compute_) compute_->endEncoding();
    if (blit_) blit_->endEncoding();
    compute_.reset();
    blit_.reset();
}

Result<> CommandBuffer::dispatch_bytes(const Pipeline& pipeline, const Launch& launch,
                                       std::span<const Slice> buffers,
                                       std::span<const std::byte> args) {
    MINFER_TRY(device_.check_launch(pipeline, launch));
    MINFER_TRY(open_compute());
    labels_.add(pipeline.name);
    compute_->setComputePipelineState(pipeline.state.get());
    NS::UInteger index = 0;
    for (const auto& slice : buffers) {
        MINFER_ASSERT(slice.buffer != nullptr);
        compute_->setBuffer(slice.buffer, slice.offset, index++);
    }
    compute_->setBytes(args.data(), args.size(), index);
    if (launch.shared_bytes > 0) compute_->setThreadgroupMemoryLength(launch.shared_bytes, 0);
    compute_->dispatchThreadgroups(MTL::Size(launch.groups.x, launch.groups.y, launch.groups.z),
                                   MTL::Size(launch.threads.x, launch.threads.y, launch.threads.z));
    ++dispatches_;
    // Dispatches of one encoder start in order; that their writes are seen is asked for.
    compute_->memoryBarrier(MTL::BarrierScopeBuffers);
    ++barriers_;
    return {};
}

Result<> CommandBuffer::copy(const Slice& from, const Slice& to) {
    MINFER_ASSERT(from.bytes == to.bytes);
    if (!blit_) {
        const AutoreleaseScope scope;
        close_encoders();
        blit_ = NS::RetainPtr(commands_->blitCommandEncoder());
        if (!blit_) return fail(Fault::Device, "no blit encoder");
        labels_.add("copy");
    }
    blit_->copyFromBuffer(from.buffer, from.offset, to.buffer, to.offset, to.bytes);
    return {};
}

Result<> CommandBuffer::submit(double bound_seconds, Completion& completion) {
    const AutoreleaseScope scope;
    close_encoders();
    completion.expect(commands_.get());
    commands_->commit();
    if (!completion.wait(bound_seconds)) {
        // It may have ended at the last moment: then its handler is about to run.
        const auto status = commands_->status();
        const bool ended =
            status == MTL::CommandBufferStatusCompleted || status == MTL::CommandBufferStatusError;
        constexpr double kHandlerSeconds = 10;  // of a machine that is busy with other things
        if (!ended || !completion.wait(std::max(bound_seconds, kHandlerSeconds)))
            return fail(Fault::Timeout,
                        "a command buffer of {} dispatches did not end within {} s (status {}); "
                        "the last dispatches: {}",
                        dispatches_, bound_seconds, status_name(status), labels_.text());
    }
    if (const auto status = commands_->status(); status != MTL::CommandBufferStatusCompleted)
        return fail(Fault::Device,
                    "a command buffer of {} dispatches ended with status {}: {}; the last "
                    "dispatches: {}",
                    dispatches_, status_name(status), describe(commands_->error()), labels_.text());
    return {};
}

}  // namespace minfer::metal

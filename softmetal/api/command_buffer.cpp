#include "softmetal/api/command_buffer.h"

#include <fmt/format.h>

#include <chrono>
#include <iterator>
#include <thread>
#include <utility>
#include <variant>

#include "softmetal/api/blit_encoder.h"
#include "softmetal/api/command_error.h"
#include "softmetal/api/compute_encoder.h"
#include "softmetal/api/encoder.h"
#include "softmetal/api/errors.h"
#include "softmetal/api/event.h"
#include "softmetal/api/fork.h"
#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/string.h"

namespace softmetal::api {
namespace {

using Status = MTL::CommandBufferStatus;

// The clock that Apple's times are of: seconds since the machine started.
double now() {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(time).count();
}

std::string joined(const std::vector<std::string>& lines) {
    constexpr size_t kMost = 8;
    std::string text;
    for (size_t i = 0; i < lines.size() && i < kMost; ++i) text += (i ? "\n" : "") + lines[i];
    if (lines.size() > kMost) text += fmt::format("\nand {} more", lines.size() - kMost);
    return text;
}

uint64_t next_number() {
    static std::atomic<uint64_t> last = 0;
    return ++last;
}

// MTLCommandBufferEncoderInfo: how far an encoder came.
struct EncoderReport : objc::Object {
    objc::Ref<objc::Object> label;
    objc::Ref<objc::Array> signposts;
    MTL::CommandEncoderErrorState state = MTL::CommandEncoderErrorStateUnknown;
};

objc::Ref<objc::Array> report_encoders(const Recording& recording, int failed_in) {
    std::vector<objc::Ref<EncoderReport>> reports;
    for (int i = 0; i < static_cast<int>(recording.encoders.size()); ++i) {
        const auto& encoder = recording.encoders[static_cast<size_t>(i)];
        auto report = objc::make<EncoderReport>();
        report->label = objc::make_string(encoder.label);
        std::vector<objc::Ref<objc::String>> signposts;
        for (const auto& text : encoder.signposts) signposts.push_back(objc::make_string(text));
        report->signposts = objc::make_array(signposts);
        report->state = failed_in < 0 || i > failed_in ? MTL::CommandEncoderErrorStatePending
                        : i == failed_in               ? MTL::CommandEncoderErrorStateFaulted
                                                       : MTL::CommandEncoderErrorStateCompleted;
        reports.push_back(std::move(report));
    }
    return objc::make_array(reports);
}

}  // namespace

CommandBuffer::CommandBuffer(objc::Ref<CommandQueue> on, CommandBufferOptions with)
    : queue(std::move(on)), options(with), checks(queue->device->checks), number_(next_number()) {
    recording.retains = options.retains;
    recording.checked = checks != Checks::Off;
}

CommandBuffer::~CommandBuffer() {
    {
        const auto lock = MutexLock(mutex_);
        if (status_ == Status::CommandBufferStatusEnqueued) queue->forget(this);
    }
    if (has_place_) queue->give_place();
}

objc::Ref<CommandBuffer> make_command_buffer(CommandQueue* queue, CommandBufferOptions options) {
    stop_if_forked("commandBuffer");
    queue->take_place();
    return objc::make<CommandBuffer>(objc::Ref<CommandQueue>::retaining(queue), options);
}

// ---- Encoding -----------------------------------------------------------------------------------

bool CommandBuffer::may_encode(const char* what) {
    if (is_committed()) {
        misuse(fmt::format("{} after commit", what));
        return false;
    }
    if (open_encoder_ != nullptr) {
        misuse(fmt::format("{} while {} is open; call its endEncoding first", what,
                           open_encoder_->described()));
        return false;
    }
    return true;
}

void CommandBuffer::hold(const std::shared_ptr<Allocation>& memory, Object* owner) {
    if (memory->held_by.exchange(number_, std::memory_order_relaxed) == number_) return;
    recording.memory.push_back(memory);
    if (recording.retains && owner != nullptr) {
        recording.retained.push_back(objc::Ref<Object>::retaining(owner));
    }
}

void CommandBuffer::misuse(std::string what) {
    const auto lock = MutexLock(mutex_);
    if (status_ < Status::CommandBufferStatusCommitted) {
        recording.misuse.push_back(std::move(what));
    } else if (!is_finished()) {
        if (late_misuse_.empty()) late_misuse_ = std::move(what);
    } else if (status_ == Status::CommandBufferStatusCompleted) {
        status_ = Status::CommandBufferStatusError;
        error_ = make_error({.code = kErrorInvalidResource, .message = std::move(what)}, nullptr);
    }
}

void CommandBuffer::use_residency_set(ResidencySet* set) {
    if (is_committed()) return misuse("useResidencySet after commit");
    if (set == nullptr) return misuse("useResidencySet: the set is nil");
    residency_sets_.push_back(objc::Ref<ResidencySet>::retaining(set));
}

// What the sets hold now is what the work may reach.
void CommandBuffer::make_sets_resident() {
    auto sets = queue->residency_sets();
    sets.insert(sets.end(), residency_sets_.begin(), residency_sets_.end());
    for (const auto& set : sets) {
        for (const auto& allocation : set->committed()) {
            const auto& memory = *memory_of(allocation.get());
            hold(memory, allocation.get());
            recording.resident.push_back(memory.get());
        }
    }
}

// ---- Life cycle ---------------------------------------------------------------------------------

void CommandBuffer::enqueue() {
    const auto lock = MutexLock(mutex_);
    if (status_ != Status::CommandBufferStatusNotEnqueued) return;
    status_ = Status::CommandBufferStatusEnqueued;
    queue->enqueue(this);
}

void CommandBuffer::commit() {
    stop_if_forked("commit");
    if (ended_uncommitted_) return signal_events(recording);
    if (is_committed()) return misuse("commit was called twice");
    if (open_encoder_ != nullptr) {
        misuse(fmt::format("commit while {} is open; call its endEncoding first",
                           open_encoder_->described()));
        open_encoder_ = nullptr;
    }
    make_sets_resident();
    enqueue();
    queue->device->observe_commit(this, recording);
    request_ = queue->device->take_request();
    if (recording.checked && recording.misuse.empty()) in_flight_.emplace(memory_uses());
    {
        const auto lock = MutexLock(mutex_);
        if (!ended_uncommitted_) status_ = Status::CommandBufferStatusCommitted;
    }
    if (ended_uncommitted_) {
        in_flight_.reset();
        return signal_events(recording);
    }
    queue->commit(this);
}

std::vector<MemoryUse> CommandBuffer::memory_uses() const {
    std::vector<MemoryUse> uses;
    const auto add_use = [&](Allocation* memory, uint64_t offset, uint64_t bytes, bool writes) {
        if (memory == nullptr) return;
        const uint64_t begin = memory->root_offset() + offset;
        uses.push_back({.memory = memory->shared_root(),
                        .begin = begin,
                        .end = begin + bytes,
                        .writes = writes});
    };
    for (const auto& binding : recording.bindings) {
        add_use(binding.memory, binding.offset, binding.bytes, binding.writes);
    }
    for (const auto& [memory, reads, writes] : recording.used) {
        if (reads || writes) add_use(memory, 0, memory->length(), writes);
    }
    for (const auto& command : recording.commands) {
        if (const auto* copy = std::get_if<CopyBuffer>(&command)) {
            add_use(copy->from, copy->from_offset, copy->bytes, false);
            add_use(copy->to, copy->to_offset, copy->bytes, true);
        } else if (const auto* fill = std::get_if<FillBuffer>(&command)) {
            add_use(fill->memory, fill->offset, fill->bytes, true);
        } else if (const auto* sync = std::get_if<SynchronizeBuffer>(&command)) {
            add_use(sync->device, 0, sync->device->length(), false);
            add_use(sync->host, 0, sync->host->length(), true);
        }
    }
    return merged(std::move(uses));
}

void WorkEnd::set() {
    {
        const auto lock = MutexLock(mutex_);
        is_set_ = true;
    }
    changed_.notify_all();
}

void WorkEnd::wait() {
    auto lock = MutexLock(mutex_);
    while (!is_set_) changed_.wait(lock);
}

void CommandBuffer::run(objc::Ref<CommandBuffer> buffer) {
    std::vector<Handler> scheduled;
    {
        const auto lock = MutexLock(buffer->mutex_);
        buffer->times_.kernel_start = now();
        buffer->status_ = Status::CommandBufferStatusScheduled;
        scheduled = std::exchange(buffer->on_scheduled_, {});
        buffer->times_.kernel_end = now();
    }
    buffer->changed_.notify_all();
    if (!scheduled.empty()) call_later(buffer, std::move(scheduled), nullptr);

    const double start = now();
    auto failure = buffer->execute();
    const double end = now();
    {
        const auto lock = MutexLock(buffer->mutex_);
        buffer->times_.gpu_start = start;
        buffer->times_.gpu_end = end;
    }
    auto completed = buffer->finish(std::move(failure));
    auto last = buffer->end_;
    if (!completed.empty()) {
        call_later(std::move(buffer), std::move(completed), std::move(last));
    } else {
        buffer = nullptr;
        last->set();
    }
}

std::optional<Failure> CommandBuffer::execute() {
    std::optional<Failure> failure;
    if (!recording.misuse.empty()) {
        failure = Failure{.code = kErrorInvalidResource, .message = joined(recording.misuse)};
    } else if (request_.hangs_for) {
        std::this_thread::sleep_for(std::chrono::duration<double>(*request_.hangs_for));
        failure = Failure{.code = kErrorTimeout,
                          .message = fmt::format("hung for {} s, on request", *request_.hangs_for)};
    } else if (request_.fails_with) {
        failure = Failure{.code = *request_.fails_with, .message = "failed on request"};
    }
    if (failure) {
        signal_events(recording);
        return failure;
    }
    auto settings = queue->device->run_settings();
    const auto log_state = options.log_state ? options.log_state : queue->log_state;
    if (!log_state) return api::run(recording, settings);
    MessageLog messages;
    settings.log = [&](const exec::LogMessage& message) { messages.add(message); };
    failure = api::run(recording, settings);
    log_state->deliver(messages.take());
    return failure;
}

std::vector<CommandBuffer::Handler> CommandBuffer::finish(std::optional<Failure> failure) {
    if (in_flight_) {
        const auto access = in_flight_->violation();
        in_flight_.reset();
        if (access && !failure) {
            failure = Failure{
                .code = kErrorInvalidResource,
                .message = fmt::format(
                    "the host {} {} while {} was in flight", access->wrote ? "wrote" : "read",
                    name_of_byte(recording, *access->memory, access->offset),
                    user_of_byte(recording, *access->memory, access->offset, access->wrote))};
        }
    }
    objc::Ref<objc::Array> reports;
    if (options.errors & MTL::CommandBufferErrorOptionEncoderExecutionStatus) {
        reports = report_encoders(recording, failure ? failure->encoder : -1);
    }
    // Before anyone hears of the end, so that what was only held for the work is gone by then.
    recording = {};

    std::vector<Handler> completed;
    {
        const auto lock = MutexLock(mutex_);
        if (!failure && !late_misuse_.empty()) {
            failure = Failure{.code = kErrorInvalidResource, .message = std::move(late_misuse_)};
        }
        if (failure) error_ = make_error(*failure, reports.get());
        status_ = failure ? Status::CommandBufferStatusError : Status::CommandBufferStatusCompleted;
        completed = std::exchange(on_completed_, {});
    }
    has_place_ = false;
    queue->give_place();
    changed_.notify_all();
    return completed;
}

objc::Ref<objc::Error> CommandBuffer::make_error(const Failure& failure,
                                                 objc::Array* reports) const {
    const auto name = objc::text_of(label.get());
    return api::make_error(MTLCommandBufferErrorDomain, failure.code,
                           name.empty()
                               ? failure.message
                               : fmt::format("command buffer '{}': {}", name, failure.message),
                           reports);
}

void CommandBuffer::call_later(objc::Ref<CommandBuffer> buffer, std::vector<Handler> handlers,
                               std::shared_ptr<WorkEnd> end) {
    auto& thread = buffer->queue->handlers();
    thread.add([buffer = std::move(buffer), handlers = std::move(handlers), end]() mutable {
        for (const auto& handler : handlers) handler(buffer.get());
        handlers.clear();
        buffer = nullptr;
        if (end) end->set();
    });
}

void CommandBuffer::add_handler(Handler handler, bool on_completion) {
    {
        const auto lock = MutexLock(mutex_);
        if (status_ < Status::CommandBufferStatusCommitted) {
            (on_completion ? on_completed_ : on_scheduled_).push_back(std::move(handler));
            return;
        }
        const bool is_due =
            on_completion ? is_finished() : status_ >= Status::CommandBufferStatusScheduled;
        if (!is_due) {
            (on_completion ? on_completed_ : on_scheduled_).push_back(handler);
            handler = {};
        }
    }
    misuse(fmt::format("{} after commit",
                       on_completion ? "addCompletedHandler" : "addScheduledHandler"));
    // Whoever waits for the handler should not wait for ever on top of it.
    if (handler)
        call_later(objc::Ref<CommandBuffer>::retaining(this), {std::move(handler)}, nullptr);
}

void CommandBuffer::wait_until_scheduled() {
    stop_if_forked("waitUntilScheduled");
    end_if_uncommitted("waitUntilScheduled");
    auto lock = MutexLock(mutex_);
    while (status_ < Status::CommandBufferStatusScheduled) changed_.wait(lock);
}

void CommandBuffer::wait_until_completed() {
    stop_if_forked("waitUntilCompleted");
    end_if_uncommitted("waitUntilCompleted");
    {
        auto lock = MutexLock(mutex_);
        while (!is_finished()) changed_.wait(lock);
    }
    // As on the real thing the handlers have run when this returns; except to the handlers
    // themselves.
    if (!SerialThread::is_current()) end_->wait();
}

// Nobody but the caller would have committed, so the wait would have no end. Metal's validation
// stops the program here.
void CommandBuffer::end_if_uncommitted(const char* what) {
    std::vector<Handler> handlers;
    {
        const auto lock = MutexLock(mutex_);
        if (status_ >= Status::CommandBufferStatusCommitted) return;
        if (status_ == Status::CommandBufferStatusEnqueued) queue->forget(this);
        recording.misuse.push_back(
            fmt::format("{} on a command buffer that was not committed", what));
        error_ = make_error({.code = kErrorInvalidResource, .message = joined(recording.misuse)},
                            nullptr);
        status_ = Status::CommandBufferStatusError;
        ended_uncommitted_ = true;
        has_place_ = false;
        handlers = std::exchange(on_scheduled_, {});
        handlers.insert(handlers.end(), std::move_iterator(on_completed_.begin()),
                        std::move_iterator(on_completed_.end()));
        on_completed_.clear();
    }
    queue->give_place();
    changed_.notify_all();
    if (handlers.empty()) return end_->set();
    call_later(objc::Ref<CommandBuffer>::retaining(this), std::move(handlers), end_);
}

MTL::CommandBufferStatus CommandBuffer::status() {
    const auto lock = MutexLock(mutex_);
    return status_;
}

objc::Error* CommandBuffer::error() {
    const auto lock = MutexLock(mutex_);
    return error_.get();
}

CommandBuffer::Times CommandBuffer::times() {
    const auto lock = MutexLock(mutex_);
    return times_;
}

// ---- Messages -----------------------------------------------------------------------------------

namespace {

void push_debug_group(CommandBuffer* buffer, objc::Object* name) {
    if (buffer->is_committed()) return buffer->misuse("pushDebugGroup after commit");
    buffer->add(PushDebugGroup{.name = std::string(objc::text_of(name))});
}
void pop_debug_group(CommandBuffer* buffer) {
    if (buffer->is_committed()) return buffer->misuse("popDebugGroup after commit");
    buffer->add(PopDebugGroup{});
}

void use_residency_sets(CommandBuffer* buffer, ResidencySet* const* sets, NS::UInteger count) {
    for (NS::UInteger i = 0; i < count; ++i) buffer->use_residency_set(sets[i]);
}

CommandBufferDescriptor* copy(CommandBufferDescriptor* from) {
    auto made = objc::make<CommandBufferDescriptor>();
    made->options = from->options;
    return made.leak();
}

}  // namespace

void register_command_buffer() {
    using objc::method;
    using Descriptor = CommandBufferDescriptor;
    objc::define_class<Descriptor>(
        "MTLCommandBufferDescriptor",
        {
            objc::allocatable<Descriptor>(),
            method<+[](Descriptor* d) { return d->options.retains; }>("retainedReferences"),
            method<+[](Descriptor* d, bool on) { d->options.retains = on; }>(
                "setRetainedReferences:"),
            method<+[](Descriptor* d) { return d->options.errors; }>("errorOptions"),
            method<+[](Descriptor* d, MTL::CommandBufferErrorOption o) { d->options.errors = o; }>(
                "setErrorOptions:"),
            method<+[](Descriptor* d) { return d->options.log_state.get(); }>("logState"),
            method<+[](Descriptor* d, LogState* logs) {
                d->options.log_state = objc::Ref<LogState>::retaining(logs);
            }>("setLogState:"),
            method<&copy>("copy"),
        });
    objc::define_class<EncoderReport>(
        "MTLCommandBufferEncoderInfo",
        {
            objc::property<&EncoderReport::label>("label"),
            objc::property<&EncoderReport::signposts>("debugSignposts"),
            objc::property<&EncoderReport::state>("errorState"),
        });
    objc::define_class<CommandBuffer>(
        "MTLCommandBuffer",
        {
            method<+[](CommandBuffer* b) { return b->queue->device.get(); }>("device"),
            method<+[](CommandBuffer* b) { return b->queue.get(); }>("commandQueue"),
            objc::copied_property<&CommandBuffer::label>("label", "setLabel:"),
            method<+[](CommandBuffer* b) { return b->options.retains; }>("retainedReferences"),
            method<+[](CommandBuffer* b) { return b->options.errors; }>("errorOptions"),
            method<&compute_encoder>("computeCommandEncoder"),
            method<&compute_encoder_with_type>("computeCommandEncoderWithDispatchType:"),
            method<&compute_encoder_with_descriptor>("computeCommandEncoderWithDescriptor:"),
            method<&blit_encoder>("blitCommandEncoder"),
            method<&blit_encoder_with_descriptor>("blitCommandEncoderWithDescriptor:"),
            method<&encode_wait>("encodeWaitForEvent:value:"),
            method<&encode_signal>("encodeSignalEvent:value:"),
            method<&CommandBuffer::use_residency_set>("useResidencySet:"),
            method<&use_residency_sets>("useResidencySets:count:"),
            method<&push_debug_group>("pushDebugGroup:"),
            method<&pop_debug_group>("popDebugGroup"),
            method<&CommandBuffer::enqueue>("enqueue"),
            method<&CommandBuffer::commit>("commit"),
            method<+[](CommandBuffer* b, CommandBuffer::Handler::Raw handler) {
                b->add_handler(CommandBuffer::Handler(handler), /*on_completion=*/false);
            }>("addScheduledHandler:"),
            method<+[](CommandBuffer* b, CommandBuffer::Handler::Raw handler) {
                b->add_handler(CommandBuffer::Handler(handler), /*on_completion=*/true);
            }>("addCompletedHandler:"),
            method<&CommandBuffer::wait_until_scheduled>("waitUntilScheduled"),
            method<&CommandBuffer::wait_until_completed>("waitUntilCompleted"),
            method<&CommandBuffer::status>("status"),
            method<&CommandBuffer::error>("error"),
            method<+[](CommandBuffer* b) { return b->times().kernel_start; }>("kernelStartTime"),
            method<+[](CommandBuffer* b) { return b->times().kernel_end; }>("kernelEndTime"),
            method<+[](CommandBuffer* b) { return b->times().gpu_start; }>("GPUStartTime"),
            method<+[](CommandBuffer* b) { return b->times().gpu_end; }>("GPUEndTime"),
        });
}

}  // namespace softmetal::api

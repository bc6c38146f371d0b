// MTLCommandBuffer: a recording with a life cycle.
//
//   NotEnqueued -> Enqueued -> Committed -> Scheduled -> Completed | Error
//
// Misuse while encoding does not stop the program: the command buffer will not run, and ends in
// Error with the reasons. Misuse after commit turns it into an Error too, even when it had
// completed. A wait for one that was not committed ends it in Error at once.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <Metal/MTLCommandBuffer.hpp>

#include "softmetal/api/command.h"
#include "softmetal/api/command_queue.h"
#include "softmetal/api/in_flight.h"
#include "softmetal/api/run_recording.h"
#include "softmetal/base/mutex.h"
#include "softmetal/objc/block.h"
#include "softmetal/objc/foundation/error.h"
#include "softmetal/objc/object.h"

namespace softmetal::api {

struct Encoder;

struct CommandBufferOptions {
    bool retains = true;
    MTL::CommandBufferErrorOption errors = MTL::CommandBufferErrorOptionNone;
    objc::Ref<LogState> log_state;  // null: the queue's
};

struct CommandBufferDescriptor : objc::Object {
    CommandBufferOptions options;
};

// The very end of a command buffer's work: set when no thread of ours holds the command buffer any
// more, so that a program that has waited for it can count on what its last release sets free.
class WorkEnd {
  public:
    void set();
    void wait();

  private:
    Mutex mutex_;
    Condition changed_;
    bool is_set_ SOFTMETAL_GUARDED_BY(mutex_) = false;
};

struct CommandBuffer : objc::Object {
    using Handler = objc::Block<void(CommandBuffer*)>;

    CommandBuffer(objc::Ref<CommandQueue> queue, CommandBufferOptions options);
    ~CommandBuffer();

    // ---- Encoding: by one thread at a time, before commit
    // False, and misuse, when `what` cannot be encoded here now.
    bool may_encode(const char* what);
    // The encoder that is open, until it ends or the command buffer is committed.
    void open(Encoder* encoder) { open_encoder_ = encoder; }
    bool is_open(const Encoder* encoder) const { return open_encoder_ == encoder; }
    void close() { open_encoder_ = nullptr; }
    template <class T>
    void add(T command) {
        recording.commands.emplace_back(std::move(command));
    }
    // Keeps what a command points to alive until the commands have run.
    void hold(const std::shared_ptr<Allocation>& memory, Object* owner);
    void misuse(std::string what);
    void use_residency_set(ResidencySet* set);

    // ---- Life cycle
    void enqueue();
    void commit();
    static void run(objc::Ref<CommandBuffer> buffer);  // on the queue's thread
    void add_handler(Handler handler, bool on_completion);
    void wait_until_scheduled();
    void wait_until_completed();

    MTL::CommandBufferStatus status();
    bool is_committed() { return status() >= MTL::CommandBufferStatusCommitted; }
    objc::Error* error();
    struct Times {
        double kernel_start = 0, kernel_end = 0, gpu_start = 0, gpu_end = 0;
    };
    Times times();

    const objc::Ref<CommandQueue> queue;
    const CommandBufferOptions options;
    const Checks checks;  // the device's when this was made
    objc::Ref<Object> label;
    Recording recording;  // the encoding thread's before commit, the queue's after

  private:
    bool is_finished() const SOFTMETAL_REQUIRES(mutex_) {
        return status_ == MTL::CommandBufferStatusCompleted ||
               status_ == MTL::CommandBufferStatusError;
    }
    void make_sets_resident();
    std::optional<Failure> execute();
    std::vector<Handler> finish(std::optional<Failure> failure);
    objc::Ref<objc::Error> make_error(const Failure& failure, objc::Array* reports) const;
    void end_if_uncommitted(const char* what);
    static void call_later(objc::Ref<CommandBuffer> buffer, std::vector<Handler> handlers,
                           std::shared_ptr<WorkEnd> end);
    std::vector<MemoryUse> memory_uses() const;

    const uint64_t number_;
    Encoder* open_encoder_ = nullptr;  // not owned; it holds us
    bool has_place_ = true;            // in the queue's count
    // By a wait, perhaps on another thread than the one that encodes and commits.
    std::atomic<bool> ended_uncommitted_ = false;
    std::vector<objc::Ref<ResidencySet>> residency_sets_;
    Device::Request request_;
    std::optional<InFlight> in_flight_;
    const std::shared_ptr<WorkEnd> end_ = std::make_shared<WorkEnd>();

    Mutex mutex_;
    Condition changed_;
    MTL::CommandBufferStatus status_ SOFTMETAL_GUARDED_BY(mutex_) =
        MTL::CommandBufferStatusNotEnqueued;
    objc::Ref<objc::Error> error_ SOFTMETAL_GUARDED_BY(mutex_);
    std::string late_misuse_ SOFTMETAL_GUARDED_BY(mutex_);
    Times times_ SOFTMETAL_GUARDED_BY(mutex_);
    std::vector<Handler> on_scheduled_ SOFTMETAL_GUARDED_BY(mutex_);
    std::vector<Handler> on_completed_ SOFTMETAL_GUARDED_BY(mutex_);
};

// Waits for a place in the queue.
objc::Ref<CommandBuffer> make_command_buffer(CommandQueue* queue, CommandBufferOptions options);

void register_command_buffer();

}  // namespace softmetal::api

// MTLCommandQueue: puts command buffers in order and runs them one after the other on a thread of
// its own. Queues do not wait for each other, except through events.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include <Metal/MTLCommandQueue.hpp>

#include "softmetal/api/device.h"
#include "softmetal/api/log_state.h"
#include "softmetal/api/residency_set.h"
#include "softmetal/api/serial_thread.h"
#include "softmetal/base/mutex.h"
#include "softmetal/objc/object.h"

namespace softmetal::api {

struct CommandBuffer;
struct CommandBufferDescriptor;

struct CommandQueueDescriptor : objc::Object {
    NS::UInteger max_command_buffers = 64;
    objc::Ref<LogState> log_state;
};

struct CommandQueue : objc::Object {
    CommandQueue(objc::Ref<Device> device, uint64_t max_command_buffers);

    // A command buffer that is not complete takes one of maxCommandBufferCount places; with none
    // left the caller waits.
    void take_place();
    void give_place();

    // The order of enqueueing is the order of running. A command buffer that was enqueued holds up
    // those behind it until it is committed, or gone.
    void enqueue(CommandBuffer* buffer);
    void commit(CommandBuffer* buffer);
    void forget(CommandBuffer* buffer);

    // Starts its threads. Without them it is no queue.
    Result<> start();

    SerialThread& handlers() { return handlers_; }

    const objc::Ref<Device> device;
    objc::Ref<Object> label;

    objc::Ref<LogState> log_state;

    // Whose memory all its command buffers may reach.
    void add_residency_set(ResidencySet* set);
    void remove_residency_set(ResidencySet* set);
    std::vector<objc::Ref<ResidencySet>> residency_sets();

  private:
    struct Slot {
        CommandBuffer* buffer = nullptr;
        objc::Ref<CommandBuffer> committed;  // holds it until it has run
    };
    void start_ready() SOFTMETAL_REQUIRES(mutex_);

    const uint64_t max_command_buffers_;
    Mutex mutex_;
    Condition place_free_;
    uint64_t places_taken_ SOFTMETAL_GUARDED_BY(mutex_) = 0;
    std::deque<Slot> order_ SOFTMETAL_GUARDED_BY(mutex_);
    std::vector<objc::Ref<ResidencySet>> residency_sets_ SOFTMETAL_GUARDED_BY(mutex_);
    SerialThread handlers_;  // declared first, ends last: running adds handlers
    SerialThread runs_;
};

// Methods of MTLDevice.
CommandQueue* new_command_queue(Device* device);
CommandQueue* new_command_queue_with_count(Device* device, NS::UInteger count);
CommandQueue* new_command_queue_with_descriptor(Device* device, CommandQueueDescriptor* descriptor);

void register_command_queue();

}  // namespace softmetal::api

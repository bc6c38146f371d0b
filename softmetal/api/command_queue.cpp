#include "softmetal/api/command_queue.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "softmetal/api/command_buffer.h"
#include "softmetal/api/errors.h"
#include "softmetal/objc/define_class.h"

namespace softmetal::api {

CommandQueue::CommandQueue(objc::Ref<Device> on, uint64_t max_command_buffers)
    : device(std::move(on)), max_command_buffers_(max_command_buffers) {}

Result<> CommandQueue::start() {
    if (auto started = handlers_.start(); !started) return started;
    return runs_.start();
}

void CommandQueue::take_place() {
    const auto told = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    auto lock = MutexLock(mutex_);
    bool is_told = false;
    while (places_taken_ >= max_command_buffers_) {
        if (is_told) {
            place_free_.wait(lock);
        } else if (!place_free_.wait_until(lock, told)) {
            // As on the real thing this never ends when nobody commits; say so.
            std::fprintf(
                stderr,
                "softmetal: commandBuffer has waited 10 s: %llu command buffers of this queue "
                "exist, and none completes\n",
                static_cast<unsigned long long>(places_taken_));
            is_told = true;
        }
    }
    ++places_taken_;
}

void CommandQueue::give_place() {
    {
        const auto lock = MutexLock(mutex_);
        --places_taken_;
    }
    place_free_.notify_one();
}

void CommandQueue::enqueue(CommandBuffer* buffer) {
    const auto lock = MutexLock(mutex_);
    order_.push_back({.buffer = buffer, .committed = nullptr});
}

void CommandQueue::commit(CommandBuffer* buffer) {
    const auto lock = MutexLock(mutex_);
    const auto slot = std::ranges::find(order_, buffer, &Slot::buffer);
    slot->committed = objc::Ref<CommandBuffer>::retaining(buffer);
    start_ready();
}

void CommandQueue::forget(CommandBuffer* buffer) {
    const auto lock = MutexLock(mutex_);
    std::erase_if(order_, [&](const Slot& slot) { return slot.buffer == buffer; });
    start_ready();
}

void CommandQueue::start_ready() {
    while (!order_.empty() && order_.front().committed) {
        auto buffer = std::move(order_.front().committed);
        order_.pop_front();
        runs_.add([buffer]() mutable { CommandBuffer::run(std::move(buffer)); });
    }
}

void CommandQueue::add_residency_set(ResidencySet* set) {
    if (set == nullptr) objc::stop("-[MTLCommandQueue addResidencySet:] with nil");
    const auto lock = MutexLock(mutex_);
    if (std::ranges::find(residency_sets_, set, &objc::Ref<ResidencySet>::get) ==
        residency_sets_.end()) {
        residency_sets_.push_back(objc::Ref<ResidencySet>::retaining(set));
    }
}

void CommandQueue::remove_residency_set(ResidencySet* set) {
    const auto lock = MutexLock(mutex_);
    std::erase_if(residency_sets_, [&](const auto& one) { return one.get() == set; });
}

std::vector<objc::Ref<ResidencySet>> CommandQueue::residency_sets() {
    const auto lock = MutexLock(mutex_);
    return residency_sets_;
}

CommandQueue* new_command_queue(Device* device) { return new_command_queue_with_count(device, 64); }

CommandQueue* new_command_queue_with_count(Device* device, NS::UInteger count) {
    if (count == 0) return nullptr;
    auto queue = objc::make<CommandQueue>(objc::Ref<Device>::retaining(device), count);
    if (const auto started = queue->start(); !started) {
        keep_reason_of_nil(started.error());
        return nullptr;
    }
    return queue.leak();
}

CommandQueue* new_command_queue_with_descriptor(Device* device,
                                                CommandQueueDescriptor* descriptor) {
    if (descriptor == nullptr) return nullptr;
    CommandQueue* queue = new_command_queue_with_count(device, descriptor->max_command_buffers);
    if (queue != nullptr) queue->log_state = descriptor->log_state;
    return queue;
}

namespace {

CommandQueueDescriptor* copy(CommandQueueDescriptor* from) {
    auto made = objc::make<CommandQueueDescriptor>();
    made->max_command_buffers = from->max_command_buffers;
    made->log_state = from->log_state;
    return made.leak();
}

void add_residency_sets(CommandQueue* queue, ResidencySet* const* sets, NS::UInteger count) {
    for (NS::UInteger i = 0; i < count; ++i) queue->add_residency_set(sets[i]);
}
void remove_residency_sets(CommandQueue* queue, ResidencySet* const* sets, NS::UInteger count) {
    for (NS::UInteger i = 0; i < count; ++i) queue->remove_residency_set(sets[i]);
}

CommandBuffer* with_retained(CommandQueue* queue) {
    return objc::autoreleased(make_command_buffer(queue, {}));
}
CommandBuffer* with_unretained(CommandQueue* queue) {
    return objc::autoreleased(make_command_buffer(queue, {.retains = false}));
}
CommandBuffer* with_descriptor(CommandQueue* queue, CommandBufferDescriptor* descriptor) {
    return objc::autoreleased(make_command_buffer(queue, descriptor->options));
}

}  // namespace

void register_command_queue() {
    using objc::method;
    objc::define_class<CommandQueueDescriptor>(
        "MTLCommandQueueDescriptor",
        {
            objc::allocatable<CommandQueueDescriptor>(),
            objc::property<&CommandQueueDescriptor::max_command_buffers>(
                "maxCommandBufferCount", "setMaxCommandBufferCount:"),
            objc::property<&CommandQueueDescriptor::log_state>("logState", "setLogState:"),
            method<&copy>("copy"),
        });
    objc::define_class<CommandQueue>(
        "MTLCommandQueue",
        {
            method<+[](CommandQueue* q) { return q->device.get(); }>("device"),
            objc::copied_property<&CommandQueue::label>("label", "setLabel:"),
            method<&with_retained>("commandBuffer"),
            method<&with_unretained>("commandBufferWithUnretainedReferences"),
            method<&with_descriptor>("commandBufferWithDescriptor:"),
            method<&CommandQueue::add_residency_set>("addResidencySet:"),
            method<&add_residency_sets>("addResidencySets:count:"),
            method<&CommandQueue::remove_residency_set>("removeResidencySet:"),
            method<&remove_residency_sets>("removeResidencySets:count:"),
            // Captures begin and end where they are told to, not at such a boundary.
            method<+[](CommandQueue*) {}>("insertDebugCaptureBoundary"),
        });
}

}  // namespace softmetal::api

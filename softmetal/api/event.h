// MTLEvent and MTLSharedEvent: a number that command buffers and, for a shared one, the host wait
// for and move on. The number itself is a Timeline, which commands in flight hold on their own.
#pragma once

#include <cstdint>
#include <memory>

#include <dispatch/dispatch.h>
#include <Metal/MTLEvent.hpp>

#include "softmetal/api/device.h"
#include "softmetal/api/timeline.h"
#include "softmetal/base/mutex.h"
#include "softmetal/objc/object.h"

namespace softmetal::api {

struct CommandBuffer;
struct SharedEvent;

struct Event : objc::Object {
    Event(objc::Ref<Device> device, std::shared_ptr<Timeline> timeline);

    const objc::Ref<Device> device;
    const std::shared_ptr<Timeline> timeline;
    objc::Ref<Object> label;
};

// What a pending notification knows of the event it would name: not a reference, because an event
// that waits for a value nobody will signal would never go.
struct EventLink {
    Mutex mutex;
    SharedEvent* event SOFTMETAL_GUARDED_BY(mutex) = nullptr;
};

struct SharedEvent : Event {
    SharedEvent(objc::Ref<Device> device, std::shared_ptr<Timeline> timeline);
    ~SharedEvent();

    const std::shared_ptr<EventLink> link;
};

// Carries a shared event to another place in the process.
struct SharedEventHandle : objc::Object {
    std::shared_ptr<Timeline> timeline;
    objc::Ref<Object> label;
};

// The queue that notifications arrive on.
struct SharedEventListener : objc::Object {
    SharedEventListener();
    ~SharedEventListener();
    void use(dispatch_queue_t other);

    dispatch_queue_t queue;
};

// Methods of MTLDevice.
Event* new_event(Device* device);
SharedEvent* new_shared_event(Device* device);
SharedEvent* new_shared_event_with_handle(Device* device, SharedEventHandle* handle);

// Methods of MTLCommandBuffer.
void encode_signal(CommandBuffer* buffer, Event* event, uint64_t value);
void encode_wait(CommandBuffer* buffer, Event* event, uint64_t value);

void register_event();

}  // namespace softmetal::api

#include "softmetal/api/event.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "softmetal/api/command_buffer.h"
#include "softmetal/api/fork.h"
#include "softmetal/objc/block.h"
#include "softmetal/objc/define_class.h"

namespace softmetal::api {

Event::Event(objc::Ref<Device> on, std::shared_ptr<Timeline> shared)
    : device(std::move(on)), timeline(std::move(shared)) {}

SharedEvent::SharedEvent(objc::Ref<Device> on, std::shared_ptr<Timeline> shared)
    : Event(std::move(on), std::move(shared)), link(std::make_shared<EventLink>()) {
    const auto lock = MutexLock(link->mutex);
    link->event = this;
}

SharedEvent::~SharedEvent() {
    const auto lock = MutexLock(link->mutex);
    link->event = nullptr;
}

SharedEventListener::SharedEventListener()
    : queue(dispatch_queue_create("MTLSharedEventListener", DISPATCH_QUEUE_SERIAL)) {}

SharedEventListener::~SharedEventListener() { dispatch_release(queue); }

void SharedEventListener::use(dispatch_queue_t other) {
    dispatch_retain(other);
    dispatch_release(std::exchange(queue, other));
}

Event* new_event(Device* device) {
    return objc::make<Event>(objc::Ref<Device>::retaining(device), std::make_shared<Timeline>())
        .leak();
}

SharedEvent* new_shared_event(Device* device) {
    return objc::make<SharedEvent>(objc::Ref<Device>::retaining(device),
                                   std::make_shared<Timeline>())
        .leak();
}

SharedEvent* new_shared_event_with_handle(Device* device, SharedEventHandle* handle) {
    if (handle == nullptr || !handle->timeline) return nullptr;
    auto event = objc::make<SharedEvent>(objc::Ref<Device>::retaining(device), handle->timeline);
    event->label = handle->label;
    return event.leak();
}

namespace {

// Where the commands keep the event, so that its listeners hear of what they signal.
bool may_name(CommandBuffer* buffer, Event* event, const char* call) {
    if (!buffer->may_encode(call)) return false;
    if (event == nullptr) {
        buffer->misuse(std::string(call) + ": the event is nil");
        return false;
    }
    if (buffer->recording.retains) {
        buffer->recording.retained.push_back(objc::Ref<objc::Object>::retaining(event));
    }
    return true;
}

SharedEventHandle* new_handle(SharedEvent* event) {
    auto handle = objc::make<SharedEventHandle>();
    handle->timeline = event->timeline;
    handle->label = event->label;
    return handle.leak();
}

using Notification = objc::Block<void(SharedEvent*, uint64_t)>;

void notify(SharedEvent* event, SharedEventListener* listener, uint64_t value,
            Notification::Raw block) {
    if (listener == nullptr || !block) {
        objc::stop("-[MTLSharedEvent notifyListener:atValue:block:] with a nil %s",
                   listener ? "block" : "listener");
    }
    auto keep = objc::Ref<SharedEventListener>::retaining(listener);
    event->timeline->when_reached(
        value, [keep, link = event->link, notification = Notification(block)](uint64_t reached) {
            objc::Ref<SharedEvent> alive;
            {
                const auto lock = MutexLock(link->mutex);
                if (link->event) alive = objc::try_retain(link->event);
            }
            if (!alive) return;
            dispatch_async(keep->queue, ^{
              notification(alive.get(), reached);
            });
        });
}

bool wait_until(SharedEvent* event, uint64_t value, uint64_t milliseconds) {
    stop_if_forked("waitUntilSignaledValue");
    constexpr auto kMost = static_cast<uint64_t>(std::chrono::milliseconds::max().count());
    const auto bounded = static_cast<int64_t>(std::min(milliseconds, kMost));
    return event->timeline->wait_for(value, std::chrono::milliseconds(bounded));
}

SharedEventListener* init_with_queue(SharedEventListener* self, dispatch_queue_t queue) {
    if (queue == nullptr) objc::stop("-[MTLSharedEventListener initWithDispatchQueue:] with nil");
    self->use(queue);
    return self;
}

SharedEventListener* shared_listener() {
    static SharedEventListener* const only = [] {
        auto made = objc::make<SharedEventListener>();
        objc::make_immortal(made.get());
        return made.leak();
    }();
    return only;
}

}  // namespace

void encode_signal(CommandBuffer* buffer, Event* event, uint64_t value) {
    if (!may_name(buffer, event, "encodeSignalEvent:value:")) return;
    buffer->add(SignalEvent{.event = event->timeline, .value = value});
}

void encode_wait(CommandBuffer* buffer, Event* event, uint64_t value) {
    if (!may_name(buffer, event, "encodeWaitForEvent:value:")) return;
    buffer->add(WaitForEvent{.event = event->timeline, .value = value});
}

void register_event() {
    using objc::method;
    objc::define_class<Event>("MTLEvent",
                              {
                                  method<+[](Event* e) { return e->device.get(); }>("device"),
                                  objc::copied_property<&Event::label>("label", "setLabel:"),
                              });
    objc::define_class<SharedEvent, Event>(
        "MTLSharedEvent",
        {
            method<+[](SharedEvent* e) { return e->timeline->value(); }>("signaledValue"),
            method<+[](SharedEvent* e, uint64_t value) { e->timeline->set(value); }>(
                "setSignaledValue:"),
            method<&wait_until>("waitUntilSignaledValue:timeoutMS:"),
            method<&notify>("notifyListener:atValue:block:"),
            method<&new_handle>("newSharedEventHandle"),
        });
    objc::define_class<SharedEventHandle>("MTLSharedEventHandle",
                                          {
                                              objc::property<&SharedEventHandle::label>("label"),
                                          });
    objc::define_class<SharedEventListener>(
        "MTLSharedEventListener", {
                                      objc::allocatable<SharedEventListener>(),
                                      objc::class_method<&shared_listener>("sharedListener"),
                                      method<&init_with_queue>("initWithDispatchQueue:"),
                                      objc::property<&SharedEventListener::queue>("dispatchQueue"),
                                  });
}

}  // namespace softmetal::api

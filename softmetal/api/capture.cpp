#include "softmetal/api/capture.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "softmetal/api/command_buffer.h"
#include "softmetal/api/errors.h"
#include "softmetal/api/trace.h"
#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/string.h"

SOFTMETAL_STRING_CONSTANT(MTLCaptureErrorDomain, "MTLCaptureErrorDomain");

namespace softmetal::api {

CaptureScope::CaptureScope(objc::Ref<Device> on, objc::Ref<CommandQueue> only)
    : device(std::move(on)), queue(std::move(only)) {}

namespace {

bool refuse(objc::Object** error, MTL::CaptureError code, const std::string& why) {
    objc::set_error(error, make_error(MTLCaptureErrorDomain, code, why));
    return false;
}

// What a capture of `object` covers; without a device when it cannot be captured.
Capture capture_of(objc::Object* object) {
    Capture capture;
    if (auto* scope = objc::as<CaptureScope>(object)) {
        capture.scope = objc::Ref<CaptureScope>::retaining(scope);
        capture.device = scope->device;
        capture.queue = scope->queue;
        capture.is_open = false;
    } else if (auto* queue = objc::as<CommandQueue>(object)) {
        capture.queue = objc::Ref<CommandQueue>::retaining(queue);
        capture.device = queue->device;
    } else if (auto* device = objc::as<Device>(object)) {
        capture.device = objc::Ref<Device>::retaining(device);
    }
    return capture;
}

std::string quoted(const objc::Object* label) {
    const auto text = objc::text_of(label);
    return text.empty() ? std::string() : fmt::format(" '{}'", text);
}

}  // namespace

bool CaptureManager::start(CaptureDescriptor* descriptor, Object** error) {
    using enum MTL::CaptureError;
    if (descriptor == nullptr) {
        return refuse(error, CaptureErrorInvalidDescriptor, "the capture descriptor is nil");
    }
    if (descriptor->destination != MTL::CaptureDestinationGPUTraceDocument) {
        return refuse(error, CaptureErrorNotSupported,
                      "softmetal captures to a file only: set the destination "
                      "MTLCaptureDestinationGPUTraceDocument and an outputURL");
    }
    auto capture = capture_of(descriptor->object.get());
    if (!capture.device) {
        return refuse(error, CaptureErrorInvalidDescriptor,
                      "the capture object is no device, command queue or capture scope");
    }
    const std::string path = descriptor->output ? descriptor->output->path : "";
    if (path.empty()) {
        return refuse(error, CaptureErrorInvalidDescriptor, "the capture has no outputURL");
    }

    const objc::Ref<Device> device = capture.device;
    {
        const auto lock = MutexLock(mutex_);
        if (running_) return refuse(error, CaptureErrorAlreadyCapturing, "a capture is running");
        capture.file.reset(std::fopen(path.c_str(), "wx"));
        if (!capture.file) {
            return refuse(error, CaptureErrorInvalidDescriptor,
                          fmt::format("cannot make the file {}: {}", path, std::strerror(errno)));
        }
        running_ = std::make_unique<Capture>(std::move(capture));
    }
    device->set_on_commit([this](Object* command_buffer, const Recording& recording) {
        record(command_buffer, recording);
    });
    return true;
}

void CaptureManager::stop() {
    std::unique_ptr<Capture> ended;
    {
        const auto lock = MutexLock(mutex_);
        ended = std::move(running_);
    }
    if (ended) ended->device->set_on_commit(nullptr);
}

bool CaptureManager::is_capturing() {
    const auto lock = MutexLock(mutex_);
    return running_ != nullptr;
}

void CaptureManager::begin(CaptureScope* scope) {
    const auto lock = MutexLock(mutex_);
    if (running_ && running_->scope.get() == scope) running_->is_open = true;
}

void CaptureManager::end(CaptureScope* scope) {
    {
        const auto lock = MutexLock(mutex_);
        if (!running_ || running_->scope.get() != scope || !running_->is_open) return;
    }
    stop();
}

void CaptureManager::record(Object* object, const Recording& recording) {
    const auto* buffer = static_cast<CommandBuffer*>(object);
    const auto* queue = buffer->queue.get();
    const auto lock = MutexLock(mutex_);
    if (!running_ || !running_->is_open) return;
    if (running_->queue && running_->queue.get() != queue) return;
    fmt::print(running_->file.get(), "command buffer{} of queue{}\n{}\n",
               quoted(buffer->label.get()), quoted(queue->label.get()), describe(recording));
    std::fflush(running_->file.get());  // what a crash leaves is worth reading
}

objc::Object* CaptureManager::default_scope() {
    const auto lock = MutexLock(mutex_);
    return default_scope_.get();
}

void CaptureManager::set_default_scope(CaptureScope* scope) {
    const auto lock = MutexLock(mutex_);
    default_scope_ = objc::Ref<CaptureScope>::retaining(scope);
}

namespace {

CaptureManager* manager() {
    static CaptureManager* const only = [] {
        auto made = objc::make<CaptureManager>();
        objc::make_immortal(made.get());
        return made.leak();
    }();
    return only;
}

CaptureScope* scope_of_device(CaptureManager*, Device* device) {
    return objc::make<CaptureScope>(objc::Ref<Device>::retaining(device), nullptr).leak();
}
CaptureScope* scope_of_queue(CaptureManager*, CommandQueue* queue) {
    return objc::make<CaptureScope>(queue->device, objc::Ref<CommandQueue>::retaining(queue))
        .leak();
}

CaptureDescriptor* copy(CaptureDescriptor* from) {
    auto made = objc::make<CaptureDescriptor>();
    made->object = from->object;
    made->destination = from->destination;
    made->output = from->output;
    return made.leak();
}

}  // namespace

void register_capture() {
    using objc::method;
    using Descriptor = CaptureDescriptor;
    objc::define_class<Descriptor>(
        "MTLCaptureDescriptor",
        {
            objc::allocatable<Descriptor>(),
            objc::property<&Descriptor::object>("captureObject", "setCaptureObject:"),
            objc::property<&Descriptor::destination>("destination", "setDestination:"),
            objc::copied_property<&Descriptor::output>("outputURL", "setOutputURL:"),
            method<&copy>("copy"),
        });
    objc::define_class<CaptureScope>(
        "MTLCaptureScope",
        {
            method<+[](CaptureScope* s) { return s->device.get(); }>("device"),
            method<+[](CaptureScope* s) { return s->queue.get(); }>("commandQueue"),
            objc::copied_property<&CaptureScope::label>("label", "setLabel:"),
            method<+[](CaptureScope* s) { manager()->begin(s); }>("beginScope"),
            method<+[](CaptureScope* s) { manager()->end(s); }>("endScope"),
        });
    objc::define_class<CaptureManager>(
        "MTLCaptureManager",
        {
            objc::class_method<&manager>("sharedCaptureManager"),
            method<+[](CaptureManager*, MTL::CaptureDestination destination) {
                return destination == MTL::CaptureDestinationGPUTraceDocument;
            }>("supportsDestination:"),
            method<&CaptureManager::start>("startCaptureWithDescriptor:error:"),
            method<&CaptureManager::stop>("stopCapture"),
            method<&CaptureManager::is_capturing>("isCapturing"),
            method<&scope_of_device>("newCaptureScopeWithDevice:"),
            method<&scope_of_queue>("newCaptureScopeWithCommandQueue:"),
            method<&CaptureManager::default_scope>("defaultCaptureScope"),
            method<&CaptureManager::set_default_scope>("setDefaultCaptureScope:"),
        });
}

}  // namespace softmetal::api

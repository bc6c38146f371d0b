// MTLCaptureManager: writes the command buffers that are committed while a capture runs to a text
// file, one line per command (trace.h). On a Mac the same call writes a document for Xcode.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include <Metal/MTLCaptureManager.hpp>
#include <Metal/MTLCaptureScope.hpp>

#include "softmetal/api/command_queue.h"
#include "softmetal/api/device.h"
#include "softmetal/base/mutex.h"
#include "softmetal/objc/foundation/url.h"
#include "softmetal/objc/object.h"

namespace softmetal::api {

struct CaptureDescriptor : objc::Object {
    objc::Ref<Object> object;  // a device, a queue or a scope
    MTL::CaptureDestination destination = MTL::CaptureDestinationDeveloperTools;
    objc::Ref<objc::Url> output;
};

// A stretch of the program's time: a capture of it lasts from the next beginScope to the endScope.
struct CaptureScope : objc::Object {
    CaptureScope(objc::Ref<Device> device, objc::Ref<CommandQueue> queue);

    const objc::Ref<Device> device;
    const objc::Ref<CommandQueue> queue;  // null: all queues of the device
    objc::Ref<Object> label;
};

// One capture, from its start to its end.
struct Capture {
    using File = std::unique_ptr<std::FILE, decltype([](std::FILE* file) { std::fclose(file); })>;

    objc::Ref<Device> device;
    objc::Ref<CommandQueue> queue;  // null: all of the device
    objc::Ref<CaptureScope> scope;  // null: everything from the start on
    bool is_open = true;            // false: the scope has not begun
    File file;
};

struct CaptureManager : objc::Object {
    bool start(CaptureDescriptor* descriptor, Object** error);
    void stop();
    bool is_capturing();
    void begin(CaptureScope* scope);
    void end(CaptureScope* scope);

    Object* default_scope();
    void set_default_scope(CaptureScope* scope);

  private:
    void record(Object* command_buffer, const Recording& recording);

    Mutex mutex_;
    std::unique_ptr<Capture> running_ SOFTMETAL_GUARDED_BY(mutex_);
    objc::Ref<CaptureScope> default_scope_ SOFTMETAL_GUARDED_BY(mutex_);
};

void register_capture();

}  // namespace softmetal::api

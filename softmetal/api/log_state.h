// MTLLogState: where the messages of kernels go.
#pragma once

#include <string>
#include <vector>

#include <Metal/MTLLogState.hpp>

#include "softmetal/api/device.h"
#include "softmetal/base/mutex.h"
#include "softmetal/exec/grid.h"
#include "softmetal/objc/block.h"
#include "softmetal/objc/foundation/string.h"
#include "softmetal/objc/object.h"

namespace softmetal::api {

struct LogStateDescriptor : objc::Object {
    MTL::LogLevel level = MTL::LogLevelUndefined;
    NS::Integer buffer_size = 1024;
};

// What one command buffer's kernels said, kept until they are done: handlers are programs' code,
// which a fiber's stack is too small for.
struct KernelMessage {
    MTL::LogLevel level = MTL::LogLevelNotice;
    std::string subsystem, category, text;
};
class MessageLog {
  public:
    void add(const exec::LogMessage& message);
    std::vector<KernelMessage> take();

  private:
    Mutex mutex_;
    std::vector<KernelMessage> messages_ SOFTMETAL_GUARDED_BY(mutex_);
};

struct LogState : objc::Object {
    using Handler = objc::Block<void(Object*, Object*, MTL::LogLevel, Object*)>;

    explicit LogState(MTL::LogLevel least) : least_(least) {}

    void add_handler(Handler::Raw handler);
    // Hands a command buffer's messages to the handlers; without any, to standard error.
    void deliver(const std::vector<KernelMessage>& messages);

  private:
    const MTL::LogLevel least_;
    Mutex mutex_;
    std::vector<Handler> handlers_ SOFTMETAL_GUARDED_BY(mutex_);
};

// A method of MTLDevice.
LogState* new_log_state(Device* device, LogStateDescriptor* descriptor, objc::Object** error);

void register_log_state();

}  // namespace softmetal::api

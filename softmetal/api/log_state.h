// MTLLogState: where the messages of kernels go.
#pragma once

#include <string_view>
#include <vector>

#include <Metal/MTLLogState.hpp>

#include "softmetal/api/device.h"
#include "softmetal/base/mutex.h"
#include "softmetal/objc/block.h"
#include "softmetal/objc/foundation/string.h"
#include "softmetal/objc/object.h"

namespace softmetal::api {

struct LogStateDescriptor : objc::Object {
    MTL::LogLevel level = MTL::LogLevelUndefined;
    NS::Integer buffer_size = 1024;
};

struct LogState : objc::Object {
    using Handler = objc::Block<void(Object*, Object*, MTL::LogLevel, Object*)>;

    explicit LogState(MTL::LogLevel least) : least_(least) {}

    void add_handler(Handler::Raw handler);
    // One message of a kernel, on the thread that runs it. Without handlers it goes to standard
    // error.
    void log(std::string_view message);

  private:
    const MTL::LogLevel least_;
    Mutex mutex_;  // handlers run one at a time
    std::vector<Handler> handlers_ SOFTMETAL_GUARDED_BY(mutex_);
};

// A method of MTLDevice.
LogState* new_log_state(Device* device, LogStateDescriptor* descriptor, objc::Object** error);

void register_log_state();

}  // namespace softmetal::api

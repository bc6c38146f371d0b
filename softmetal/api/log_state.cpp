#include "softmetal/api/log_state.h"

#include <cstdio>
#include <utility>

#include "softmetal/api/errors.h"
#include "softmetal/objc/define_class.h"

SOFTMETAL_STRING_CONSTANT(MTLLogStateErrorDomain, "MTLLogStateErrorDomain");

namespace softmetal::api {
namespace {

MTL::LogLevel level_of(uint32_t os_log_type) {
    switch (os_log_type) {
        case 1:
            return MTL::LogLevelInfo;
        case 2:
            return MTL::LogLevelDebug;
        case 16:
            return MTL::LogLevelError;
        case 17:
            return MTL::LogLevelFault;
    }
    return MTL::LogLevelNotice;
}

LogStateDescriptor* copy(LogStateDescriptor* from) {
    auto made = objc::make<LogStateDescriptor>();
    made->level = from->level;
    made->buffer_size = from->buffer_size;
    return made.leak();
}

}  // namespace

void LogState::add_handler(Handler::Raw handler) {
    if (!handler) objc::stop("-[MTLLogState addLogHandler:] with a nil block");
    const auto lock = MutexLock(mutex_);
    handlers_.push_back(Handler(handler));
}

void MessageLog::add(const exec::LogMessage& message) {
    const auto lock = MutexLock(mutex_);
    messages_.push_back({.level = level_of(message.type),
                         .subsystem = std::string(message.subsystem),
                         .category = std::string(message.category),
                         .text = std::string(message.text)});
}

std::vector<KernelMessage> MessageLog::take() {
    const auto lock = MutexLock(mutex_);
    return std::exchange(messages_, {});
}

void LogState::deliver(const std::vector<KernelMessage>& messages) {
    std::vector<Handler> handlers;
    {
        const auto lock = MutexLock(mutex_);
        handlers = handlers_;
    }
    for (const auto& message : messages) {
        if (message.level < least_) continue;
        if (handlers.empty()) std::fprintf(stderr, "%s\n", message.text.c_str());
        const objc::AutoreleaseScope pool;
        const auto subsystem = objc::make_string(message.subsystem);
        const auto category = objc::make_string(message.category);
        const auto text = objc::make_string(message.text);
        for (const auto& handler : handlers) {
            handler(subsystem.get(), category.get(), message.level, text.get());
        }
    }
}

LogState* new_log_state(Device*, LogStateDescriptor* descriptor, objc::Object** error) {
    if (descriptor == nullptr) {
        objc::set_error(error, make_error(MTLLogStateErrorDomain, MTL::LogStateErrorInvalid,
                                          "the log state descriptor is nil"));
        return nullptr;
    }
    if (descriptor->buffer_size < 1024) {
        objc::set_error(error, make_error(MTLLogStateErrorDomain, MTL::LogStateErrorInvalidSize,
                                          "the log buffer must have 1024 bytes at least"));
        return nullptr;
    }
    return objc::make<LogState>(descriptor->level).leak();
}

void register_log_state() {
    using objc::method;
    objc::define_class<LogStateDescriptor>(
        "MTLLogStateDescriptor",
        {
            objc::allocatable<LogStateDescriptor>(),
            objc::property<&LogStateDescriptor::level>("level", "setLevel:"),
            objc::property<&LogStateDescriptor::buffer_size>("bufferSize", "setBufferSize:"),
            method<&copy>("copy"),
        });
    objc::define_class<LogState>("MTLLogState",
                                 {
                                     method<&LogState::add_handler>("addLogHandler:"),
                                 });
}

}  // namespace softmetal::api

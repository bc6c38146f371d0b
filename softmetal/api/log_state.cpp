#include "softmetal/api/log_state.h"

#include <cstdio>

#include "softmetal/api/errors.h"
#include "softmetal/objc/define_class.h"

SOFTMETAL_STRING_CONSTANT(MTLLogStateErrorDomain, "MTLLogStateErrorDomain");

namespace softmetal::api {
namespace {

// What a kernel's log call has when it names no level.
constexpr auto kLevel = MTL::LogLevelNotice;

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

void LogState::log(std::string_view message) {
    if (kLevel < least_) return;
    const auto lock = MutexLock(mutex_);
    if (handlers_.empty()) {
        std::fprintf(stderr, "%.*s\n", static_cast<int>(message.size()), message.data());
        return;
    }
    const objc::AutoreleaseScope pool;
    const auto text = objc::make_string(message);
    for (const auto& handler : handlers_) handler(nullptr, nullptr, kLevel, text.get());
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

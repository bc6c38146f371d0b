// A typed message send, through the sender that metal-cpp would choose for the result:
//   R = message<R>(receiver, "selector:", arguments...)
#pragma once

#include <objc/message.h>
#include <objc/runtime.h>

#include "softmetal/objc/define_class.h"

template <class T>
inline constexpr bool kReturnedInMemory = sizeof(T) > 16;
template <>
inline constexpr bool kReturnedInMemory<void> = false;

template <class R, class... A>
R message(const void* receiver, const char* selector, A... arguments) {
    const SEL sel = sel_registerName(selector);
#if defined(__x86_64__)
    if constexpr (std::is_floating_point_v<R>) {
        const auto send = reinterpret_cast<R (*)(const void*, SEL, A...)>(&objc_msgSend_fpret);
        return send(receiver, sel, arguments...);
    } else if constexpr (kReturnedInMemory<R>) {
        const auto send =
            reinterpret_cast<void (*)(R*, const void*, SEL, A...)>(&objc_msgSend_stret);
        R result;
        send(&result, receiver, sel, arguments...);
        return result;
    }
#endif
    const auto send = reinterpret_cast<R (*)(const void*, SEL, A...)>(&objc_msgSend);
    return send(receiver, sel, arguments...);
}

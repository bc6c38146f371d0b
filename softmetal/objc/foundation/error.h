// NSError. Errors that softmetal makes carry a domain, a code and one sentence.
#pragma once

#include <string_view>

#include "softmetal/objc/foundation/collections.h"
#include "softmetal/objc/foundation/string.h"

namespace softmetal::objc {

struct Error : Object {
    Ref<Object> domain;
    intptr_t code = 0;
    Ref<Dictionary> user_info;

    Error() = default;
    Error(Object* error_domain, intptr_t error_code, Dictionary* info);
    std::string_view description() const;  // localizedDescription
};

Ref<Error> make_error(const ConstantString& domain, intptr_t code, std::string_view description);

// Fills in a method's NSError** argument, which may be null.
void set_error(Object** out, Ref<Error> error);

}  // namespace softmetal::objc

extern "C" {
extern const softmetal::objc::ConstantString* const NSCocoaErrorDomain;
extern const softmetal::objc::ConstantString* const NSPOSIXErrorDomain;
extern const softmetal::objc::ConstantString* const NSLocalizedDescriptionKey;
}

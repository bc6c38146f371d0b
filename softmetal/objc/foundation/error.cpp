#include "softmetal/objc/foundation/error.h"

#include <string>

#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/register.h"

SOFTMETAL_STRING_CONSTANT(NSCocoaErrorDomain, "NSCocoaErrorDomain");
SOFTMETAL_STRING_CONSTANT(NSPOSIXErrorDomain, "NSPOSIXErrorDomain");
SOFTMETAL_STRING_CONSTANT(NSOSStatusErrorDomain, "NSOSStatusErrorDomain");
SOFTMETAL_STRING_CONSTANT(NSMachErrorDomain, "NSMachErrorDomain");
SOFTMETAL_STRING_CONSTANT(NSUnderlyingErrorKey, "NSUnderlyingError");
SOFTMETAL_STRING_CONSTANT(NSLocalizedDescriptionKey, "NSLocalizedDescription");
SOFTMETAL_STRING_CONSTANT(NSLocalizedFailureReasonErrorKey, "NSLocalizedFailureReason");
SOFTMETAL_STRING_CONSTANT(NSLocalizedRecoverySuggestionErrorKey, "NSLocalizedRecoverySuggestion");
SOFTMETAL_STRING_CONSTANT(NSLocalizedRecoveryOptionsErrorKey, "NSLocalizedRecoveryOptions");
SOFTMETAL_STRING_CONSTANT(NSRecoveryAttempterErrorKey, "NSRecoveryAttempter");
SOFTMETAL_STRING_CONSTANT(NSHelpAnchorErrorKey, "NSHelpAnchor");
SOFTMETAL_STRING_CONSTANT(NSDebugDescriptionErrorKey, "NSDebugDescription");
SOFTMETAL_STRING_CONSTANT(NSLocalizedFailureErrorKey, "NSLocalizedFailure");
SOFTMETAL_STRING_CONSTANT(NSStringEncodingErrorKey, "NSStringEncoding");
SOFTMETAL_STRING_CONSTANT(NSURLErrorKey, "NSURL");
SOFTMETAL_STRING_CONSTANT(NSFilePathErrorKey, "NSFilePath");

namespace softmetal::objc {
namespace {

Error* init_error(Error* self, Object* domain, intptr_t code, Dictionary* info) {
    if (!domain) stop("-[NSError initWithDomain:code:userInfo:] with a nil domain");
    self->domain = copy_of(domain);
    self->code = code;
    self->user_info = info ? Ref<Dictionary>::retaining(info) : make<Dictionary>();
    return self;
}
Object* error_with(Object* domain, intptr_t code, Dictionary* info) {
    Ref<Error> error = make<Error>();
    init_error(error.get(), domain, code, info);
    return autoreleased(std::move(error));
}
// Without a domain an error says nothing.
Error* init_nothing(Error*) { stop("-[NSError init]: use initWithDomain:code:userInfo:"); }

template <auto& key>
Object* from_info(Error* self) {
    return self->user_info->find(as_object(*key));
}

Object* localized_description(Error* self) {
    if (Object* text = from_info<NSLocalizedDescriptionKey>(self)) return text;
    std::string text(text_of(self->domain.get()));
    text += " error " + std::to_string(self->code);
    if (Object* reason = from_info<NSLocalizedFailureReasonErrorKey>(self)) {
        text.append(": ").append(text_of(reason));
    }
    return string(text);
}

Object* describe(Error* self) {
    std::string text = "Error Domain=";
    text.append(text_of(self->domain.get())).append(" Code=").append(std::to_string(self->code));
    text.append(" \"").append(text_of(localized_description(self))).append("\"");
    return string(text);
}

bool is_equal(Error* self, Object* object) {
    const auto* other = as<Error>(object);
    return other && other->code == self->code &&
           text_of(other->domain.get()) == text_of(self->domain.get()) &&
           Equal()(other->user_info.get(), self->user_info.get());
}
uintptr_t hash(Error* self) { return static_cast<uintptr_t>(self->code); }
Object* copy(Error* self) {
    retain(self);
    return self;
}

}  // namespace

Error::Error(Object* error_domain, intptr_t error_code, Dictionary* info) {
    init_error(this, error_domain, error_code, info);
}

std::string_view Error::description() const {
    return text_of(user_info->find(as_object(*NSLocalizedDescriptionKey)));
}

Ref<Error> make_error(const ConstantString& domain, intptr_t code, std::string_view description) {
    const Ref<String> text = make_string(description);
    const Ref<Dictionary> info =
        make_dictionary({{as_object(*NSLocalizedDescriptionKey), text.get()}});
    return make<Error>(as_object(domain), code, info.get());
}

void set_error(Object** out, Ref<Error> error) {
    if (out) *out = autoreleased(std::move(error));
}

void register_error() {
    define_class<Error>(
        "NSError",
        {
            allocatable<Error>(),
            class_method<&error_with>("errorWithDomain:code:userInfo:"),
            method<&init_nothing>("init"),
            method<&init_error>("initWithDomain:code:userInfo:"),
            property<&Error::code>("code"),
            property<&Error::domain>("domain"),
            property<&Error::user_info>("userInfo"),
            method<&localized_description>("localizedDescription"),
            method<&from_info<NSLocalizedRecoveryOptionsErrorKey>>("localizedRecoveryOptions"),
            method<&from_info<NSLocalizedRecoverySuggestionErrorKey>>(
                "localizedRecoverySuggestion"),
            method<&from_info<NSLocalizedFailureReasonErrorKey>>("localizedFailureReason"),
            method<&describe>("description"),
            method<&is_equal>("isEqual:"),
            method<&hash>("hash"),
            method<&copy>("copy"),
        });
}

}  // namespace softmetal::objc

#include "softmetal/api/errors.h"

#include <utility>

#include "softmetal/base/mutex.h"
#include "softmetal/objc/foundation/string.h"

SOFTMETAL_STRING_CONSTANT(MTLCommandBufferErrorDomain, "MTLCommandBufferErrorDomain");
SOFTMETAL_STRING_CONSTANT(MTLLibraryErrorDomain, "MTLLibraryErrorDomain");
SOFTMETAL_STRING_CONSTANT(MTLCommandBufferEncoderInfoErrorKey,
                          "MTLCommandBufferEncoderInfoErrorKey");
SOFTMETAL_STRING_CONSTANT(MTLDeviceWasAddedNotification, "MTLDeviceWasAddedNotification");
SOFTMETAL_STRING_CONSTANT(MTLDeviceRemovalRequestedNotification,
                          "MTLDeviceRemovalRequestedNotification");
SOFTMETAL_STRING_CONSTANT(MTLDeviceWasRemovedNotification, "MTLDeviceWasRemovedNotification");
// Of parts of Metal that are not here, for programs that compare a domain with them.
SOFTMETAL_STRING_CONSTANT(MTLBinaryArchiveDomain, "MTLBinaryArchiveDomain");
SOFTMETAL_STRING_CONSTANT(MTLIOErrorDomain, "MTLIOErrorDomain");
SOFTMETAL_STRING_CONSTANT(MTLTensorDomain, "MTLTensorDomain");

namespace softmetal::api {
namespace {

struct NilReason {
    Mutex mutex;
    std::string why SOFTMETAL_GUARDED_BY(mutex);
};
NilReason& nil_reason() {
    static auto* const one = new NilReason;
    return *one;
}

}  // namespace

void keep_reason_of_nil(std::string why) {
    auto& reason = nil_reason();
    const auto lock = MutexLock(reason.mutex);
    reason.why = std::move(why);
}

std::string reason_of_nil() {
    auto& reason = nil_reason();
    const auto lock = MutexLock(reason.mutex);
    return reason.why;
}

objc::Ref<objc::Error> make_error(const objc::ConstantString* domain, int64_t code,
                                  std::string_view description, objc::Array* reports) {
    const auto text = objc::make_string(description);
    auto info = objc::make_dictionary({{objc::as_object(*NSLocalizedDescriptionKey), text.get()}});
    if (reports) info->set(objc::as_object(*MTLCommandBufferEncoderInfoErrorKey), reports);
    return objc::make<objc::Error>(objc::as_object(*domain), code, info.get());
}

}  // namespace softmetal::api

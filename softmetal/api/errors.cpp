#include "softmetal/api/errors.h"

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

objc::Ref<objc::Error> make_error(const objc::ConstantString* domain, int64_t code,
                                  std::string_view description, objc::Array* reports) {
    const auto text = objc::make_string(description);
    auto info = objc::make_dictionary({{objc::as_object(*NSLocalizedDescriptionKey), text.get()}});
    if (reports) info->set(objc::as_object(*MTLCommandBufferEncoderInfoErrorKey), reports);
    return objc::make<objc::Error>(objc::as_object(*domain), code, info.get());
}

}  // namespace softmetal::api

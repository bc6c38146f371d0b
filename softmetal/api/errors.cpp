#include "softmetal/api/errors.h"

using softmetal::objc::constant_string;
using softmetal::objc::ConstantString;

namespace {

constinit const ConstantString command_buffer_domain =
    constant_string("MTLCommandBufferErrorDomain");
constinit const ConstantString library_domain = constant_string("MTLLibraryErrorDomain");
constinit const ConstantString encoder_info_key =
    constant_string("MTLCommandBufferEncoderInfoErrorKey");
constinit const ConstantString device_was_added = constant_string("MTLDeviceWasAddedNotification");
constinit const ConstantString device_removal_requested =
    constant_string("MTLDeviceRemovalRequestedNotification");
constinit const ConstantString device_was_removed =
    constant_string("MTLDeviceWasRemovedNotification");

}  // namespace

// metal-cpp looks these up while static objects are made, so they must exist before any
// initialiser.
extern "C" {
extern const ConstantString* const MTLDeviceWasAddedNotification;
extern const ConstantString* const MTLDeviceRemovalRequestedNotification;
extern const ConstantString* const MTLDeviceWasRemovedNotification;

constinit const ConstantString* const MTLCommandBufferErrorDomain = &command_buffer_domain;
constinit const ConstantString* const MTLLibraryErrorDomain = &library_domain;
constinit const ConstantString* const MTLCommandBufferEncoderInfoErrorKey = &encoder_info_key;
constinit const ConstantString* const MTLDeviceWasAddedNotification = &device_was_added;
constinit const ConstantString* const MTLDeviceRemovalRequestedNotification =
    &device_removal_requested;
constinit const ConstantString* const MTLDeviceWasRemovedNotification = &device_was_removed;
}

namespace softmetal::api {

objc::Ref<objc::Error> make_error(const ConstantString* domain, int64_t code,
                                  std::string_view description, objc::Array* reports) {
    const auto text = objc::make_string(description);
    auto info = objc::make_dictionary({{objc::as_object(*NSLocalizedDescriptionKey), text.get()}});
    if (reports) info->set(objc::as_object(encoder_info_key), reports);
    return objc::make<objc::Error>(objc::as_object(*domain), code, info.get());
}

}  // namespace softmetal::api

#include "backend/metal/device/gpu_capture.h"

namespace minfer::metal {

Result<std::unique_ptr<GpuCapture>> GpuCapture::start(const Device& device,
                                                      const std::string& path) {
    const AutoreleaseScope scope;
    auto* const manager = MTL::CaptureManager::sharedCaptureManager();
    if (manager == nullptr)
        return fail(Fault::Device, "no GPU trace '{}': this Metal has no capture manager", path);
    if (!manager->supportsDestination(MTL::CaptureDestinationGPUTraceDocument))
        return fail(Fault::Device,
                    "no GPU trace '{}': the system captures to no file; start the program with "
                    "MTL_CAPTURE_ENABLED=1",
                    path);
    const auto descriptor = NS::TransferPtr(MTL::CaptureDescriptor::alloc()->init());
    descriptor->setCaptureObject(device.handle());
    descriptor->setDestination(MTL::CaptureDestinationGPUTraceDocument);
    descriptor->setOutputURL(
        NS::URL::fileURLWithPath(NS::String::string(path.c_str(), NS::UTF8StringEncoding)));
    NS::Error* error = nullptr;
    if (!manager->startCapture(descriptor.get(), &error))
        return fail(Fault::Device, "no GPU trace '{}': {}", path, describe(error));
    return std::unique_ptr<GpuCapture>(new GpuCapture(manager));
}

GpuCapture::~GpuCapture() {
    const AutoreleaseScope scope;
    manager_->stopCapture();
}

}  // namespace minfer::metal

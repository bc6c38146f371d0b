#pragma once
// A GPU trace: everything that is committed to a device while this lives, in a file that Xcode
// opens (on a device in software, a text).

#include <memory>
#include <string>

#include "backend/metal/device/device.h"

namespace minfer::metal {

class GpuCapture {
  public:
    // Device naming the file when there is no capture manager, when it captures to no file, or when
    // it refuses, as it does for a file that exists.
    static Result<std::unique_ptr<GpuCapture>> start(const Device& device, const std::string& path);
    ~GpuCapture();  // ends the capture; what is not committed yet is not in it
    GpuCapture(const GpuCapture&) = delete;
    GpuCapture& operator=(const GpuCapture&) = delete;

  private:
    explicit GpuCapture(MTL::CaptureManager* manager) : manager_(manager) {}
    MTL::CaptureManager* manager_;  // one for the process, never released
};

}  // namespace minfer::metal

#pragma once
// softmetal as a test wants it: a device of its own limits, failures on request, and small kernels
// that do what no kernel of ours does.

#include <Metal/Metal.hpp>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "backend/metal/device/command_buffer.h"
#include "backend/metal/device/device.h"
#include "softmetal/control.h"
#include "support/temp_dir.h"

namespace minfer::test {

// Devices made while this lives have the profile, a new device from here on.
class Profile {
  public:
    explicit Profile(const softmetal::DeviceProfile& profile) {
        softmetal::set_default_profile(profile);
    }
    ~Profile() { softmetal::set_default_profile({}); }
    Profile(const Profile&) = delete;
    Profile& operator=(const Profile&) = delete;
};

// The device that every backend of the process shares while one of them lives.
inline NS::SharedPtr<MTL::Device> system_device() {
    return NS::TransferPtr(MTL::CreateSystemDefaultDevice());
}

inline uint64_t live(std::string_view class_name) {
    for (const auto& objects : softmetal::live_objects())
        if (objects.class_name == class_name) return objects.count;
    return 0;
}

// All live objects, once the last handler is on its way out.
inline std::string objects() {
    for (int i = 0; i < 10000 && live("MTLCommandBuffer") > 0; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    auto text = std::string();
    for (const auto& [name, count] : softmetal::live_objects())
        text += fmt::format("{} {}\n", name, count);
    return text;
}

// One on a thread of its own, which has no autorelease pool, and one on this.
void at_once(const auto& there, const auto& here) {
    auto thread = std::thread(there);
    here();
    thread.join();
}

inline uint64_t dispatches_of(std::string_view kernel) {
    for (const auto& counters : softmetal::counters(system_device().get()))
        if (counters.kernel == kernel) return counters.dispatches;
    return 0;
}

// A file in a folder that goes away with it.
class TempFile {
  public:
    TempFile(std::string_view name, std::string_view text) : path_(dir_.path() / name) {
        std::ofstream(path_, std::ios::binary) << text;
    }
    std::string path() const { return path_.string(); }

  private:
    TempDir dir_;
    std::filesystem::path path_;
};

struct CountArgs {
    uint32_t count = 0;
};

// increment: out[i] += 1. scaled: the same with threadgroup memory, of its own and of the launch.
// beyond: writes past the end of `out`.
inline constexpr std::string_view kTestKernels = R"(
#include <metal_stdlib>
using namespace metal;
kernel void increment(device uint* out [[buffer(0)]], constant uint& count [[buffer(1)]],
                      uint i [[thread_position_in_grid]]) {
    if (i < count) out[i] += 1;
}
kernel void through_shared(device uint* out [[buffer(0)]], constant uint& count [[buffer(1)]],
                           threadgroup uint* given [[threadgroup(0)]],
                           uint i [[thread_position_in_grid]],
                           uint lane [[thread_index_in_threadgroup]]) {
    threadgroup uint own[32];
    own[lane] = lane;
    given[lane] = i < count ? out[i] : 0;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i < count) out[i] = given[lane] + own[31 - lane];
}
kernel void beyond(device uint* out [[buffer(0)]], constant uint& count [[buffer(1)]],
                   uint i [[thread_position_in_grid]]) {
    out[count + i] = 1;
}
)";

inline metal::Slice whole(const metal::Buffer& buffer) {
    return {.buffer = buffer.get(), .bytes = buffer->length()};
}

}  // namespace minfer::test

// MTLDevice: makes everything else, accounts for memory, and holds what control.h sets.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <Metal/MTLDevice.hpp>

#include "softmetal/api/dispatch_check.h"
#include "softmetal/api/memory.h"
#include "softmetal/api/run_recording.h"
#include "softmetal/api/serial_thread.h"
#include "softmetal/control.h"
#include "softmetal/objc/object.h"

namespace softmetal::api {

struct Buffer;
struct CommandQueue;

struct Device : objc::Object {
    Device(const DeviceProfile& profile, std::shared_ptr<MemorySpace> space);
    ~Device();

    // ---- Memory
    Result<std::shared_ptr<Allocation>> allocate(uint64_t length, HostView view);
    // Counts `bytes` as allocated, or says no: past the enforced limit, or refused on request.
    bool charge(uint64_t bytes);
    void discharge(uint64_t bytes) { allocated_ -= bytes; }
    uint64_t allocated() const { return allocated_; }

    // ---- Work
    RunSettings run_settings();
    KernelTally* tally(const std::string& kernel);      // lives as long as the device
    SerialThread& background() { return background_; }  // compiles
    // Sees each recording when its command buffer is committed. Empty: nobody.
    using CommitObserver = std::function<void(objc::Object* command_buffer, const Recording&)>;
    void set_on_commit(CommitObserver observer);
    void observe_commit(objc::Object* command_buffer, const Recording& recording);

    // ---- What control.h asks for
    struct Request {  // for one command buffer
        std::optional<int64_t> fails_with;
        std::optional<double> hangs_for;
    };
    void ask(const Request& request);
    Request take_request();
    void refuse_allocation(uint64_t nth);
    void fail_next_pipeline(std::string reason);
    std::optional<std::string> take_pipeline_failure();
    std::vector<KernelCounters> counters();
    void reset_counters();

    const DeviceProfile profile;
    const DeviceLimits limits;
    const uint64_t memory_bytes;  // recommendedMaxWorkingSetSize
    const uint64_t registry_id;
    std::atomic<Checks> checks;
    std::atomic<uint64_t> order_seed = 0;
    std::atomic<bool> serve_lowest_site_first = false;
    std::atomic<bool> count_memory = false;
    std::atomic<bool> maximizes_compilation = false;

  private:
    const std::shared_ptr<MemorySpace> space_;
    std::atomic<uint64_t> allocated_ = 0;

    Mutex mutex_;
    std::unique_ptr<exec::Executor> executor_ SOFTMETAL_GUARDED_BY(mutex_);
    std::map<std::string, std::unique_ptr<KernelTally>> tallies_ SOFTMETAL_GUARDED_BY(mutex_);
    Request request_ SOFTMETAL_GUARDED_BY(mutex_);
    uint64_t refuse_in_ SOFTMETAL_GUARDED_BY(mutex_) = 0;  // allocations from now; 0: none
    std::optional<std::string> pipeline_failure_ SOFTMETAL_GUARDED_BY(mutex_);

    std::atomic<bool> is_observed_ = false;
    Mutex observer_mutex_;
    CommitObserver on_commit_ SOFTMETAL_GUARDED_BY(observer_mutex_);
    SerialThread background_;
};

// The device that MTLCreateSystemDefaultDevice gives while it lives. A new profile makes a new one.
// Null where the system has no memory for one (control.h's why_nil).
objc::Ref<Device> system_default_device();

void register_device();

}  // namespace softmetal::api

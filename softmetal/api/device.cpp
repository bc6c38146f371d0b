#include "softmetal/api/device.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

#include "softmetal/api/buffer.h"
#include "softmetal/api/command_queue.h"
#include "softmetal/api/compute_pipeline.h"
#include "softmetal/api/counters.h"
#include "softmetal/api/errors.h"
#include "softmetal/api/event.h"
#include "softmetal/api/fence.h"
#include "softmetal/api/fork.h"
#include "softmetal/api/heap.h"
#include "softmetal/api/library.h"
#include "softmetal/api/log_state.h"
#include "softmetal/api/residency_set.h"
#include "softmetal/objc/block.h"
#include "softmetal/objc/define_class.h"
#include "softmetal/objc/foundation/collections.h"
#include "softmetal/objc/foundation/string.h"

namespace softmetal::api {
namespace {

uint64_t machine_memory() {
    return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
           static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t memory_of(const DeviceProfile& profile) {
    return profile.memory_bytes ? profile.memory_bytes : machine_memory() / 4 * 3;
}

// Addresses are plentiful; twice what could ever be allocated leaves room between long-lived
// buffers.
uint64_t address_bytes_of(const DeviceProfile& profile) {
    constexpr uint64_t kAtLeast = uint64_t{64} << 30;
    return kAtLeast + 2 * std::max(memory_of(profile), machine_memory());
}

DeviceLimits limits_of(const DeviceProfile& profile, uint64_t memory_bytes) {
    return {.max_buffer_bytes = profile.max_buffer_bytes ? profile.max_buffer_bytes : memory_bytes,
            .max_threads_per_threadgroup = profile.max_threads_per_threadgroup,
            .max_threadgroup_bytes = profile.max_threadgroup_memory_bytes,
            .apple_family = profile.apple_family};
}

// A program that knows nothing of control.h is checked by its environment, like Apple's
// MTL_SHADER_VALIDATION.
Checks checks_from_environment() {
    const char* text = std::getenv("SOFTMETAL_CHECKS");
    if (text == nullptr || *text == 0) return Checks::Bounds;
    if (std::string_view(text) == "off") return Checks::Off;
    if (std::string_view(text) == "bounds") return Checks::Bounds;
    if (std::string_view(text) == "all") return Checks::All;
    objc::stop("SOFTMETAL_CHECKS is '%s'; it may be off, bounds or all", text);
}

// MTLCreateSystemDefaultDevice gives the same object as long as somebody holds it.
struct Registry {
    Mutex mutex;
    DeviceProfile profile SOFTMETAL_GUARDED_BY(mutex);
    Device* device SOFTMETAL_GUARDED_BY(mutex) = nullptr;  // not owned
};
Registry& registry() {
    static auto* const one = new Registry;
    return *one;
}

uint64_t next_registry_id() {
    static std::atomic<uint64_t> last = 0x100000000;
    return ++last;
}

}  // namespace

Device::Device(const DeviceProfile& with, std::shared_ptr<MemorySpace> space)
    : profile(with),
      limits(limits_of(with, memory_of(with))),
      memory_bytes(memory_of(with)),
      registry_id(next_registry_id()),
      checks(checks_from_environment()),
      space_(std::move(space)) {
    watch_forks();
}

Device::~Device() {
    if (is_forked_child()) {
        // Its threads are the parent's: there is nothing here to end.
        [[maybe_unused]] const auto* left = executor_.release();
        return;
    }
    const auto lock = MutexLock(registry().mutex);
    if (registry().device == this) registry().device = nullptr;
}

// ---- Memory -------------------------------------------------------------------------------------

bool Device::charge(uint64_t bytes) {
    {
        const auto lock = MutexLock(mutex_);
        if (refuse_in_ != 0 && --refuse_in_ == 0) return false;
    }
    const uint64_t before = allocated_.fetch_add(bytes);
    if (!profile.enforce_memory || bytes <= memory_bytes - std::min(before, memory_bytes))
        return true;
    allocated_ -= bytes;
    return false;
}

Result<std::shared_ptr<Allocation>> Device::allocate(uint64_t length, HostView view) {
    return space_->allocate(length, view);
}

// ---- Work ---------------------------------------------------------------------------------------

RunSettings Device::run_settings() {
    const auto lock = MutexLock(mutex_);
    if (!executor_) executor_ = std::make_unique<exec::Executor>(profile.workers);
    return {.executor = executor_.get(),
            .order_seed = order_seed,
            .serve_lowest_site_first = serve_lowest_site_first,
            .count_memory = count_memory};
}

KernelTally* Device::tally(const std::string& kernel) {
    const auto lock = MutexLock(mutex_);
    auto& tally = tallies_[kernel];
    if (!tally) tally = std::make_unique<KernelTally>(kernel);
    return tally.get();
}

void Device::set_on_commit(CommitObserver observer) {
    const auto lock = MutexLock(observer_mutex_);
    on_commit_ = std::move(observer);
    is_observed_ = static_cast<bool>(on_commit_);
}

void Device::observe_commit(objc::Object* command_buffer, const Recording& recording) {
    if (!is_observed_) return;
    const auto lock = MutexLock(observer_mutex_);
    if (on_commit_) on_commit_(command_buffer, recording);
}

// ---- On request ---------------------------------------------------------------------------------

void Device::ask(const Request& request) {
    const auto lock = MutexLock(mutex_);
    if (request.fails_with) request_.fails_with = request.fails_with;
    if (request.hangs_for) request_.hangs_for = request.hangs_for;
}

Device::Request Device::take_request() {
    const auto lock = MutexLock(mutex_);
    return std::exchange(request_, {});
}

void Device::refuse_allocation(uint64_t nth) {
    const auto lock = MutexLock(mutex_);
    refuse_in_ = nth;
}

void Device::fail_next_pipeline(std::string reason) {
    const auto lock = MutexLock(mutex_);
    pipeline_failure_ = std::move(reason);
}

std::optional<std::string> Device::take_pipeline_failure() {
    const auto lock = MutexLock(mutex_);
    return std::exchange(pipeline_failure_, std::nullopt);
}

std::vector<KernelCounters> Device::counters() {
    const auto lock = MutexLock(mutex_);
    std::vector<KernelCounters> all;
    for (const auto& [kernel, tally] : tallies_) {
        if (auto counters = tally->get(); counters.dispatches != 0)
            all.push_back(std::move(counters));
    }
    return all;
}

void Device::reset_counters() {
    const auto lock = MutexLock(mutex_);
    for (const auto& [kernel, tally] : tallies_) tally->reset();
}

// ---- Messages -----------------------------------------------------------------------------------

namespace {

objc::Object* name(Device* device) { return objc::string(device->profile.name); }

bool supports_family(Device* device, MTL::GPUFamily family) {
    const auto apple = static_cast<NS::Integer>(device->profile.apple_family);
    switch (family) {
        case MTL::GPUFamilyApple1:
        case MTL::GPUFamilyApple2:
        case MTL::GPUFamilyApple3:
        case MTL::GPUFamilyApple4:
        case MTL::GPUFamilyApple5:
        case MTL::GPUFamilyApple6:
        case MTL::GPUFamilyApple7:
        case MTL::GPUFamilyApple8:
        case MTL::GPUFamilyApple9:
        case MTL::GPUFamilyApple10:
            return family - MTL::GPUFamilyApple1 < apple;
        // What Apple's tables say of the families that such a chip belongs to.
        case MTL::GPUFamilyMac1:
        case MTL::GPUFamilyMac2:
        case MTL::GPUFamilyMetal3:
            return apple >= 7;
        case MTL::GPUFamilyCommon1:
            return apple >= 1;
        case MTL::GPUFamilyCommon2:
            return apple >= 3;
        case MTL::GPUFamilyCommon3:
            return apple >= 7;
        case MTL::GPUFamilyMacCatalyst1:
        case MTL::GPUFamilyMacCatalyst2:
            return apple >= 7;
        case MTL::GPUFamilyMetal4:
            return false;  // its command model is not here
    }
    return false;
}

MTL::Size max_threads_per_threadgroup(Device* device) {
    const NS::UInteger max = device->limits.max_threads_per_threadgroup;
    return {max, max, max};
}

void sample_timestamps(Device*, MTL::Timestamp* cpu, MTL::Timestamp* gpu) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    const auto count = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
    *cpu = *gpu = static_cast<MTL::Timestamp>(count);
}

MTL::SizeAndAlign heap_buffer_size_and_align(Device*, NS::UInteger length, MTL::ResourceOptions) {
    return {.size = whole_pages(length), .align = kPageBytes};
}

template <auto value>
auto constant(Device*) {
    return value;
}
bool not_for(Device*, NS::UInteger) { return false; }

// Programs read the chip's generation off the digits, which go with the family: Apple7 is g13.
struct Architecture : objc::Object {
    objc::Ref<Object> name;
};
objc::Object* architecture(Device* device) {
    auto made = objc::make<Architecture>();
    made->name = objc::make_string(fmt::format("softmetal_g{}s", device->profile.apple_family + 6));
    return objc::autoreleased(std::move(made));
}

NS::UInteger compilation_tasks(Device*) {
    return std::max(1u, std::thread::hardware_concurrency());
}

objc::Ref<objc::Array> all_devices() {
    std::vector<objc::Ref<Device>> all;
    if (auto device = system_default_device()) all.push_back(std::move(device));
    return objc::make_array(all);
}

struct DeviceObserver : objc::Object {};

}  // namespace

objc::Ref<Device> system_default_device() {
    const auto lock = MutexLock(registry().mutex);
    if (registry().device != nullptr) {
        if (auto device = objc::try_retain(registry().device)) return device;
    }
    auto space = MemorySpace::create(address_bytes_of(registry().profile));
    if (!space) {
        keep_reason_of_nil("no device memory: " + space.error());
        return nullptr;
    }
    auto made = objc::make<Device>(registry().profile, *std::move(space));
    registry().device = made.get();
    return made;
}

void register_device() {
    using objc::method;
    objc::define_class<Device>(
        "MTLDevice",
        {
            method<&name>("name"),
            method<+[](Device* d) { return d->registry_id; }>("registryID"),
            method<&architecture>("architecture"),
            method<&supports_family>("supportsFamily:"),
            method<&constant<true>>("hasUnifiedMemory"),
            method<&constant<false>>("isLowPower"),
            method<&constant<true>>("isHeadless"),
            method<&constant<false>>("isRemovable"),
            method<&constant<MTL::DeviceLocationBuiltIn>>("location"),
            method<&constant<NS::UInteger{0}>>("locationNumber"),
            method<&constant<uint64_t{0}>>("maxTransferRate"),
            method<&constant<uint64_t{0}>>("peerGroupID"),
            method<&constant<uint32_t{0}>>("peerIndex"),
            method<&constant<uint32_t{0}>>("peerCount"),
            method<&constant<MTL::ArgumentBuffersTier2>>("argumentBuffersSupport"),
            method<&constant<MTL::ReadWriteTextureTierNone>>("readWriteTextureSupport"),
            method<&max_threads_per_threadgroup>("maxThreadsPerThreadgroup"),
            method<+[](Device* d) -> NS::UInteger { return d->limits.max_threadgroup_bytes; }>(
                "maxThreadgroupMemoryLength"),
            method<+[](Device* d) -> NS::UInteger { return d->limits.max_buffer_bytes; }>(
                "maxBufferLength"),
            method<+[](Device* d) { return d->memory_bytes; }>("recommendedMaxWorkingSetSize"),
            method<+[](Device* d) -> NS::UInteger { return d->allocated(); }>(
                "currentAllocatedSize"),
            method<&heap_buffer_size_and_align>("heapBufferSizeAndAlignWithLength:options:"),
            method<&sample_timestamps>("sampleTimestamps:gpuTimestamp:"),
            method<&constant<uint64_t{1'000'000'000}>>("queryTimestampFrequency"),
            method<&compilation_tasks>("maximumConcurrentCompilationTaskCount"),
            method<+[](Device* d) -> bool { return d->maximizes_compilation; }>(
                "shouldMaximizeConcurrentCompilation"),
            method<+[](Device* d, bool on) { d->maximizes_compilation = on; }>(
                "setShouldMaximizeConcurrentCompilation:"),

            // What belongs to rendering, textures, ray tracing and linked functions.
            method<&constant<false>>("areBarycentricCoordsSupported"),
            method<&constant<false>>("areProgrammableSamplePositionsSupported"),
            method<&constant<false>>("areRasterOrderGroupsSupported"),
            method<&constant<false>>("isDepth24Stencil8PixelFormatSupported"),
            method<&constant<false>>("supports32BitFloatFiltering"),
            method<&constant<false>>("supports32BitMSAA"),
            method<&constant<false>>("supportsBCTextureCompression"),
            method<&constant<false>>("supportsDynamicLibraries"),
            method<&constant<false>>("supportsFunctionPointers"),
            method<&constant<false>>("supportsFunctionPointersFromRender"),
            method<&constant<false>>("supportsPrimitiveMotionBlur"),
            method<&constant<false>>("supportsPullModelInterpolation"),
            method<&constant<false>>("supportsQueryTextureLOD"),
            method<&constant<false>>("supportsRaytracing"),
            method<&constant<false>>("supportsRaytracingFromRender"),
            method<&constant<false>>("supportsRenderDynamicLibraries"),
            method<&constant<false>>("supportsShaderBarycentricCoordinates"),
            method<&not_for>("supportsRasterizationRateMapWithLayerCount:"),
            method<&not_for>("supportsTextureSampleCount:"),
            method<&not_for>("supportsVertexAmplificationCount:"),
            method<&constant<NS::UInteger{0}>>("maxArgumentBufferSamplerCount"),

            method<&new_buffer>("newBufferWithLength:options:"),
            method<&new_buffer_with_bytes>("newBufferWithBytes:length:options:"),
            method<&new_buffer_no_copy>("newBufferWithBytesNoCopy:length:options:deallocator:"),
            method<&new_heap>("newHeapWithDescriptor:"),
            method<&new_residency_set>("newResidencySetWithDescriptor:error:"),
            method<&new_event>("newEvent"),
            method<&new_shared_event>("newSharedEvent"),
            method<&new_shared_event_with_handle>("newSharedEventWithHandle:"),
            method<&new_fence>("newFence"),
            method<&new_log_state>("newLogStateWithDescriptor:error:"),
            method<&counter_sets>("counterSets"),
            method<&supports_counter_sampling>("supportsCounterSampling:"),
            method<&new_counter_sample_buffer>("newCounterSampleBufferWithDescriptor:error:"),
            method<&new_command_queue>("newCommandQueue"),
            method<&new_command_queue_with_count>("newCommandQueueWithMaxCommandBufferCount:"),
            method<&new_command_queue_with_descriptor>("newCommandQueueWithDescriptor:"),

            method<&new_library_with_source>("newLibraryWithSource:options:error:"),
            method<&new_library_with_source_async>(
                "newLibraryWithSource:options:completionHandler:"),
            method<&new_library_with_url>("newLibraryWithURL:error:"),
            method<&new_library_with_file>("newLibraryWithFile:error:"),
            method<&new_library_with_data>("newLibraryWithData:error:"),
            method<&new_default_library>("newDefaultLibrary"),
            method<&new_default_library_with_bundle>("newDefaultLibraryWithBundle:error:"),

            method<&new_pipeline>("newComputePipelineStateWithFunction:error:"),
            method<&new_pipeline_reflected>(
                "newComputePipelineStateWithFunction:options:reflection:error:"),
            method<&new_pipeline_async>("newComputePipelineStateWithFunction:completionHandler:"),
            method<&new_pipeline_reflected_async>(
                "newComputePipelineStateWithFunction:options:completionHandler:"),
            method<&new_pipeline_described>(
                "newComputePipelineStateWithDescriptor:options:reflection:error:"),
            method<&new_pipeline_described_async>(
                "newComputePipelineStateWithDescriptor:options:completionHandler:"),
        });
    objc::define_class<Architecture>(
        "MTLArchitecture",
        {
            objc::property<&Architecture::name>("name"),
            method<+[](Architecture* a) { return objc::Ref<Architecture>::retaining(a).leak(); }>(
                "copy"),
        });
    objc::define_class<DeviceObserver>("MTLDeviceObserver", {});
}

}  // namespace softmetal::api

// ---- Functions ----------------------------------------------------------------------------------

using namespace softmetal;

extern "C" {

objc::Object* MTLCreateSystemDefaultDevice() { return api::system_default_device().leak(); }

objc::Object* MTLCopyAllDevices() { return api::all_devices().leak(); }

// No device ever comes or goes, so the handler has nothing to hear.
objc::Object* MTLCopyAllDevicesWithObserver(objc::Object** observer,
                                            MTL::DeviceNotificationHandlerBlock) {
    if (observer) *observer = objc::make<api::DeviceObserver>().leak();
    return api::all_devices().leak();
}

void MTLRemoveDeviceObserver(objc::Object*) {}

}  // extern "C"

void softmetal::set_default_profile(const DeviceProfile& profile) {
    const auto lock = MutexLock(api::registry().mutex);
    api::registry().profile = profile;
    api::registry().device = nullptr;
}

DeviceProfile softmetal::default_profile() {
    const auto lock = MutexLock(api::registry().mutex);
    return api::registry().profile;
}

#include "softmetal/api/run_recording.h"

#include <fmt/format.h>

#include <cstring>
#include <span>
#include <variant>

#include "softmetal/api/command_error.h"
#include "softmetal/api/kernel_code.h"

namespace softmetal::api {
namespace {

class Runner {
  public:
    Runner(Recording& recording, const RunSettings& settings)
        : recording_(recording), settings_(settings) {}

    std::optional<Failure> run() {
        for (auto& command : recording_.commands) {
            std::visit([&](auto& one) { step(one); }, command);
        }
        return std::move(failure_);
    }

  private:
    void step(const BeginEncoder& begin) {
        if (!failure_) encoder_ = static_cast<int>(begin.encoder);
    }
    void step(const EndEncoder&) {
        if (!failure_) encoder_ = -1;
    }

    void step(Dispatch& dispatch) {
        if (failure_) return;
        if (!recording_.retains && finds_released(dispatch)) return;
        auto& launch = dispatch.launch;
        if (dispatch.indirect && !read_grid(dispatch)) return;
        if (launch.threads.x == 0 || launch.threads.y == 0 || launch.threads.z == 0) return;
        launch.memory = reachable(dispatch);
        if (recording_.checked) {
            launch.describe_address = [this](uintptr_t address) { return described(address); };
        }
        launch.log = settings_.log;
        launch.order_seed = settings_.order_seed;
        launch.serve_lowest_site_first = settings_.serve_lowest_site_first;
        launch.count_memory = settings_.count_memory && recording_.checked;
        const auto counters = settings_.executor->run(launch);
        if (!counters) return stop(kErrorPageFault, counters.error());
        dispatch.tally->add(*counters);
    }

    std::span<const exec::MemoryRange> reachable(const Dispatch& dispatch) {
        const auto own =
            std::span(recording_.ranges)
                .subspan(dispatch.ranges_begin, dispatch.ranges_end - dispatch.ranges_begin);
        if (recording_.resident.empty() || !recording_.checked) return own;
        if (resident_.empty()) name_resident();
        reachable_.assign(own.begin(), own.end());
        reachable_.insert(reachable_.end(), resident_.begin(), resident_.end());
        return reachable_;
    }
    void name_resident() {
        for (const Allocation* memory : recording_.resident) {
            const auto& name = names_.emplace_back(memory->label());
            resident_.push_back(
                {.begin = memory->device(), .bytes = memory->length(), .label = name.c_str()});
        }
    }

    // Whatever live buffer stands at a device address, used by this command buffer or not. Host and
    // device views of a memory space lie equally far apart.
    std::string described(uintptr_t address) const {
        for (const auto& used : recording_.memory) {
            auto& root = used->root();
            if (root.space() == nullptr || root.host() == nullptr) continue;
            const auto* host =
                reinterpret_cast<const std::byte*>(address) - (root.device() - root.host());
            auto& space = *root.space();
            const auto lock = MutexLock(space.watch_mutex);
            Allocation* const found = space.find_host(host);
            if (found == nullptr) return "";
            return fmt::format("byte {} of {}", host - found->host(), found->described());
        }
        return "";
    }

    bool finds_released(const Dispatch& dispatch) {
        for (auto i = dispatch.bindings_begin; i < dispatch.bindings_end; ++i) {
            const auto& binding = recording_.bindings[i];
            if (binding.memory == nullptr || !binding.memory->released) continue;
            stop(kErrorInvalidResource,
                 fmt::format(
                     "kernel '{}': {}, bound to buffer({}) '{}', was released before the kernel "
                     "ran, and the command buffer does not retain references",
                     dispatch.code->name(), binding.memory->described(), binding.index,
                     binding.name));
            return true;
        }
        return false;
    }

    // False after a failure.
    bool read_grid(Dispatch& dispatch) {
        const auto& from = *dispatch.indirect;
        if (!usable(*from.memory, "dispatchThreadgroups with an indirect buffer")) return false;
        uint32_t groups[3];
        std::memcpy(groups, from.memory->device() + from.offset, sizeof groups);
        const auto& each = dispatch.launch.threads_per_threadgroup;
        const uint64_t threads[3] = {uint64_t{groups[0]} * each.x, uint64_t{groups[1]} * each.y,
                                     uint64_t{groups[2]} * each.z};
        for (const uint64_t count : threads) {
            if (count <= ~uint32_t{0}) continue;
            stop(kErrorInvalidResource,
                 fmt::format(
                     "kernel '{}': the indirect buffer holds {}x{}x{} threadgroups, and the grid "
                     "may have {} threads along an axis",
                     dispatch.code->name(), groups[0], groups[1], groups[2], ~uint32_t{0}));
            return false;
        }
        dispatch.launch.threads = {static_cast<uint32_t>(threads[0]),
                                   static_cast<uint32_t>(threads[1]),
                                   static_cast<uint32_t>(threads[2])};
        return true;
    }

    void step(const CopyBuffer& copy) {
        if (failure_ || !usable(*copy.from, "a blit copy") || !usable(*copy.to, "a blit copy"))
            return;
        std::memmove(copy.to->device() + copy.to_offset, copy.from->device() + copy.from_offset,
                     copy.bytes);
    }
    void step(const FillBuffer& fill) {
        if (failure_ || !usable(*fill.memory, "a blit fill")) return;
        std::memset(fill.memory->device() + fill.offset, fill.value, fill.bytes);
    }
    void step(const SynchronizeBuffer& sync) {
        if (failure_ || !usable(*sync.device, "synchronizeResource")) return;
        std::memcpy(sync.host->device(), sync.device->device(), sync.device->length());
    }

    bool usable(const Allocation& memory, const char* what) {
        if (recording_.retains || !memory.released) return true;
        stop(kErrorInvalidResource,
             fmt::format(
                 "{}: {} was released before the command ran, and the command buffer does not "
                 "retain references",
                 what, memory.described()));
        return false;
    }

    // Commands of a queue run one after the other, each to its end: nothing is left to wait for.
    void step(const MemoryBarrier&) {}
    void step(const UpdateFence&) {}
    void step(const WaitForFence&) {}

    void step(const SignalEvent& signal) { signal.event->set(signal.value); }
    void step(const WaitForEvent& wait) {
        if (!failure_) wait.event->wait(wait.value);
    }

    void step(const PushDebugGroup&) {}
    void step(const PopDebugGroup&) {}
    void step(const DebugSignpost&) {}

    void stop(int64_t code, std::string message) {
        failure_ = Failure{.code = code, .message = std::move(message), .encoder = encoder_};
    }

    Recording& recording_;
    const RunSettings& settings_;
    std::vector<exec::MemoryRange> resident_, reachable_;
    std::deque<std::string> names_;
    std::optional<Failure> failure_;
    int encoder_ = -1;
};

}  // namespace

void KernelTally::add(const exec::Counters& run) {
    const auto lock = MutexLock(mutex_);
    counters_.dispatches += run.dispatches;
    counters_.threads += run.threads;
    counters_.barriers += run.barriers;
    counters_.read_bytes += run.read_bytes;
    counters_.read_distinct_bytes += run.read_distinct_bytes;
    counters_.read_distinct_in_simdgroup_bytes += run.read_distinct_in_simdgroup_bytes;
    counters_.written_bytes += run.written_bytes;
    counters_.written_distinct_bytes += run.written_distinct_bytes;
    counters_.written_distinct_in_simdgroup_bytes += run.written_distinct_in_simdgroup_bytes;
}

KernelCounters KernelTally::get() const {
    const auto lock = MutexLock(mutex_);
    return counters_;
}

void KernelTally::reset() {
    const auto lock = MutexLock(mutex_);
    counters_ = {.kernel = std::move(counters_.kernel)};
}

void signal_events(const Recording& recording) {
    for (const auto& command : recording.commands) {
        if (const auto* signal = std::get_if<SignalEvent>(&command))
            signal->event->set(signal->value);
    }
}

std::string name_of_byte(const Recording& recording, const Allocation& root, uint64_t offset) {
    for (const auto& memory : recording.memory) {
        if (&memory->root() != &root) continue;
        const uint64_t from = memory->root_offset();
        if (offset < from || offset - from >= memory->length()) continue;
        return fmt::format("byte {} of {}", offset - from, memory->described());
    }
    return fmt::format("byte {} of {}", offset, root.described());
}

std::string user_of_byte(const Recording& recording, const Allocation& root, uint64_t offset,
                         bool or_reads) {
    const auto covers = [&](Allocation* memory, uint64_t begin, uint64_t bytes) {
        if (memory == nullptr || &memory->root() != &root) return false;
        const uint64_t from = memory->root_offset() + begin;
        return offset >= from && offset - from < bytes;
    };
    for (const auto& command : recording.commands) {
        if (const auto* dispatch = std::get_if<Dispatch>(&command)) {
            for (auto i = dispatch->bindings_begin; i < dispatch->bindings_end; ++i) {
                const auto& binding = recording.bindings[i];
                if (!covers(binding.memory, binding.offset, binding.bytes)) continue;
                if (!binding.writes && !or_reads) continue;
                return fmt::format("kernel '{}', which {} it as buffer({}) '{}',",
                                   dispatch->code->name(), binding.writes ? "writes" : "reads",
                                   binding.index, binding.name);
            }
        } else if (const auto* copy = std::get_if<CopyBuffer>(&command)) {
            if (covers(copy->to, copy->to_offset, copy->bytes)) return "a blit copy that writes it";
            if (or_reads && covers(copy->from, copy->from_offset, copy->bytes)) {
                return "a blit copy that reads it";
            }
        } else if (const auto* fill = std::get_if<FillBuffer>(&command)) {
            if (covers(fill->memory, fill->offset, fill->bytes)) return "a blit fill of it";
        } else if (const auto* sync = std::get_if<SynchronizeBuffer>(&command)) {
            if (covers(sync->host, 0, sync->host->length())) return "synchronizeResource on it";
        }
    }
    return "work that was told of it by useResource";
}

std::optional<Failure> run(Recording& recording, const RunSettings& settings) {
    return Runner(recording, settings).run();
}

}  // namespace softmetal::api

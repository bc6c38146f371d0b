#include "softmetal/api/trace.h"

#include <fmt/format.h>

#include <iterator>
#include <variant>

#include "softmetal/api/kernel_code.h"

namespace softmetal::api {
namespace {

struct Describe {
    const Recording& recording;
    std::string out = {};
    int depth = 0;

    template <class... Args>
    void line(fmt::format_string<Args...> format, Args&&... args) {
        out.append(static_cast<size_t>(depth) * 2, ' ');
        fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
        out += '\n';
    }

    void operator()(const BeginEncoder& begin) {
        const auto& encoder = recording.encoders[begin.encoder];
        line("{} encoder{}{}", encoder.kind == EncoderKind::Blit ? "blit" : "compute",
             encoder.kind == EncoderKind::Blit ? ""
             : encoder.is_concurrent           ? " concurrent"
                                               : " serial",
             encoder.label.empty() ? "" : " '" + encoder.label + "'");
        ++depth;
    }
    void operator()(const EndEncoder&) {
        if (depth > 0) --depth;
        line("end");
    }
    void operator()(const Dispatch& dispatch) {
        const auto& launch = dispatch.launch;
        const auto& each = launch.threads_per_threadgroup;
        if (dispatch.indirect) {
            line("dispatch {} threadgroups from {} at {} by {}x{}x{} threads",
                 dispatch.code->name(), dispatch.indirect->memory->described(),
                 dispatch.indirect->offset, each.x, each.y, each.z);
        } else {
            const uint32_t by[3] = {dispatch.in_threads ? 1 : each.x,
                                    dispatch.in_threads ? 1 : each.y,
                                    dispatch.in_threads ? 1 : each.z};
            line("dispatch {} {} {}x{}x{} by {}x{}x{} threads", dispatch.code->name(),
                 dispatch.in_threads ? "threads" : "threadgroups", launch.threads.x / by[0],
                 launch.threads.y / by[1], launch.threads.z / by[2], each.x, each.y, each.z);
        }
        ++depth;
        for (auto i = dispatch.bindings_begin; i < dispatch.bindings_end; ++i) {
            const auto& binding = recording.bindings[i];
            if (binding.memory == nullptr) {
                line("buffer({}) {}: {} bytes set", binding.index, binding.name, binding.bytes);
            } else {
                line("buffer({}) {}: {} at {}, {}", binding.index, binding.name,
                     binding.memory->described(), binding.offset,
                     binding.writes ? "read and written" : "read");
            }
        }
        for (const auto* argument : dispatch.code->arguments()) {
            if (argument->kind != SM_ARGUMENT_THREADGROUP) continue;
            line("threadgroup({}) {}: {} bytes", argument->index, argument->name,
                 launch.threadgroup_bytes[argument->index]);
        }
        --depth;
    }
    void operator()(const CopyBuffer& copy) {
        line("copy {} bytes from {} at {} to {} at {}", copy.bytes, copy.from->described(),
             copy.from_offset, copy.to->described(), copy.to_offset);
    }
    void operator()(const FillBuffer& fill) {
        line("fill {} bytes of {} at {} with {}", fill.bytes, fill.memory->described(), fill.offset,
             fill.value);
    }
    void operator()(const SynchronizeBuffer& sync) {
        line("synchronize {}", sync.device->described());
    }
    void operator()(const MemoryBarrier& barrier) {
        if (barrier.resources.empty()) return line("barrier scope {}", barrier.scope);
        std::string names;
        for (const auto* memory : barrier.resources) {
            names += (names.empty() ? "" : ", ") + memory->described();
        }
        line("barrier resources {}", names);
    }
    void operator()(const UpdateFence& fence) {
        line("update fence {}", fmt::ptr(fence.fence.get()));
    }
    void operator()(const WaitForFence& fence) {
        line("wait for fence {}", fmt::ptr(fence.fence.get()));
    }
    void operator()(const SignalEvent& signal) {
        line("signal event {} value {}", fmt::ptr(signal.event.get()), signal.value);
    }
    void operator()(const WaitForEvent& wait) {
        line("wait for event {} value {}", fmt::ptr(wait.event.get()), wait.value);
    }
    void operator()(const PushDebugGroup& group) {
        line("group '{}'", group.name);
        ++depth;
    }
    void operator()(const PopDebugGroup&) {
        if (depth > 0) --depth;
    }
    void operator()(const DebugSignpost& signpost) { line("signpost '{}'", signpost.text); }
};

}  // namespace

std::string describe(const Recording& recording) {
    auto describe = Describe{.recording = recording};
    for (const auto& command : recording.commands) std::visit(describe, command);
    return std::move(describe.out);
}

}  // namespace softmetal::api

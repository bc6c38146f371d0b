// What a command buffer holds between encoding and running: commands as values, in the order in
// which they were encoded, and the memory they name. Nothing here refers to an encoder; a recording
// can be read (trace.h), run (run_recording.h) and thrown away.
//
// Where further Metal objects attach:
//   MTLEvent, MTLSharedEvent  hold a Timeline; encodeWaitForEvent/encodeSignalEvent append
//                             WaitForEvent/SignalEvent; the device's queues run independently.
//   MTLFence                  holds a Fence; encoders append UpdateFence/WaitForFence. Commands of
//   one
//                             queue run in order, so that a wait is met when it is reached.
//   MTLHeap                   holds one Allocation; its buffers are slices (Allocation::slice), and
//                             useHeap makes the whole resident (ResidentMemory).
//   MTLResidencySet           a list of allocations: commit puts those of the queue's and the
//   command
//                             buffer's sets into Recording::resident.
//   MTLCaptureManager         Device::on_commit sees each Recording; trace.h turns it into text.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "softmetal/api/memory.h"
#include "softmetal/api/timeline.h"
#include "softmetal/exec/abi.h"
#include "softmetal/exec/grid.h"
#include "softmetal/objc/object.h"

namespace softmetal::api {

class KernelCode;
class KernelTally;

struct Fence {};

enum class EncoderKind : uint8_t { Compute, Blit };

// What stands behind one argument of one dispatch.
struct Binding {
    uint8_t index = 0;
    bool writes = false;
    Allocation* memory = nullptr;  // null: bytes that setBytes copied
    uint64_t offset = 0;
    uint64_t bytes = 0;     // that the kernel may reach from the offset on
    const char* name = "";  // the argument's, from the module
};

struct IndirectGrid {
    Allocation* memory = nullptr;
    uint64_t offset = 0;
};

struct Dispatch {
    exec::Launch launch;  // complete but for `memory`, which [ranges_begin, ranges_end) gives
    const KernelCode* code = nullptr;
    KernelTally* tally = nullptr;  // where the counters go
    bool in_threads = false;       // dispatchThreads; otherwise whole threadgroups
    uint32_t bindings_begin = 0, bindings_end = 0;
    uint32_t ranges_begin = 0, ranges_end = 0;
    std::optional<IndirectGrid> indirect;
};

struct CopyBuffer {
    Allocation* from = nullptr;
    uint64_t from_offset = 0;
    Allocation* to = nullptr;
    uint64_t to_offset = 0;
    uint64_t bytes = 0;
};
struct FillBuffer {
    Allocation* memory = nullptr;
    uint64_t offset = 0, bytes = 0;
    uint8_t value = 0;
};
// Of a managed buffer: the host's copy gets the device's bytes.
struct SynchronizeBuffer {
    Allocation* device = nullptr;
    Allocation* host = nullptr;
};

struct BeginEncoder {
    uint32_t encoder = 0;  // index into Recording::encoders
};
struct EndEncoder {};
// All earlier dispatches of the encoder before all later ones. Without resources: everything.
struct MemoryBarrier {
    uint64_t scope = 0;  // MTLBarrierScope bits
    std::vector<Allocation*> resources;
};
struct UpdateFence {
    std::shared_ptr<Fence> fence;
};
struct WaitForFence {
    std::shared_ptr<Fence> fence;
};
struct SignalEvent {
    std::shared_ptr<Timeline> event;
    uint64_t value = 0;
};
struct WaitForEvent {
    std::shared_ptr<Timeline> event;
    uint64_t value = 0;
};
struct PushDebugGroup {
    std::string name;
};
struct PopDebugGroup {};
struct DebugSignpost {
    std::string text;
};

using Command =
    std::variant<BeginEncoder, EndEncoder, Dispatch, CopyBuffer, FillBuffer, SynchronizeBuffer,
                 MemoryBarrier, UpdateFence, WaitForFence, SignalEvent, WaitForEvent,
                 PushDebugGroup, PopDebugGroup, DebugSignpost>;

struct EncoderInfo {
    EncoderKind kind = EncoderKind::Compute;
    bool is_concurrent = false;
    std::string label;
    std::vector<std::string> signposts;
};

// Memory that kernels may reach through addresses they read from buffers.
struct ResidentMemory {
    Allocation* memory = nullptr;
    bool reads = false, writes = false;  // for the host access check; neither: unknown, not checked
};

// Bytes with addresses that stay: what setBytes copies.
class ByteArena {
  public:
    std::byte* add(const void* bytes, size_t count);

  private:
    struct Block {
        std::unique_ptr<std::byte[]> bytes;
        size_t used = 0, capacity = 0;
    };
    std::vector<Block> blocks_;
};

struct Recording {
    std::deque<Command> commands;
    std::vector<EncoderInfo> encoders;
    std::vector<Binding> bindings;
    std::vector<exec::MemoryRange> ranges;  // of all dispatches, checked recordings only
    std::deque<std::string> names;          // labels that ranges point to
    std::vector<Allocation*> resident;      // for the whole command buffer, from its commit on
    std::vector<ResidentMemory> used;       // what useResource told, in any encoder
    ByteArena bytes;
    // What commands point to. `retained` is empty in a command buffer without retained references.
    std::vector<std::shared_ptr<Allocation>> memory;
    std::vector<std::shared_ptr<const KernelCode>> code;
    std::vector<objc::Ref<objc::Object>> retained;
    bool retains = true;
    bool checked = false;
    std::vector<std::string>
        misuse;  // what was wrong while encoding: the command buffer will not run
};

}  // namespace softmetal::api

#pragma once
// Somebody who looks on while graphs are executed: at what nodes compute, or at how long they take.
// Without a watch an execution does nothing for it.

#include <chrono>
#include <cstddef>
#include <span>

#include "graph/graph.h"

namespace minfer {

// Sees every value of an execution as the host does: i32 and f32 of the node's logical length.
class ValueWatch {
  public:
    virtual ~ValueWatch() = default;

    virtual void begin(const Graph& graph) = 0;
    // Once for each input that lives, then for each executed node as it is when it has run,
    // whatever takes its memory later, and for the views that show it. KV regions are left out.
    // `value` is valid during the call.
    virtual void value(const Node& node, std::span<const std::byte> value) = 0;
    // All values were seen. After an error this is not called: what came since begin() is a part.
    virtual void end() = 0;
};

// Sees where the host's time goes. All times are the host's.
class TimeWatch {
  public:
    using Clock = std::chrono::steady_clock;
    struct Span {
        Clock::time_point begin, end;
        double seconds() const { return std::chrono::duration<double>(end - begin).count(); }
    };

    virtual ~TimeWatch() = default;

    virtual void begin(const Graph& graph) = 0;
    // A node was computed, or on a device encoded.
    virtual void node(const Node& node, Span ran) = 0;
    // A device was given `n_nodes` nodes and waited for.
    virtual void wait(BackendId backend, size_t n_nodes, Span waited) = 0;
    // The whole execution. After an error this is not called.
    virtual void end(Span executed) = 0;
};

struct Watches {  // who looks on; null: nobody
    ValueWatch* values = nullptr;
    TimeWatch* times = nullptr;
};

}  // namespace minfer

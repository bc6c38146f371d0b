#pragma once
// Where the time of a run goes, by kind of operation: what the host takes to compute a node on the
// CPU or to encode it for a device, and what it waits for the device.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "graph/watch.h"

namespace minfer {

class OpProfile final : public TimeWatch {
  public:
    using Say = std::function<void(std::string_view line)>;
    // The table is said after the first execution; after each later one, a line.
    explicit OpProfile(Say say) : say_(std::move(say)) {}

    void begin(const Graph& graph) override;
    void node(const Node& node, Span ran) override;
    void wait(BackendId backend, size_t n_nodes, Span waited) override;
    void end(Span executed) override;

    // Says the table of everything since the start: the 20 that took longest, the longest first.
    void say_table() const;

  private:
    using Key = std::pair<std::string_view, BackendId>;  // op and backend
    struct Row {
        size_t count = 0;
        double seconds = 0;
    };
    Say say_;
    std::map<Key, Row> rows_;
    size_t n_executed_ = 0;
    double executed_seconds_ = 0;
    double nodes_seconds_ = 0, wait_seconds_ = 0;  // of the execution going on
};

}  // namespace minfer

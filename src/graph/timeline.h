#pragma once
// A run as a timeline, in the JSON that Perfetto and chrome://tracing open.

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "graph/watch.h"

namespace minfer {

// Track "host" has the program's spans, in them a span for each execution, and in those one for
// each node of the CPU and one for the encoding of each split of a device. The device's track has
// the time from a split's submission to its end.
class Timeline final : public TimeWatch {
  public:
    // Something the program did itself, such as loading.
    void add(std::string name, Span span);

    void begin(const Graph& graph) override;
    void node(const Node& node, Span ran) override;
    void wait(BackendId backend, size_t n_nodes, Span waited) override;
    void end(Span executed) override;

    // An array of complete events ("ph": "X"), times in microseconds from the first one on, and the
    // names of process and tracks.
    std::string to_json() const;

  private:
    struct Event {
        const std::string* name = nullptr;  // one of names_
        std::string_view category;
        uint32_t track = 0;
        Span span;
    };
    void add(std::string name, std::string_view category, uint32_t track, Span span);

    std::unordered_set<std::string> names_;
    std::vector<Event> events_;
    size_t n_left_out_ = 0;
    size_t n_tokens_ = 0;                           // of the execution going on
    std::optional<Clock::time_point> encode_from_;  // of the split going on
};

}  // namespace minfer

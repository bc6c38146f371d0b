#pragma once
// What a run says about itself when asked: a trace of what its nodes compute, a profile of its
// operations, a timeline.

#include <optional>
#include <string>

#include "console.h"
#include "environment.h"
#include "graph/op_profile.h"
#include "graph/timeline.h"
#include "graph/trace.h"
#include "model_options.h"
#include "text/tokenizer.h"

namespace minfer {

// What traces call a model: the name that its file gives it, else its architecture.
std::string model_title(const Model& model);

// Writes a trace with the texts of its tokens; "-" is stdout.
Result<> write_trace(const Trace& trace, const Tokenizer& tokenizer, const std::string& path,
                     Console& console);

class Diagnostics final : public TimeWatch {
  public:
    // The timeline starts here. What was not asked for costs nothing.
    Diagnostics(const Environment& env, std::optional<std::string> timeline_file, Console& console);

    // From the next step on; everything up to now was loading. Lives as long as the engine runs.
    void watch(Engine& engine, const std::string& prompt);
    // Writes the files and says the profile. Both are tried when one fails.
    Result<> finish(const Tokenizer& tokenizer);

  private:
    void begin(const Graph& graph) override;
    void node(const Node& node, Span ran) override;
    void wait(BackendId backend, size_t n_nodes, Span waited) override;
    void end(Span executed) override;

    Console& console_;
    const std::string trace_file_;
    const std::optional<std::string> timeline_file_;
    const Clock::time_point start_ = Clock::now();
    std::optional<TraceRecorder> trace_;
    std::optional<OpProfile> profile_;
    std::optional<Timeline> timeline_;
};

}  // namespace minfer

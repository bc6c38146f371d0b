#include "diagnostics.h"

#include "graph/trace_file.h"
#include "model_facts.h"
#include "output_file.h"

namespace minfer {

std::string model_title(const Model& model) {
    const auto facts = read_facts(model.file());
    return facts.model_name.empty() ? facts.architecture : facts.model_name;
}

Result<> write_trace(const Trace& trace, const Tokenizer& tokenizer, const std::string& path,
                     Console& console) {
    const auto text = [&](int32_t token) {
        const auto id = TokenId{token};
        return tokenizer.decode(std::span(&id, 1), {.show_control = true}).value_or("");
    };
    const auto json = trace_to_json(trace, text);
    return path == "-" ? console.write(json) : write_file(path, json);
}

Diagnostics::Diagnostics(const Environment& env, std::optional<std::string> timeline_file,
                         Console& console)
    : console_(console), trace_file_(env.trace_file), timeline_file_(std::move(timeline_file)) {
    if (env.op_profile)
        profile_.emplace([&console](std::string_view line) { console.note("{}", line); });
    if (timeline_file_) timeline_.emplace();
}

void Diagnostics::watch(Engine& engine, const std::string& prompt) {
    if (timeline_) timeline_->add("load", {start_, Clock::now()});
    if (!trace_file_.empty()) trace_.emplace(model_title(engine.model()), prompt);
    engine.watch(
        {.values = trace_ ? &*trace_ : nullptr, .times = profile_ || timeline_ ? this : nullptr});
}

Result<> Diagnostics::finish(const Tokenizer& tokenizer) {
    if (profile_) profile_->say_table();
    Result<> traced, drawn;
    if (trace_) traced = write_trace(trace_->trace(), tokenizer, trace_file_, console_);
    if (timeline_) {
        timeline_->add("run", {start_, Clock::now()});
        drawn = write_file(*timeline_file_, timeline_->to_json());
    }
    return traced ? drawn : traced;
}

void Diagnostics::begin(const Graph& graph) {
    if (profile_) profile_->begin(graph);
    if (timeline_) timeline_->begin(graph);
}

void Diagnostics::node(const Node& node, Span ran) {
    if (profile_) profile_->node(node, ran);
    if (timeline_) timeline_->node(node, ran);
}

void Diagnostics::wait(BackendId backend, size_t n_nodes, Span waited) {
    if (profile_) profile_->wait(backend, n_nodes, waited);
    if (timeline_) timeline_->wait(backend, n_nodes, waited);
}

void Diagnostics::end(Span executed) {
    if (profile_) profile_->end(executed);
    if (timeline_) timeline_->end(executed);
}

}  // namespace minfer

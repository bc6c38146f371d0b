#pragma once
// A trace as a file:
// {format: "minfer-trace", version: 1, model, prompt, phases: [{kind, graph, steps: [{n_tokens,
// token, text, logits_top: [{token, text, logit, probability}], nodes: [{id, dtype, stats: {min,
// max, mean, mean_abs, non_finite?}, values, stride, n}]}]}]}
// `graph` is what to_json() in export.h writes. Values that JSON has no number for are the strings
// "nan", "inf" and "-inf".

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "graph/trace.h"

namespace minfer {

using TokenText = std::function<std::string(int32_t token)>;

std::string trace_to_json(const Trace& trace, const TokenText& text);

// Everything but texts, from a file that anybody may have written. BadInput: no JSON or a part of
// it, another format or version, a field that is missing or of another kind, by its place.
Result<Trace> trace_from_json(std::string_view json);

}  // namespace minfer

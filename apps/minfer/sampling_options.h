#pragma once
// Sampling flags and how they combine with what the model file recommends.

#include <optional>
#include <utility>
#include <vector>

#include "flags.h"
#include "gguf/metadata.h"
#include "runtime/sampler.h"
#include "text/tokenizer.h"

namespace minfer {

struct SamplingOptions {  // as given
    std::optional<float> temperature, top_p, min_p, repeat_penalty, presence_penalty,
        frequency_penalty;
    std::optional<int> top_k, repeat_last_n;
    std::vector<std::pair<int64_t, float>> logit_bias;
    std::optional<uint64_t> seed;  // absent: random
};

void add_sampling_flags(Flags& flags, SamplingOptions& options);

// Flag, then `general.sampling.*` of the file, then the default. The seed stays 0.
Result<SamplerOptions> effective_sampling(const SamplingOptions& options,
                                          const gguf::Metadata& meta);

// The same with logit biases checked against the vocabulary and a seed drawn when none was given.
Result<SamplerOptions> resolve_sampling(const SamplingOptions& options, const gguf::Metadata& meta,
                                        size_t n_usable);

}  // namespace minfer

#pragma once
// A file that keeps what a run evaluated, so that the next one with the same beginning need not:
// llama.cpp's --prompt-cache.

#include <optional>
#include <span>
#include <string>

#include "console.h"
#include "flags.h"
#include "runtime/engine.h"
#include "runtime/session_file.h"

namespace minfer {

struct PromptCacheOptions {
    std::optional<std::string> file;
    bool all = false;        // the answer as well, not the prompt alone
    bool read_only = false;  // never write the file
};

void add_prompt_cache_flags(Flags& flags, PromptCacheOptions& options);
// BadInput for the switches without a file.
Result<> check_combination(const PromptCacheOptions& options);

class PromptCache {
  public:
    // Puts what the file has of `prompt` into the engine's main sequence; a file that does not fit
    // this run is said in one note and not used. BadInput for one that is no session at all, as it
    // would be written over; Io when it cannot be written, before anything is evaluated.
    static Result<PromptCache> load(PromptCacheOptions options, Engine& engine,
                                    std::span<const TokenId> prompt, Console& console);

    // Tokens of the prompt that are evaluated already; at least one is left.
    size_t n_reused() const { return n_reused_; }

    bool keeps_all() const { return options_.all; }

    // Writes what the engine holds now; nothing without a file, or one that is only read.
    Result<> save(Engine& engine) const;

  private:
    explicit PromptCache(PromptCacheOptions options) : options_(std::move(options)) {}

    PromptCacheOptions options_;
    std::optional<SessionShape> shape_;
    size_t n_reused_ = 0;
};

}  // namespace minfer

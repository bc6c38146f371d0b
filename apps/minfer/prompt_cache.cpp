#include "prompt_cache.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "runtime/prefix_match.h"
#include "units.h"

namespace minfer {
namespace {

// Of an existing file: it begins as a session does, of whatever version.
bool is_session(const std::string& file) {
    std::array<char, kSessionMagic.size()> start{};
    return std::ifstream(file, std::ios::binary).read(start.data(), start.size()) &&
           start == kSessionMagic;
}

}  // namespace

void add_prompt_cache_flags(Flags& flags, PromptCacheOptions& options) {
    flags.group("Prompt cache");
    flags.value("--prompt-cache", "FILE",
                "Keep the evaluated prompt in FILE, and begin with what FILE has of this one",
                set_text(options.file));
    flags.flag("--prompt-cache-all,-all", "Keep the answer as well", [&] { options.all = true; });
    flags.flag("--prompt-cache-ro,-ro", "Use FILE and do not write it",
               [&] { options.read_only = true; });
}

Result<> check_combination(const PromptCacheOptions& options) {
    if (options.file && options.file->empty())
        return fail(Fault::BadInput, "--prompt-cache: the name of the file is empty");
    if (options.file || (!options.all && !options.read_only)) return {};
    return fail(Fault::BadInput, "{} needs --prompt-cache FILE",
                options.all ? "--prompt-cache-all" : "--prompt-cache-ro");
}

Result<PromptCache> PromptCache::load(PromptCacheOptions options, Engine& engine,
                                      std::span<const TokenId> prompt, Console& console) {
    auto cache = PromptCache(std::move(options));
    if (!cache.options_.file) return cache;
    const auto& file = *cache.options_.file;
    if (!cache.options_.read_only) MINFER_TRY(AtomicFile::create(file, {}));
    cache.shape_ = session_shape(engine.model(), engine.cache());
    std::error_code absent;
    if (std::filesystem::file_size(file, absent) == 0 && !absent) return cache;
    const auto saved = SavedSession::open(file, *cache.shape_);
    if (!saved) {
        const auto& error = saved.error();
        if (error.fault == Fault::NotFound && !cache.options_.read_only) return cache;
        if (error.fault == Fault::Io || error.fault == Fault::NotFound || !is_session(file))
            return std::unexpected(error);
        console.note("prompt cache not used{}: {}",
                     cache.options_.read_only ? "" : ", and to be replaced", error.what);
        return cache;
    }
    const auto known = saved->tokens().find(kMainSequence);
    if (known == saved->tokens().end()) return cache;
    // The last token is evaluated in any case: its logits are wanted.
    const auto rows = common_prefix(known->second, prompt.first(prompt.size() - 1));
    if (rows == 0) {
        console.note("prompt cache {}: nothing in common with this prompt", file);
        return cache;
    }
    MINFER_TRY(saved->load_into(engine.cache()));
    engine.truncate(rows);
    // A file of another program may hold more sequences, and less room for this one.
    const auto others = engine.cache().store().sequences();
    for (const auto& [seq, sequence] : others)
        if (seq != kMainSequence) engine.cache().release(seq);
    MINFER_TRY(engine.cache().set_capacity(kMainSequence, engine.n_ctx()));
    cache.n_reused_ = rows;
    console.note("prompt cache {}: {} of the prompt need not be evaluated", file,
                 counted(rows, "token"));
    return cache;
}

Result<> PromptCache::save(Engine& engine) const {
    if (!options_.file || options_.read_only || engine.n_past() == 0) return {};
    return save_session(*options_.file, engine.cache(), *shape_, {});
}

}  // namespace minfer

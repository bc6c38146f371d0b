#pragma once
// The flags that every command running a model shares, and the loading
// they lead to.

#include <memory>
#include <optional>
#include <string>

#include "backend_choice.h"
#include "console.h"
#include "environment.h"
#include "flags.h"
#include "model/model.h"
#include "runtime/engine.h"

namespace minfer {

enum class LoadMode : uint8_t { Mmap, Mlock };

struct ModelOptions {  // as given; what is absent comes from the environment or a default
    std::optional<std::string> model;
    DeviceOptions device;
    std::optional<int64_t> n_ctx;  // 0: as trained
    std::optional<int64_t> n_batch, n_ubatch;
    std::optional<KvFormat> k_format, v_format;  // equal when both are given
    LoadMode load_mode = LoadMode::Mmap;
    bool check_tensors = false;
    bool warmup = true;
    bool verbose = false;
    std::optional<std::string> log_file;
};

constexpr int64_t kDefaultContext = 4096, kDefaultBatch = 2048, kDefaultUbatch = 512;

void add_threads_flag(Flags& flags, ModelOptions& options);
constexpr double kMaxTimeout = 86400;  // a day

void add_device_flags(Flags& flags, ModelOptions& options);   // --device, -ngl, -fa, KV types
void add_loading_flags(Flags& flags, ModelOptions& options);  // --load-mode, --check-tensors, …
void add_batch_flags(Flags& flags, ModelOptions& options);    // -c, -b, -ub

// Brings the positional model and the one of -m together; BadInput for both or none.
Result<> settle_model(std::optional<std::string>& positional, std::optional<std::string>& flag);

// The model file meant by a path: the file itself, ~/ expanded, or the only model in a folder.
Result<std::string> find_model(const std::string& path, const Environment& env);

// A model on its devices. Members are destroyed from the last to the first.
struct Loaded {
    std::unique_ptr<Model> model;
    Devices devices;
    EngineOptions options;
    std::string path;
    std::unique_ptr<Engine> engine;
};

// Opens the file, checks it as the flags ask, and makes it current in memory.
Result<std::unique_ptr<Model>> load_model(const ModelOptions& options, const Environment& env,
                                          Console& console);

// The type of the KV cache that flags or variable ask for; nothing: the engine chooses.
std::optional<KvFormat> cache_format(const ModelOptions& options, const Environment& env);

// The context to run with: the flag or variable, held against the trained length.
Result<size_t> choose_context(const ModelOptions& options, const Environment& env,
                              const HParams& hparams, Console& console);

// The model file opened and the devices chosen. Nothing costly is done yet and there is no engine:
// whatever depends on the file's metadata alone can be refused first.
Result<Loaded> open_model(const ModelOptions& options, const Environment& env, Console& console);

// Weights in memory, engine made, and the plan and all notes held so far printed.
Result<> start(Loaded& loaded, const ModelOptions& options, Console& console);

// One empty step, so that what is measured and felt afterwards is the speed of a running engine.
Result<> warm_up(Engine& engine);

// The error, with the flag that helps against it when there is one.
Error with_advice(Error error, const ModelOptions& options);

// Notes what was set in the environment and means nothing here.
void note_unknown_variables(const Environment& env, Console& console);

}  // namespace minfer

#include "not_yet.h"

#include <algorithm>
#include <span>

namespace minfer {
namespace {

constexpr std::string_view kFlags[] = {
    // model and device
    "-hf",
    "--offline",
    "-tb",
    "--threads-batch",
    "--no-kv-offload",
    "--no-mmap",
    "--mem-budget",
    "--fit",
    "--override-kv",
    "--rope-scaling",
    "--rope-scale",
    "--rope-freq-base",
    "--rope-freq-scale",
    "--yarn-orig-ctx",
    "--yarn-ext-factor",
    "--yarn-attn-factor",
    "--yarn-beta-slow",
    "--yarn-beta-fast",
    "--list-devices",
    "--config",
    "--print-config",
    // output
    "-lv",
    "--log-json",
    "--log-colors",
    "--color",
    "--hide-thinking",
    "--reasoning-budget",
    "--reasoning-format",
    "--dump-graph",
    "--dump-graph-json",
    // conversation
    "-cnv",
    "--cnv",
    "--conversation",
    "-mli",
    "--multiline-input",
    "--session",
    "--prompt-cache",
    "--prompt-cache-all",
    "--prompt-cache-ro",
    "--keep",
    "--context-shift",
    "--no-context-shift",
    "--max-kv-size",
    "--escape-special-in-input",
    "--nfc",
    // constrained output
    "--format",
    "--grammar",
    "--grammar-file",
    "-j",
    "--json-schema",
    "-jf",
    "--json-schema-file",
    // sampling
    "--typical",
    "--typical-p",
    "--top-n-sigma",
    "--dry-multiplier",
    "--dry-base",
    "--dry-allowed-length",
    "--dry-penalty-last-n",
    "--dry-sequence-breaker",
    "--xtc-probability",
    "--xtc-threshold",
    "--mirostat",
    "--mirostat-ent",
    "--mirostat-tau",
    "--mirostat-lr",
    "--mirostat-eta",
    "--dynatemp-range",
    "--dynatemp-exp",
    "--samplers",
    // drafting
    "--spec-draft",
    "-md",
    "--model-draft",
    "--spec-draft-n",
    "--spec-draft-n-max",
    "--spec-draft-n-min",
    "--spec-draft-p-min",
    "--spec-draft-adaptive",
    "-ngld",
    "-ctkd",
    "-ctvd",
    "--spec-type",
    "--spec",
    // serving
    "--host",
    "--port",
    "-np",
    "--parallel",
    "--n-slots",
    "-cb",
    "--cont-batching",
    "--queue",
    "--api-key",
    "--api-key-file",
    "--cors-origins",
    "-a",
    "--alias",
    "--metrics",
    "--slots",
    "--props",
    "--server",
};

constexpr std::string_view kCommands[] = {
    "chat",  "serve",      "pull",       "download",   "list",     "ls",
    "rm",    "detokenize", "template",   "convert",    "quantize", "split",
    "merge", "viz",        "specverify", "perplexity", "doctor",   "completion",
};

bool listed(std::span<const std::string_view> names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

}  // namespace

bool is_flag_not_yet(std::string_view name) { return listed(kFlags, name); }
bool is_command_not_yet(std::string_view name) { return listed(kCommands, name); }

}  // namespace minfer

#!/usr/bin/env bash
# ./run.sh ["prompt"] [flags of minfer run ...]
# Installs what is missing, builds minfer, and lets the bundled model tell a story.
set -euo pipefail
root=$(cd "$(dirname "$0")" && pwd)
. "$root/tools/setup.sh"

(
    cd "$root"
    install_missing
    build release minfer
)

case " $* " in
    *" -p "* | *" --prompt "* | *" -f "* | *" --file "*) ;; # the prompt is among the flags
    "  " | " -"*)
        set -- "Once upon a time" "$@"
        printf '%s' "$1" # the model continues the text; show how the story begins
        ;;
esac
exec "$root/build/release/bin/minfer" run "$root/models/storyteller/storyteller-q8_0.gguf" "$@"

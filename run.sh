#!/usr/bin/env bash
# ./run.sh ["prompt" [flags of minfer run ...]]
# Installs what is missing, builds minfer, and lets the bundled model tell a story.
set -euo pipefail
cd "$(dirname "$0")"
. tools/setup.sh

install_missing
build release minfer

model=models/storyteller/storyteller-q8_0.gguf
if [ $# = 0 ]; then
    set -- "Once upon a time"
    printf '%s' "$1" # the model continues the prompt; show where the story begins
fi
exec build/release/bin/minfer run "$model" "$@"

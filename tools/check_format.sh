#!/usr/bin/env bash
# Fails when a C++ file is not laid out as .clang-format says.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v clang-format-19 >/dev/null || exit 0 # not on macOS, where another version would differ
git ls-files '*.h' '*.cpp' | xargs -r clang-format-19 --dry-run --Werror

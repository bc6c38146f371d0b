#!/usr/bin/env bash
# ./test.sh         installs what is missing, builds, and runs every test
# ./test.sh --all   the same, then the sanitizer builds: what CI runs
set -euo pipefail
cd "$(dirname "$0")"
. tools/setup.sh

all=no
case "${1:-}" in
    "") ;;
    --all) all=yes ;;
    *) die "unknown argument '$1'; allowed: --all" ;;
esac

install_missing
python3 tools/check_layers.py
tools/check_format.sh
[ -n "${MINFER_TEST_DATA:-}" ] ||
    echo "MINFER_TEST_DATA is not set: comparisons with the published tokenizers and templates are left out" >&2

run_tests() { # PRESET [ctest arguments]
    ctest --preset "$1" --parallel "$(getconf _NPROCESSORS_ONLN)" --output-on-failure "${@:2}"
}

build release
run_tests release
if [ $all = yes ]; then
    build asan
    run_tests asan -LE slow
    build tsan base_test cpu_test
    run_tests tsan -L threads
fi

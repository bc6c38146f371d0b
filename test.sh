#!/usr/bin/env bash
# ./test.sh         installs what is missing, builds, and runs the tests but those labelled slow
# ./test.sh --all   the same, then the slow tests, the sanitizer builds and the cross build for macOS:
#                   what CI runs
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
    echo "MINFER_TEST_DATA is not set: comparisons with the published Qwen tokenizer and templates are left out" >&2

run_tests() { # BUILD quick|slow
    local -A chosen=([quick]="-LE slow" [slow]="-L slow")
    local results="$PWD/build/$1/tests-$2.xml" configuration="$1 $2, $(uname -s) $(uname -m)"
    [ "$metal" = ON ] || configuration+=", no Metal"
    # shellcheck disable=SC2086 # an option and its value
    ctest --test-dir "build/$1" --parallel "$(getconf _NPROCESSORS_ONLN)" --output-on-failure \
        --output-junit "$results" ${chosen[$2]}
    # A test that vanished fails nowhere else.
    python3 tools/suite_ledger.py check "$configuration" "$results"
}

build release
if [ "$metal" = ON ] && [ -n "$(metal_missing release)" ]; then
    die "Metal could not be built: $(metal_missing release) (to test everything else: MINFER_METAL=OFF ./test.sh)"
fi
run_tests release quick
if [ $all = yes ]; then
    run_tests release slow
fi
if [ $all = yes ] && [ "$(uname -s)" = Darwin ]; then
    echo "the sanitizer builds are set up for Linux only: left out" >&2
elif [ $all = yes ]; then
    build asan
    run_tests asan quick
    if [ "$metal" = ON ]; then
        if [ "$(uname -m)" = x86_64 ]; then
            # What runs on softmetal here also builds for a Mac.
            softmetal/tools/link_for_macos.sh build/release/tour-for-macos \
                "${METAL_CPP_DIR:-build/downloads/metal-cpp/mlx/include/metal_cpp}" build/downloads \
                softmetal/examples/tour.cpp
            kind=$(file build/release/tour-for-macos)
            echo "$kind"
            case "$kind" in
                *"Mach-O 64-bit arm64 executable"*) ;;
                *) die "the tour did not link to an arm64 Mach-O executable" ;;
            esac
            tools/build_for_macos.sh
        else
            echo "the cross build for macOS is set up for x86-64 only: left out" >&2
        fi
        softmetal_tests=(bin/softmetal_{objc,exec}_test softmetal/tests/api/softmetal_api_test
            bin/softmetal_{msl,stdlib}_tests)
        build tsan "${softmetal_tests[@]##*/}"
        for program in "${softmetal_tests[@]}"; do
            "build/tsan/$program" --gtest_brief=1
        done
    fi
    # Of these the tests in which threads meet.
    meeting='*Thread*:*Generate*:*Truncate*'
    declare -A threaded=([base_test]=$meeting [backend_cpu_test]=$meeting [runtime_test]=$meeting)
    if [ "$metal" = ON ]; then
        threaded[backend_metal_test]='CommandBufferTest.*:MetalRecovery.*:MetalBackend.*'
    fi
    build tsan "${!threaded[@]}"
    for program in "${!threaded[@]}"; do
        filter="--gtest_filter=${threaded[$program]}"
        # A filter that matches nothing would pass for ever.
        "build/tsan/bin/$program" --gtest_list_tests "$filter" | grep '^  ' >/dev/null ||
            die "$program: no test matches $filter"
        "build/tsan/bin/$program" --gtest_brief=1 "$filter"
    done
fi

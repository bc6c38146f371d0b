#!/usr/bin/env bash
# link_for_macos.sh OUT METAL_CPP_DIR DOWNLOADS SOURCE...
# Compiles and links a metal-cpp program for arm64 macOS on Linux: proof that what runs on softmetal
# also builds against Apple's Metal, with zig for compiler and linker; the stubs in cmake/macos name what
# Metal, Foundation and libobjc export. The result cannot be run here.
set -euo pipefail
[ $# -ge 4 ] || { sed -n 2p "$0" >&2; exit 2; }
out=$1 metal_cpp=$2 downloads=$3
shift 3
softmetal=$(cd "$(dirname "$0")/.." && pwd)

zig=$("$softmetal/tools/fetch_zig.sh" "$downloads")

# -idirafter: Apple's own headers win where zig has them.
"$zig" c++ -target aarch64-macos.14.0 -O2 -std=c++20 -fblocks -Wall \
    -isystem "$metal_cpp" -idirafter "$softmetal/include" \
    -F "$softmetal/cmake/macos" -L "$softmetal/cmake/macos/lib" \
    -framework Metal -framework Foundation -lobjc "$@" -o "$out"

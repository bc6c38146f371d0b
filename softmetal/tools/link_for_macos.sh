#!/usr/bin/env bash
# link_for_macos.sh OUT METAL_CPP_DIR DOWNLOADS SOURCE...
# Compiles and links a metal-cpp program for arm64 macOS on Linux: proof that what runs on softmetal
# also builds against Apple's Metal. zig brings the compiler, libc++ and libSystem's stub; the stubs in
# cmake/macos name what Metal, Foundation and libobjc export. The result cannot be run here.
set -euo pipefail
[ $# -ge 4 ] || { sed -n 2p "$0" >&2; exit 2; }
out=$1 metal_cpp=$2 downloads=$3
shift 3
softmetal=$(cd "$(dirname "$0")/.." && pwd)

if [ "$(uname -m)" != x86_64 ]; then
    echo "link_for_macos.sh: the pinned zig is for x86-64" >&2
    exit 1
fi
zig=$downloads/zig/ziglang/zig
if [ ! -x "$zig" ]; then
    rm -rf "$downloads/zig" "$downloads/zig-partial"
    mkdir -p "$downloads/zig-partial"
    echo "ziglang==0.17.1 --hash=sha256:ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54" \
        >"$downloads/zig-partial/requirements.txt"
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
        --platform manylinux_2_12_x86_64 --require-hashes \
        -r "$downloads/zig-partial/requirements.txt" -d "$downloads/zig-partial"
    python3 -m zipfile -e "$downloads"/zig-partial/*.whl "$downloads/zig-partial/unpacked"
    chmod +x "$downloads/zig-partial/unpacked/ziglang/zig"
    mv "$downloads/zig-partial/unpacked" "$downloads/zig"
    rm -rf "$downloads/zig-partial"
fi

# -idirafter: Apple's own headers win where zig has them.
"$zig" c++ -target aarch64-macos.14.0 -O2 -std=c++20 -fblocks -Wall \
    -isystem "$metal_cpp" -idirafter "$softmetal/include" \
    -F "$softmetal/cmake/macos" -L "$softmetal/cmake/macos/lib" \
    -framework Metal -framework Foundation -lobjc "$@" -o "$out"

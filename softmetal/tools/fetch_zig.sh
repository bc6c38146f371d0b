#!/usr/bin/env bash
# fetch_zig.sh DOWNLOADS
# Prints the path of the pinned zig, after unpacking its PyPI wheel into DOWNLOADS/zig if it is not there.
# zig brings what a cross build for macOS needs: clang, lld, libc++, libSystem's stub.
set -euo pipefail
[ $# = 1 ] || { sed -n 2p "$0" >&2; exit 2; }
downloads=$1

if [ "$(uname -sm)" != "Linux x86_64" ]; then
    echo "fetch_zig.sh: the pinned zig is for Linux on x86-64, this is $(uname -sm)" >&2
    exit 1
fi
zig=$downloads/zig/ziglang/zig
if [ ! -x "$zig" ]; then
    # Unpacked aside and then renamed: an interrupted run leaves nothing that looks complete.
    rm -rf "$downloads/zig" "$downloads/zig-partial"
    mkdir -p "$downloads/zig-partial"
    echo "ziglang==0.17.1 --hash=sha256:ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54" \
        >"$downloads/zig-partial/requirements.txt"
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
        --platform manylinux_2_12_x86_64 --require-hashes \
        -r "$downloads/zig-partial/requirements.txt" -d "$downloads/zig-partial" >&2
    python3 -m zipfile -e "$downloads"/zig-partial/*.whl "$downloads/zig-partial/unpacked"
    chmod +x "$downloads/zig-partial/unpacked/ziglang/zig"
    mv "$downloads/zig-partial/unpacked" "$downloads/zig"
    rm -rf "$downloads/zig-partial"
fi
echo "$zig"

#!/usr/bin/env bash
# tools/build_for_macos.sh
# Builds build/macos-cross/bin/minfer for arm64 macOS on Linux (x86-64), and checks what came out: proof
# that the sources compile and link there. The program cannot be run here.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/setup.sh

program=build/macos-cross/bin/minfer
oldest=14.0 # as MINFER_MACOS_VERSION in cmake/macos-cross.cmake

softmetal/tools/fetch_zig.sh build/downloads >/dev/null
rm -f "$program" # what is checked is what this run has linked
build macos-cross minfer
[ -z "$(metal_missing macos-cross)" ] || die "Metal could not be built: $(metal_missing macos-cross)"

kind=$(file -b "$program")
case "$kind" in
    "Mach-O 64-bit arm64 executable"*) ;;
    *) die "$program: is $kind; expected a Mach-O 64-bit arm64 executable" ;;
esac

# "  cmd LC_LOAD_DYLIB" is followed by a "name" line; "LC_BUILD_VERSION" by "platform" and "minos".
commands=$(llvm-objdump-19 --macho --private-headers "$program")
libraries=$(sed -n '/cmd LC_LOAD_DYLIB$/,/name/s/^ *name \([^ ]*\) .*/\1/p' <<<"$commands")
for wanted in /System/Library/Frameworks/{Metal,Foundation}.framework/ /usr/lib/lib{objc,System}.; do
    grep -qF "$wanted" <<<"$libraries" || die "$program: does not load $wanted...; it loads: $libraries"
done
foreign=$(grep -vE '^(/System/Library|/usr/lib)/' <<<"$libraries") &&
    die "$program: loads what no Mac has: $foreign"
version=$(sed -n '/cmd LC_BUILD_VERSION$/,/minos/s/^ *\(platform\|minos\) //p' <<<"$commands" | xargs)
[ "$version" = "macos $oldest" ] || die "$program: is for '$version'; expected 'macos $oldest'"

# libc++ is zig's and inside; the kernels' source is inside for the system to compile.
symbols=$(llvm-nm-19 "$program")
! grep ' U __ZNSt3__1' <<<"$symbols" || die "$program: leaves symbols of libc++ to be found"
grep -q ' S _minfer_kernel_library$' <<<"$symbols" || die "$program: has no Metal kernels in it"

echo "$program: $kind"
echo "for $version or later, $(($(stat -c %s "$program") / 1024)) KiB, loads" $libraries

#!/bin/sh
# check_shared_symbols.sh NM TAG OBJECT...: fails when the kernels_avx2 object defines a weak symbol
# that does not carry TAG, the name of its vector type.
nm=$1 tag=$2
shift 2
for object in "$@"; do
    case $object in
        *kernels_avx2*) found=$object ;;
    esac
done
[ -n "$found" ] || { echo "no kernels_avx2 object among: $*"; exit 1; }
symbols=$("$nm" -C --defined-only "$found") || exit 1
echo "$symbols" | grep -q "$tag" || { echo "$found defines nothing of $tag"; exit 1; }
if echo "$symbols" | grep -E ' [WVu] ' | grep -v "$tag"; then
    echo "the symbols above are shared with objects built for older machines"
    exit 1
fi

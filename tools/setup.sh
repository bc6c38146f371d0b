# Sourced by run.sh and test.sh: makes sure what the build needs is installed, and builds.
# Works offline once everything is there.

DEBIAN_PACKAGES=(clang-19 libclang-rt-19-dev clang-format-19 cmake ninja-build python3
    libfmt-dev nlohmann-json3-dev libcli11-dev libxxhash-dev libgtest-dev libgmock-dev xz-utils
    llvm-19-dev lld-19 python3-pip file)
BREW_PACKAGES=(cmake ninja fmt nlohmann-json cli11 xxhash googletest xz)

die() {
    echo "error: $*" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

install_debian() {
    local missing=() package log
    for package in "${DEBIAN_PACKAGES[@]}"; do
        case $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) in
            "install ok installed") ;;
            *) missing+=("$package") ;;
        esac
    done
    [ ${#missing[@]} = 0 ] && return
    [ "$(id -u)" = 0 ] || command -v sudo >/dev/null ||
        die "missing packages, and neither root nor sudo to install them: ${missing[*]}"
    echo "installing: ${missing[*]}" >&2
    log=$(mktemp)
    if ! { as_root apt-get update && as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
        tail -n 5 "$log" >&2
        die "could not install ${missing[*]} (whole output: $log)"
    fi
    rm -f "$log"
}

install_macos() {
    local missing=() package
    command -v brew >/dev/null || die "needs Homebrew (https://brew.sh) to install ${BREW_PACKAGES[*]}"
    xcode-select -p >/dev/null 2>&1 || die "needs Apple's command line tools: xcode-select --install"
    for package in "${BREW_PACKAGES[@]}"; do
        brew list --versions "$package" >/dev/null 2>&1 || missing+=("$package")
    done
    [ ${#missing[@]} = 0 ] && return
    echo "installing: ${missing[*]}" >&2
    brew install "${missing[@]}" >&2 || die "could not install ${missing[*]}"
}

# Installs what is missing; prints nothing when nothing is.
install_missing() {
    if [ "$(uname -s)" = Darwin ]; then
        install_macos
    elif command -v apt-get >/dev/null; then
        install_debian
    else
        command -v clang++-19 >/dev/null && command -v cmake >/dev/null && command -v ninja >/dev/null ||
            die "this system has neither apt nor Homebrew; install by hand: ${DEBIAN_PACKAGES[*]}"
    fi
}

preset_for() { # the configure preset of a build on this system
    if [ "$(uname -s)" = Darwin ] && [ "$1" = release ]; then echo macos; else echo "$1"; fi
}

# MINFER_METAL=OFF in the environment leaves softmetal and the Metal backend out.
metal=${MINFER_METAL:-ON}
case "$metal" in
    ON | OFF) ;;
    *) die "MINFER_METAL is '$metal'; allowed: ON, OFF" ;;
esac
unset MINFER_METAL # a choice of the build: the program would say that it does not know it

# Why this build has no Metal, or nothing when it has, or was told not to.
metal_missing() {
    sed -n 's/^SOFTMETAL_MISSING:INTERNAL=//p' "build/$1/CMakeCache.txt"
}

# build PRESET [TARGET...]: configures on the first time and builds; shows output only on failure.
build() {
    local folder=$1 preset log
    preset=$(preset_for "$1")
    shift
    log=$(mktemp)
    echo "building ($preset) ..." >&2
    if ! { cmake --preset "$preset" -DMINFER_METAL="$metal" &&
        cmake --build --preset "$preset" ${1:+--target "$@"}; } >"$log" 2>&1; then
        grep -E 'error|Error|FAILED' "$log" | head -n 20 >&2
        die "the build failed (whole output: $log; if the folder was moved: rm -r build)"
    fi
    rm -f "$log"
    [ "$metal" = OFF ] || [ -z "$(metal_missing "$folder")" ] ||
        echo "built without Metal: $(metal_missing "$folder")" >&2
}

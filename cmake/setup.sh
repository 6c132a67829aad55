# shellcheck shell=bash
# setup.sh - what ./quickstart and ./check share: lines on the screen, and installing what is missing from
# the distribution. Sourced, never run.

# Each requirement: the package of Debian and Ubuntu, and how to tell that it is there already (from
# wherever it came, so a machine of another kind that has everything is welcome too).
declare -rA requirement=(
    [gcc]="command -v gcc"
    [g++]="command -v g++"
    [libc6-dev]="gcc -E -include stdio.h -x c /dev/null"
    [cmake]="command -v cmake"
    [ninja-build]="command -v ninja"
    [pkg-config]="command -v pkg-config"
    [libjansson-dev]="pkg-config --atleast-version=2.14 jansson"
    [libxxhash-dev]="pkg-config --exists libxxhash"
    [zlib1g-dev]="pkg-config --exists zlib"
    [libpng-dev]="pkg-config --exists libpng"
    [libgd-dev]="pkg-config --exists gdlib"
    [python3]="command -v python3"
    [libcriterion-dev]="pkg-config --exists criterion"
    [strace]="command -v strace"
    [clang-format]="command -v clang-format"
    [dataset-fashion-mnist]="test -r /usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz"
)
# shellcheck disable=SC2034 # used by those who source this
readonly build_packages=(gcc libc6-dev cmake ninja-build pkg-config libjansson-dev libxxhash-dev zlib1g-dev
    libpng-dev)
readonly cmake_least=3.25

say() { printf '==> %s\n' "$*"; }

# The one line that ends a run that cannot go on.
stop() {
    printf '%s: stopped: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

# missing_of PACKAGE...: those that are not there, one a line.
missing_of() {
    local package
    for package in "$@"; do
        # shellcheck disable=SC2086 # the words of the command are meant to split
        ${requirement[$package]} >/dev/null 2>&1 || echo "$package"
    done
}

# install_from_distribution PACKAGE...: true when apt-get did; else the reason is in install_problem.
install_from_distribution() {
    local -a as_root=()
    local log
    install_problem=""
    if ! command -v apt-get >/dev/null; then
        install_problem="there is no apt-get here (Debian 12 and Ubuntu 24.04 have it)"
        return 1
    fi
    if [[ $EUID -ne 0 ]]; then
        if ! command -v sudo >/dev/null; then
            install_problem="this needs root, and there is no sudo"
            return 1
        fi
        if [[ ! -t 0 ]] && ! sudo -n true 2>/dev/null; then
            install_problem="this needs root, and sudo asks for a password"
            return 1
        fi
        as_root=(sudo)
    fi
    log=$(mktemp)
    # Old package lists are no reason to give up, so only the second command decides.
    "${as_root[@]}" apt-get update >"$log" 2>&1 || true
    if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
        -o DPkg::Lock::Timeout=120 "$@" >>"$log" 2>&1 </dev/null; then
        install_problem="apt-get says: $(grep '^E: ' "$log" | tail -n 1 | cut -c 4-) (all of it: $log)"
        return 1
    fi
    rm -f "$log"
}

# need PACKAGE...: installs what is missing, or stops. Without anything missing nothing is called.
need() {
    local -a missing
    mapfile -t missing < <(missing_of "$@")
    if [[ ${#missing[@]} -gt 0 ]]; then
        say "installing ${missing[*]}"
        install_from_distribution "${missing[@]}" ||
            stop "cannot install ${missing[*]}: $install_problem"
        mapfile -t missing < <(missing_of "$@")
        [[ ${#missing[@]} -eq 0 ]] || stop "${missing[*]}: installed, but too old or not found by pkg-config"
    fi
    need_cmake
}

# want PACKAGE CONSEQUENCE: the same for what one can do without; says the consequence and returns false.
want() {
    [[ -n $(missing_of "$1") ]] || return 0
    say "installing $1"
    install_from_distribution "$1" && [[ -z $(missing_of "$1") ]] && return 0
    say "no $1 (${install_problem:-not found after installing}): $2"
    return 1
}

need_cmake() {
    local version
    version=$(cmake --version | sed -n '1s/^cmake version //p')
    printf '%s\n' "$cmake_least" "$version" | sort --version-sort --check=quiet ||
        stop "cmake $cmake_least or newer is needed, this is $version"
}

# build PRESET: configures and builds; the tools' own words go to a file, and are shown when it fails.
build() {
    local folder=build/$1
    local -a options=()
    # A build folder that was copied or moved here has to forget where it was.
    if [[ -f $folder/CMakeCache.txt ]] &&
        ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$folder/CMakeCache.txt"; then
        options=(--fresh)
    fi
    mkdir -p "$folder"
    logged "$folder/configure.log" cmake --preset "$1" "${options[@]}"
    sed -n 's/^-- \(CUDA.*\)/==> \1/p' "$folder/configure.log"
    logged "$folder/build.log" cmake --build --preset "$1"
}

logged() {
    local log=$1
    shift
    "$@" >"$log" 2>&1 </dev/null && return
    tail -n 30 "$log" >&2
    stop "'$*' failed (all of it: $log)"
}

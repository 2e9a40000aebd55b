#!/usr/bin/env bash
# Installs what tests and builds use beyond Python and Rust: a browser, for the tests of the playground and of notebooks,
# with fonts for its pictures, Chinese among them (1.6 MB); node, for the page without a server; PyTorch, for lesson 12; and
# a compiler for WebAssembly, for the same page. It changes nothing where they are found. Without one of them, its tests skip.
#
# The compiler for WebAssembly is Debian's with the sources of its standard library, which cargo compiles, too. It is
# unpacked, not installed, into the folder ${JETON_TOOLS:-~/.cache/jeton-tools} (600 MB), because a system with rustup needs no
# second one: `rustup target add wasm32-unknown-unknown` replaces all of it.
#
# PyTorch is Debian's (150 MB) and not an extra of pip: PyPI's wheel for Linux requires CUDA, more than 2.5 GB. Debian's
# belongs to the Python of the system, where the test runs the lesson as a file.
set -euo pipefail

find_browser() {
    for browser in "${JETON_BROWSER:-}" chromium chromium-browser google-chrome google-chrome-stable; do
        if [ -n "$browser" ] && command -v "$browser"; then
            return
        fi
    done
    return 1
}

find_torch() {
    for python in python3 /usr/bin/python3; do
        if command -v "$python" >/dev/null && "$python" -c "import torch" 2>/dev/null; then
            command -v "$python"
            return
        fi
    done
    return 1
}

install() {
    if ! command -v apt-get >/dev/null; then
        echo "Install $1 with the package manager of this system, or see docs/testing.md." >&2
        return 1
    fi
    if [ "$(id -u)" != 0 ]; then
        echo "Run this script as root: sudo $0" >&2
        return 1
    fi
    apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

tools=${JETON_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/jeton-tools}

find_wasm() {
    local libraries
    libraries=$(rustc --print target-libdir --target wasm32-unknown-unknown 2>/dev/null || true)
    for found in "$libraries" "$tools/wasm/usr/bin/rustc"; do
        if [ -n "$found" ] && [ -e "$found" ]; then
            echo "$found"
            return
        fi
    done
    return 1
}

# Names of the packages that a package depends on, as far as they match a pattern.
depends() {
    apt-cache depends "$1" | sed -n "s/^ *Depends: //p" | grep -E "$2"
}

unpack_wasm() {
    if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
        echo "Run rustup target add wasm32-unknown-unknown." >&2
        return 1
    fi
    local libraries folder
    folder=$(mktemp -d)
    libraries=$(depends libstd-rust-web-dev '^libstd-rust-web-[0-9]')
    # shellcheck disable=SC2046  # several names
    (cd "$folder" && apt-get download -qq rustc-web libstd-rust-web-dev "$libraries" rust-web-src $(depends "$libraries" '^libllvm')) || return 1
    rm -rf "$tools/wasm"
    mkdir -p "$folder/wasm" "$tools"
    for package in "$folder"/*.deb; do
        case $package in
        */rust-web-src_*) # of 500 MB, the standard library
            mkdir -p "$folder/wasm/usr/lib/rustlib/src/rust"
            dpkg-deb --fsys-tarfile "$package" | tar -x -C "$folder/wasm/usr/lib/rustlib/src/rust" --strip-components=4 --wildcards './usr/src/rustc-*/library/*'
            ;;
        *) dpkg-deb -x "$package" "$folder/wasm" ;;
        esac
    done
    mv "$folder/wasm" "$tools/wasm" # whole or not at all
    rm -rf "$folder"
}

status=0
find_browser >/dev/null || install chromium fonts-dejavu-core fonts-wqy-microhei || status=1
command -v node >/dev/null || install nodejs || status=1
find_torch >/dev/null || install python3-torch || status=1
find_wasm >/dev/null || unpack_wasm || status=1
echo "browser: $(find_browser || echo none)"
echo "node: $(command -v node || echo none)"
echo "PyTorch: $(find_torch || echo none)"
echo "WebAssembly: $(find_wasm || echo none)"
exit $status

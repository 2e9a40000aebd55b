#!/usr/bin/env bash
# Installs what tests and builds use beyond Python and Rust: a browser, for the tests of the playground and of notebooks,
# with a font for its pictures; and PyTorch, for lesson 12. It changes nothing where they are found. Without one of them,
# its tests skip.
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

status=0
find_browser >/dev/null || install chromium fonts-dejavu-core || status=1
find_torch >/dev/null || install python3-torch || status=1
echo "browser: $(find_browser || echo none)"
echo "PyTorch: $(find_torch || echo none)"
exit $status

#!/usr/bin/env bash
# Installs what tests and builds use beyond Python and Rust: a browser, for the tests of the playground and of notebooks,
# and a font for its pictures. It changes nothing where a browser is found. Without one, these tests skip.
set -euo pipefail

for browser in "${JETON_BROWSER:-}" chromium chromium-browser google-chrome google-chrome-stable; do
    if [ -n "$browser" ] && command -v "$browser" >/dev/null; then
        echo "browser: $(command -v "$browser")"
        exit 0
    fi
done

if ! command -v apt-get >/dev/null; then
    echo "Install Chromium or Chrome with the package manager of this system, or set JETON_BROWSER to its path." >&2
    exit 1
fi
if [ "$(id -u)" != 0 ]; then
    echo "Run this script as root: sudo $0" >&2
    exit 1
fi
apt-get update -qq
apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
echo "browser: $(command -v chromium)"

#!/usr/bin/env bash
# See that there is a browser for the tests of the run pages: Chromium or Chrome, from wherever this machine has it.
#
# VENV names the folder of the virtual environment (.venv), CHROMIUM a browser of one's own. Without a browser, and
# without the means to install one, the tests that need it fail; the lines below say what to do.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=${VENV:-.venv}

found() {
    local name
    for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable; do
        if [ -n "$name" ] && command -v "$name" >/dev/null; then
            return 0
        fi
    done
    return 1
}

missing() {
    printf 'install: %s\n' "$@" >&2
    exit 0
}

if ! found; then
    command -v apt-get >/dev/null ||
        missing "no Chromium here, and no apt-get to install it; the tests of the run pages will fail" \
            "install Chromium or Chrome, or say CHROMIUM=/path/to/it"
    if [ "$(id -u)" = 0 ]; then
        as_root=()
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        as_root=(sudo -n)
    else
        missing "no Chromium here; the tests of the run pages will fail" \
            "install it as root: apt-get install chromium; or say CHROMIUM=/path/to/it"
    fi
    echo "installing chromium, for the tests of the run pages"
    # The list of packages may be old, or missing; the first try is cheaper where it is neither.
    install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core)
    "${as_root[@]}" "${install[@]}" >/dev/null 2>&1 ||
        { "${as_root[@]}" apt-get update -qq >/dev/null && "${as_root[@]}" "${install[@]}" >/dev/null; } ||
        missing "apt-get could not install chromium; the lines above say why, and the tests of the run pages will fail"
fi

touch "$venv/.browser"

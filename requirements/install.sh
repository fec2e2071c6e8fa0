#!/usr/bin/env bash
# Make a virtual environment and install tuvl into it, with the versions of constraints.txt.
#
#   requirements/install.sh runtime     what `tuvl` needs to run
#   requirements/install.sh dev         that, and what the tests and linters need
#
# PYTHON chooses the interpreter (python3), VENV the folder (.venv). uv does the work when it can be had, else pip.
set -euo pipefail
cd "$(dirname "$0")/.."

flavour=${1:?say which: runtime or dev}
python=${PYTHON:-python3}
venv=${VENV:-.venv}
pins=requirements/constraints.txt

fail() {
    printf 'install: %s\n' "$@" >&2
    exit 1
}

case $flavour in
runtime) wanted=(-e .) ;;
dev) wanted=(-e . --group dev) ;;
*) fail "unknown flavour '$flavour'; say runtime or dev" ;;
esac

command -v "$python" >/dev/null || fail "no '$python' here; install Python 3.11 or newer, or say make PYTHON=/path/to/python3.11"
"$python" - <<'CHECK' || fail "or say which Python to use, e.g. make PYTHON=python3.12"
import sys

if sys.version_info < (3, 11):
    sys.exit("install: tuvl needs Python 3.11 or newer, and {} is {}.{}".format(sys.executable, *sys.version_info[:2]))
CHECK

if ! "$venv/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    "$python" -m venv --clear "$venv" ||
        fail "no virtual environment could be made; on Debian and Ubuntu: apt install python3-venv"
fi

if [ ! -x "$venv/bin/uv" ]; then
    # uv is only faster; without it pip does the same.
    "$venv/bin/python" -m pip install -qq --disable-pip-version-check -c "$pins" uv 2>/dev/null || true
fi

if [ -x "$venv/bin/uv" ]; then
    "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" -c "$pins" --build-constraints "$pins" "${wanted[@]}"
else
    "$venv/bin/python" -m pip install -qq --disable-pip-version-check 'pip>=25.1'
    PIP_CONSTRAINT=$pins "$venv/bin/python" -m pip install -qq --disable-pip-version-check "${wanted[@]}"
fi || fail "the packages could not be installed; the lines above say why"

#!/usr/bin/env bash
# Install what the tests run against from npm, MCP servers and a checker of accessibility, into the virtual environment.
#
# VENV names the folder (.venv). Without npm nothing is installed, and the tests that need the servers say so.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=${VENV:-.venv}
wanted=tests/support/node

if ! command -v npm >/dev/null; then
    printf 'install: npm is missing; the tests that run MCP servers from npm will fail (install Node.js 20 or newer)\n' >&2
    exit 0
fi

mkdir -p "$venv/node"
cp "$wanted/package.json" "$wanted/package-lock.json" "$venv/node/"
npm ci --prefix "$venv/node" --no-audit --no-fund --silent
touch "$venv/.node"

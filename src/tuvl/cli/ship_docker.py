"""Builds the image of a release, where a Docker engine is."""

import subprocess
import sys
from pathlib import Path

ANSWER_S = 20.0
"""How long an engine may take to answer, in seconds."""


def engine_answers() -> bool:
    """Whether there is a Docker engine that can be asked to build."""
    try:
        done = subprocess.run(
            ["docker", "version", "--format", "{{.Server.Version}}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ANSWER_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and done.stdout.strip() != b""


def build(folder: Path, image: str) -> bool:
    """Build the image of a folder; what Docker says goes to stderr. Returns whether it was built."""
    sys.stderr.flush()
    try:
        done = subprocess.run(
            ["docker", "build", "--tag", image, str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr.fileno(),
            stderr=sys.stderr.fileno(),
            check=False,
        )
    except OSError as error:
        sys.stderr.write(f"tuvl ship: docker cannot be started: {(error.strerror or 'it failed').lower()}\n")
        return False
    return done.returncode == 0

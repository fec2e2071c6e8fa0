"""The other end of `crashing.py`."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


class Processes:
    """Runs commands, each in a process of its own."""

    def __init__(self, server: "subprocess.Popen[str]") -> None:
        self._server = server

    def tuvl(self, *argv: str, cwd: Path, kill: str | None = None, **more: object) -> Ended:
        """`more` is what else `crashing.py` does to it: `pages`, `file_bytes`, `busy_s`, `later_s`, `environ`, …"""
        assert self._server.stdin
        assert self._server.stdout
        self._server.stdin.write(json.dumps({"argv": argv, "cwd": str(cwd), "kill": kill, **more}) + "\n")
        self._server.stdin.flush()
        said = json.loads(self._server.stdout.readline())
        return Ended(said["code"], said["out"], said["err"])


@contextmanager
def processes() -> Iterator[Processes]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TUVL_", "OTEL_"))}
    words = [sys.executable, "-m", "tests.durable.crashing"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, **pipes, text=True, env=kept, cwd=Path(__file__).parents[2]) as server:
        yield Processes(server)
        assert server.stdin
        server.stdin.close()

"""Commands in processes of their own that need not import the command line first.

A fresh process of `tuvl run` spends most of its time on imports. Here it is forked from one that has done them: with
streams, folder, environment and words of its own, and the end that a fresh one has. For tests of what a command says
and does; a test of the start of a process, of its imports or of what it is given when it starts needs a fresh one.
"""

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_IMPORTED = {
    "runs something": ("tuvl.cli.app", "tuvl.cli.run", "tuvl.cli.execution"),
    "reads only": ("tuvl.cli.app", "tuvl.cli.validate", "pydantic", "yaml"),
}
"""What is imported before the first command. Commands that run nothing never import what runs need."""

_RUNNING = frozenset({"run", "test", "resume", "approve", "replay"})

_READ_AT_THE_START = ("PYTHON", "LC_", "LANG", "TZ", "NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS", "GITHUB_", "LD_")
"""Beginnings of the names of variables that the interpreter or a library reads once."""

_servers: dict[str, socket.socket] = {}


@dataclass(frozen=True)
class Commands:
    """A folder for the path of a shell, with a `tuvl` that is forked from a warm process; the shell keeps `files`."""

    folder: Path
    environ: dict[str, str]
    files: tuple[int, ...]


def fits(environ: Mapping[str, str], usual: Mapping[str, str]) -> bool:
    """Return whether a process forked from one with the usual environment is what a fresh one with `environ` is."""
    return sys.platform == "linux" and _at_the_start(environ) == _at_the_start(usual)


def run(
    argv: tuple[str, ...],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    usual: Mapping[str, str],
    given: bytes | None,
    timeout_s: float,
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end, as `subprocess.run([sys.executable, "-m", "tuvl", *argv], ...)` does.

    Raises:
        subprocess.TimeoutExpired: After `timeout_s`; the process is killed first.
    """
    server = _server("runs something" if argv and argv[0] in _RUNNING else "reads only", usual)
    request = json.dumps({"argv": argv, "cwd": str(cwd), "env": dict(environ)}).encode()
    stdin, feed = os.pipe() if given is not None else (os.open(os.devnull, os.O_RDONLY), None)
    out, stdout = os.pipe()
    err, stderr = os.pipe()
    told, telling = os.pipe()
    theirs = (stdin, stdout, stderr, telling)
    socket.send_fds(server, [request], theirs)
    for file in theirs:
        os.close(file)
    with open(told, "rb", buffering=0) as news, ThreadPoolExecutor(3) as pool:
        pid = int(news.readline())
        said = [pool.submit(_read, out), pool.submit(_read, err)]
        if feed is not None and given is not None:
            pool.submit(_feed, feed, given)
        late = not select.select([news], [], [], timeout_s)[0]
        if late:
            os.kill(pid, signal.SIGKILL)
        code = int(news.readline())
        texts = [each.result() for each in said]
    if late:
        raise subprocess.TimeoutExpired(list(argv), timeout_s, *texts)
    return subprocess.CompletedProcess(list(argv), code, *texts)


@contextmanager
def commands(folder: Path, usual: Mapping[str, str]) -> Iterator[Commands]:
    """Make a `tuvl` for shells that have the usual environment, and `environ` besides.

    What a shell may kill, and what goes on until it is told to end, is the command itself.
    """
    started = {kind: _started(kind, usual) for kind in _IMPORTED}
    try:
        script, real = Path(__file__).with_name("warm_command.py"), Path(sys.executable).with_name("tuvl")
        (folder / "tuvl").write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {script} {real} "$@"\n', encoding="utf-8")
        (folder / "tuvl").chmod(0o755)
        files = {kind: ours.fileno() for kind, (ours, _) in started.items()}
        told = {"runs": sorted(_RUNNING), "files": files, "usual": _at_the_start(usual), "names": _READ_AT_THE_START}
        yield Commands(folder, {"WARM": json.dumps(told)}, tuple(files.values()))
    finally:
        for ours, process in started.values():
            ours.close()
            process.terminate()  # a shell may have left something behind that keeps its end open
            process.wait()


def _server(kind: str, usual: Mapping[str, str]) -> socket.socket:
    if kind not in _servers:
        ours, process = _started(kind, usual)
        atexit.register(process.wait)
        atexit.register(ours.close)  # the first to be called: the server ends when nobody can ask any more
        _servers[kind] = ours
    return _servers[kind]


def _started(kind: str, usual: Mapping[str, str]) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    script = str(Path(__file__).with_name("warm_server.py"))
    process = subprocess.Popen(
        [sys.executable, script, str(theirs.fileno()), *_IMPORTED[kind]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env=dict(usual),
        pass_fds=[theirs.fileno()],
    )
    theirs.close()
    return ours, process


def _at_the_start(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if name.startswith(_READ_AT_THE_START)}


def _read(file: int) -> bytes:
    with open(file, "rb") as stream:
        return stream.read()


def _feed(file: int, given: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), open(file, "wb", buffering=0) as stream:
        stream.write(given)

"""Runs the command line in processes of its own, some of which are killed at a named point of the record.

A process of this script has everything imported and forks one for each command, so that a hundred of them take
seconds rather than minutes. It reads one JSON line a command, `{"argv": [...], "cwd": ..., "kill": "before NAME"}`,
and answers with `{"code": ..., "out": ..., "err": ...}`; a killed one has the code -9.
"""

import json
import os
import resource
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from datetime import timedelta
from fnmatch import fnmatchcase
from pathlib import Path

from sqlalchemy import Engine, event

import tuvl.data.databases as databases
import tuvl.durable.backend as backend
import tuvl.durable.sqlite_file as sqlite_file
from tests.durable.durable_project import make_project
from tuvl.__main__ import main
from tuvl.cli import app, execution, resume, run
from tuvl.clock import SystemClock
from tuvl.values import JsonObject

IMPORTED = (app, execution, resume, run)
"""So that no child has to."""

_put = backend.DbosRows.put


def _dying(point: str) -> None:
    point = point.replace("[", "[[]")  # `*` alone stands for anything

    async def put(self: backend.DbosRows, name: str, row: JsonObject) -> None:
        if fnmatchcase(f"before {name}", point):
            os.kill(os.getpid(), signal.SIGKILL)
        await _put(self, name, row)
        if fnmatchcase(f"after {name}", point):
            os.kill(os.getpid(), signal.SIGKILL)

    backend.DbosRows.put = put  # type: ignore[method-assign]


def _dying_while_it_takes(point: str) -> None:
    def die(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    if point == "before taken":
        backend.DBOS.launch = die  # type: ignore[assignment,method-assign]
    if point == "after taken":
        backend.Backend._rows_of = die  # type: ignore[assignment,method-assign]


async def _no_marks(engine: object, lock: int) -> bool:
    return False


def _full(words: str) -> Callable[..., None]:
    """Return what lets a statement with those words find no room, each time."""

    def find_no_room(connection: object, cursor: object, statement: str, *more: object) -> None:
        if words in statement:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorname = "SQLITE_FULL"
            raise sqlite_file.failed(error)

    return find_no_room


def _failing(asked: dict) -> None:
    """Let the record's file be full, or its locks be waited for no longer than is said."""
    sqlite_file.BUSY_S = asked.get("busy_s") or sqlite_file.BUSY_S
    pages = asked.get("pages")
    if pages:
        event.listen(Engine, "connect", lambda connection, _: connection.execute(f"PRAGMA max_page_count={pages}"))
    if asked.get("full"):
        event.listen(Engine, "before_cursor_execute", _full(asked["full"]))
    if asked.get("later_s"):
        later, now = timedelta(seconds=asked["later_s"]), SystemClock.now
        SystemClock.now = lambda self: now(self) + later  # type: ignore[method-assign]
    if asked.get("no_marks"):
        databases.can_mark = _no_marks
    if asked.get("file_bytes"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (asked["file_bytes"], asked["file_bytes"]))


def _child(asked: dict, out: int, err: int) -> None:
    os.chdir(asked["cwd"])
    os.environ.update(asked.get("environ") or {})
    _failing(asked)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    if asked.get("kill"):
        _dying(asked["kill"])
        _dying_while_it_takes(asked["kill"])
    code = main(asked["argv"])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def warm() -> None:
    """Do once what each command would do first: import the rest, and build the schemas of what projects are made of."""
    said, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        with tempfile.TemporaryDirectory() as folder:
            words = ("--project", str(make_project(Path(folder))), "--set", "origin=1", "--set", "case=x")
            assert main(["run", "w", "--dry-run", *words, "--output", os.devnull]) == 0
    finally:
        os.dup2(said, 2)
        os.close(said)
        os.close(nothing)


def serve() -> None:
    warm()
    for line in sys.stdin:
        asked = json.loads(line)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            pid = os.fork()
            if pid == 0:
                _child(asked, out.fileno(), err.fileno())
            _, status = os.waitpid(pid, 0)
            code = os.waitstatus_to_exitcode(status)
            said = []
            for stream in (out, err):
                stream.seek(0)
                said.append(stream.read().decode())
        print(json.dumps({"code": code, "out": said[0], "err": said[1]}), flush=True)


if __name__ == "__main__":
    serve()

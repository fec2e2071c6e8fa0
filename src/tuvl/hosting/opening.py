"""Opens the database of a host: PostgreSQL where the settings name one, else a file that one process has."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from tuvl.durable.embedded import INSTALL
from tuvl.durable.files import RunFiles, held_lock
from tuvl.errors import ConfigError, UsageError
from tuvl.files import make_own_folder
from tuvl.project.index import ProjectIndex
from tuvl.redaction import redact
from tuvl.sealing import Keys
from tuvl.settings import Settings

if TYPE_CHECKING:
    from tuvl.durable.queued import SharedRuns

FILE = "host.sqlite"
_LOCK = "host.lock"

HAD_ELSEWHERE = (
    "another process has the durable runs of this project, `tuvl serve` most likely: answer, approve or abort a run of "
    "it on its run page or over its HTTP API"
)
"""Who has a run on a file that nothing can be done to here, and what to do about it."""


def is_shared(settings: Settings) -> bool:
    """Tell whether durable runs are kept where many processes may have them."""
    return (settings.database_url or "").startswith("postgres")


def has_elsewhere(root: Path, run_id: str, settings: Settings) -> bool:
    """Tell whether nobody can do anything to a durable run beside the process that has the runs of a project."""
    return not RunFiles(root).has(run_id) and is_elsewhere(root, settings)


def is_elsewhere(root: Path, settings: Settings) -> bool:
    """Tell whether another process has the durable runs of a project, and nobody beside it can do anything to them."""
    lock = root / ".tuvl" / _LOCK
    if is_shared(settings) or not lock.exists():
        return False
    with held_lock(lock) as held:
        return not held


def executor_id() -> str:
    """Return what marks the runs of this process; no other one ever has it."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"


def require_backend() -> None:
    """Raise `UsageError` where the extra is not installed, before anything is made."""
    try:
        import tuvl.durable.queued  # noqa: F401 - most runs are not durable, and its import takes a second
    except ImportError as error:
        raise UsageError(f"{INSTALL} (no module {error.name!r})") from None


@asynccontextmanager
async def opened(
    project: ProjectIndex, settings: Settings, executor: str, hears: Callable[[bool], None]
) -> AsyncIterator["SharedRuns"]:
    """Have the database, as a process that is known to be alive; `hears` is told when that is in doubt."""
    keys = Keys(settings.record_keys)
    if is_shared(settings):
        async with _on_postgres(project, settings, executor, hears, keys) as runs:
            yield runs
    else:
        with _on_file(project.state_root) as path:
            async with _connected(_file_runs(path, keys)) as runs:
                runs.idling.trust(True)
                # Nobody else has the file: whoever had runs in it is gone.
                for gone in await asyncio.to_thread(runs.state.owners):
                    await asyncio.to_thread(runs.state.release, gone)
                yield runs


@asynccontextmanager
async def _connected(runs: "SharedRuns") -> AsyncIterator["SharedRuns"]:
    from tuvl.durable.shared_state import DatabaseFault

    try:
        try:
            await asyncio.to_thread(runs.connect)
        except DatabaseFault as error:
            cause = getattr(error, "orig", None) or error
            raise ConfigError(f"the database of durable runs cannot be used: {redact(_first_line(cause))}") from None
        yield runs
    finally:
        await asyncio.to_thread(runs.close)


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


@asynccontextmanager
async def _on_postgres(
    project: ProjectIndex, settings: Settings, executor: str, hears: Callable[[bool], None], keys: Keys
) -> AsyncIterator["SharedRuns"]:
    from tuvl.data.location import read_url
    from tuvl.durable.liveness import Liveness
    from tuvl.durable.notices import Notices
    from tuvl.durable.postgres import open_postgres
    from tuvl.durable.queued import SharedRuns
    from tuvl.durable.shared_tables import SCHEMA

    url = read_url(settings.database_url or "", root=str(project.state_root), where="TUVL_DATABASE_URL")
    async with _connected(SharedRuns(open_postgres(url), SCHEMA, keys)) as runs:
        notices = Notices(SCHEMA, runs.idling)
        runs.tell = notices.tell
        liveness = Liveness(runs.engine, runs.state, executor, schema=SCHEMA, notices=notices, hears=hears)
        await asyncio.to_thread(liveness.start)
        try:
            yield runs
        finally:
            await asyncio.to_thread(liveness.stop)


def _file_runs(path: Path, keys: Keys) -> "SharedRuns":
    from tuvl.durable.queued import SharedRuns
    from tuvl.durable.sqlite_file import open_sqlite

    return SharedRuns(open_sqlite(str(path)), None, keys)


@contextmanager
def _on_file(root: Path) -> Iterator[Path]:
    folder = root / ".tuvl"
    try:
        make_own_folder(folder)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise UsageError(f"durable runs cannot be kept in {str(folder)!r}: {reason}") from None
    with held_lock(folder / _LOCK) as held:
        if not held:
            raise UsageError(
                f"{HAD_ELSEWHERE}, or end that process first. Several share a PostgreSQL, named by TUVL_DATABASE_URL"
            )
        path = folder / FILE
        # Made before SQLite makes it, so that nobody else can ever read it; its own files follow it in that.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        yield path

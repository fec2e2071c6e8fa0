"""Forgets runs of a project that ended long ago, wherever something of them is kept, and definitions without runs.

Of a run that goes on, waits for somebody or may be resumed nothing is taken away. The store of runs forgets a run last:
where a process dies in between, the next one finds the rest by it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tuvl.data.run_records import StoreAccess
from tuvl.dataclass import dataclass
from tuvl.durable.definitions import Definitions
from tuvl.durable.embedded import INSTALL
from tuvl.durable.files import RunFiles
from tuvl.errors import UsageError
from tuvl.hosting.asking import asked as _asked
from tuvl.hosting.opening import FILE, is_shared
from tuvl.settings import Settings

if TYPE_CHECKING:
    from tuvl.data.retention import OldRuns
    from tuvl.durable.retention_state import RetentionState

BATCH = 200
"""Runs that are forgotten in one transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """How much is forgotten, or would be."""

    runs: int
    definitions: int


class Retention:
    """What is kept of the runs of one project."""

    def __init__(self, root: Path, settings: Settings, access: StoreAccess) -> None:
        """Open nothing yet; `root` is where its `.tuvl` is."""
        self._root = root
        self._settings = settings
        self._access = access
        self._files = RunFiles(root)
        self._definitions = Definitions(root)

    async def forget(self, asked: "OldRuns", *, dry_run: bool = False) -> Forgotten:
        """Forget runs; with `dry_run` only count them. Raises `TuvlError` when something cannot be read or written."""
        with _database(self._root, self._settings) as open_:
            state = None if open_ is None else await _asked(open_)
            old = _Old(self._access, self._files, state, asked, dry_run=dry_run)
            runs = 0
            async for found in old.batches():
                runs += len(found)
            return Forgotten(runs=runs, definitions=await self._forget_definitions(state, asked, dry_run=dry_run))

    async def _forget_definitions(self, state: "RetentionState | None", asked: "OldRuns", *, dry_run: bool) -> int:
        since = asked.before.timestamp()
        shared, oldest = 0, [await asyncio.to_thread(self._files.oldest)]
        if state is not None:
            oldest.append(await _asked(state.oldest))
            shared = await _asked(state.forget_definitions, unused_since=since, dry_run=dry_run)
        begun = min((moment for moment in oldest if moment is not None), default=None)
        unused = await asyncio.to_thread(self._definitions.unused, since, begun)
        for digest in () if dry_run else unused:
            await asyncio.to_thread(self._definitions.forget, digest)
        return max(shared, len(unused))


class _Old:
    """The runs that are forgotten, batch by batch."""

    def __init__(
        self, access: StoreAccess, files: RunFiles, state: "RetentionState | None", asked: "OldRuns", *, dry_run: bool
    ) -> None:
        self._access = access
        self._files = files
        self._state = state
        self._asked = asked
        self._before = asked.before.timestamp()
        self._dry_run = dry_run

    async def batches(self) -> AsyncIterator[set[str]]:
        """Forget runs, and yield which."""
        if self._access.is_there:
            after = None
            while found := await self._access.store.retention.ended(self._asked, after=after, limit=BATCH):
                after = found[-1]
                yield await self._forget({run.run_id for run in found}, on_record=True)
        if self._asked.status is None and self._asked.workflow is None:
            async for batch in self._off_record():
                yield batch

    async def _off_record(self) -> AsyncIterator[set[str]]:
        """Forget those of which the store of runs knows nothing: it was another one then, or was lost."""
        last = ""
        while self._state is not None:
            ids = await _asked(self._state.ended, before=self._before, after=last, limit=BATCH)
            if not ids:
                break
            last = ids[-1]
            yield await self._forget(set(ids) - await self._known(ids), on_record=False)
        for ids in _pieces(await asyncio.to_thread(self._files.ids)):
            old = await asyncio.to_thread(self._old_ones, ids)
            yield await self._forget(old - await self._known(old), on_record=False)

    async def _known(self, ids: Collection[str]) -> set[str]:
        return await self._access.store.retention.known(ids) if self._access.is_there else set()

    async def _forget(self, ids: set[str], *, on_record: bool) -> set[str]:
        if not ids:
            return ids
        state, dry_run = self._state, self._dry_run
        if state is not None:
            forget = state.kept if dry_run else state.forget
            ids = ids - await _asked(forget, ids, before=self._before)
        ids = await asyncio.to_thread(lambda: {each for each in ids if self._forget_file(each)})
        if on_record and not dry_run:
            ids = await self._access.store.retention.forget(ids, self._asked)
        return ids

    def _forget_file(self, run_id: str) -> bool:
        """Take the file of a run away; `False` where there is one that has to stay."""
        if not self._files.has(run_id):
            return True
        if not self._is_old(run_id):
            return False
        if self._dry_run:
            return True
        try:
            with self._files.held(run_id):
                if not self._is_old(run_id, held=True):
                    return False
                self._files.forget(run_id)
        except UsageError:
            return False  # a process has it just now
        return True

    def _old_ones(self, ids: Iterable[str]) -> set[str]:
        return {each for each in ids if self._is_old(each)}

    def _is_old(self, run_id: str, *, held: bool = False) -> bool:
        from tuvl.durable.inspection import ended_at  # it imports SQLAlchemy

        if not held and self._files.is_held(run_id):
            return False
        ended = ended_at(self._files.database(run_id), run_id)
        return ended is not None and ended < self._before


@contextmanager
def _database(root: Path, settings: Settings) -> "Iterator[Callable[[], RetentionState | None] | None]":
    """Have the way to the database of the durable runs; none where there is no database of that kind."""
    path = root / ".tuvl" / FILE
    if not (is_shared(settings) or path.exists()):
        yield None
        return
    try:
        from tuvl.durable.retention_state import RetentionState

        if is_shared(settings):
            from tuvl.data.location import read_url

            url = read_url(settings.database_url or "", root=str(root), where="TUVL_DATABASE_URL")
            opened = RetentionState.on_postgres(url)
        else:
            opened = RetentionState.on_file(str(path))
    except ImportError as error:
        raise UsageError(f"{INSTALL} (no module {error.name!r})") from None
    with opened as look:
        yield look


def _pieces(ids: list[str]) -> Iterable[list[str]]:
    return (ids[start : start + BATCH] for start in range(0, len(ids), BATCH))

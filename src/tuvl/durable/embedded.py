"""Durable runs without any service: each has a file of its own, which one process works on at a time."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tuvl.dataclass import dataclass
from tuvl.durable.entries import entries_of
from tuvl.durable.faults import NotKept, RecordFailed, RecordNotBegun
from tuvl.durable.files import RunFiles
from tuvl.durable.inherited import record_of
from tuvl.durable.record import Answer, DurableJournal
from tuvl.durable.rows import PAYLOAD, RESULT
from tuvl.engine.result import RunError, RunResult
from tuvl.errors import UsageError
from tuvl.sealing import Keys, Seal, is_sealed
from tuvl.settings import load_settings
from tuvl.values import JsonObject

if TYPE_CHECKING:
    from tuvl.durable.backend import Backend, DbosRows, Kept

INSTALL = "durable runs need more packages: pip install 'tuvl[durable]'"

Perform = Callable[[JsonObject, DurableJournal], Awaitable[RunResult]]
"""Performs a run from what it was started with, on its record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a run is now: its result document, and the result itself when this process has performed it."""

    document: JsonObject
    result: RunResult | None = None
    unused: str | None = None
    """Why an answer that was given was not used, where one was not."""


class EmbeddedRuns:
    """The durable runs of one project."""

    def __init__(self, root: Path, *, keys: Sequence[str] | None = None) -> None:
        """Open nothing yet; `keys` encrypt the records, those of the environment when none are given."""
        self.files = RunFiles(root)
        self._keys = load_settings().record_keys if keys is None else tuple(keys)

    async def start(self, run_id: str, payload: JsonObject, perform: Perform) -> Ended:
        """Begin a run and perform it, to its end or to where it waits.

        Raises `RecordNotBegun` when it cannot be kept, of which no file stays; whatever `perform` raises passes
        through, and the run is as if it had never been begun when nothing of it was recorded.
        """
        _require_backend()
        seal = Keys(self._keys).of(run_id)
        with ExitStack() as stack:
            try:
                path = stack.enter_context(self.files.held(run_id))
            except NotKept as error:
                raise RecordNotBegun(error.why) from error
            performance = _Performance(perform, (), seal, again=False)
            backend = _backend(path, performance)
            try:
                backend.open()
                await backend.start(run_id, seal.sealed(PAYLOAD, payload))
            except RecordFailed as error:
                if not performance.begun:
                    raise RecordNotBegun(error.why) from error
                if not performance.unended(error):
                    raise
            finally:
                backend.close()
                if not performance.begun:
                    self.files.forget(run_id)
            return performance.ended()

    async def resume(self, run_id: str, perform: Perform, *, answers: tuple[Answer, ...] = ()) -> Ended:
        """Go on with a run, with what people have said to it meanwhile; one that has ended is only told.

        Raises `UsageError` when there is no such run, or another process has it.
        """
        if not self.files.exists(run_id):
            raise UsageError(f"there is no durable run {run_id!r} in this project; see `tuvl runs list`")
        _require_backend()
        seal = Keys(self._keys).of(run_id)
        with self.files.held(run_id) as path:
            result = _inspected(path, run_id)
            if result is not None:
                if answers:
                    raise UsageError(f"run {run_id!r} has ended meanwhile, so that the answer comes too late")
                return Ended(document=seal.opened(RESULT, result))
            performance = _Performance(perform, answers, seal, again=True)
            backend = _backend(path, performance)
            try:
                backend.open(again=run_id)
                await backend.take_up(run_id)
            except RecordFailed as error:
                if not performance.unended(error):
                    raise
            finally:
                backend.close()
            return performance.ended()

    def read(self, run_id: str) -> "Kept":
        """Return what is kept of a run, and leave it where it is; raises `UsageError` when there is no such run."""
        if not self.files.exists(run_id):
            raise UsageError(f"there is no durable run {run_id!r} in this project; see `tuvl runs list`")
        _require_backend()
        from tuvl.durable.backend import read

        path = self.files.database(run_id)
        ended = _inspected(path, run_id) is not None
        kept = read(str(path), run_id)
        if kept is None:
            raise UsageError(f"the record of run {run_id!r} is empty; start it anew")
        seal = Keys(self._keys).of(run_id)
        payload = seal.opened(PAYLOAD, kept.payload)
        own = entries_of(seal, run_id, kept.rows, highest=kept.highest, must=is_sealed(kept.payload))
        ended = ended or own.result is not None
        return replace(kept, payload=payload, rows=record_of(payload, own.rows), ended=ended)


class _Performance:
    """One run in this process."""

    def __init__(self, perform: Perform, answers: tuple[Answer, ...], seal: Seal, *, again: bool) -> None:
        self._perform = perform
        self._seal = seal
        self._answers = answers
        self._again = again
        self._result: RunResult | None = None
        self._document: JsonObject | None = None
        self._error: Exception | None = None
        self._unused: str | None = None
        self.begun = False
        """Whether the run is on record, and was come to."""

    async def __call__(
        self, run_id: str, payload: JsonObject, rows: "DbosRows", found: Mapping[str, JsonObject]
    ) -> JsonObject:
        from tuvl.durable.backend import LeftOpen  # it imports DBOS

        self.begun = True
        try:
            entries = entries_of(self._seal, run_id, found, highest=rows.taken, must=is_sealed(payload))
            payload = self._seal.opened(PAYLOAD, payload)
            if entries.result is not None:
                # Its process was lost before that was its status, too; or somebody has changed that.
                self._document = entries.result
                return {"v": 1, "result": self._seal.sealed(RESULT, entries.result)}
            found = record_of(payload, entries.rows, self._answers)
            rows.seal = self._seal
            journal = DurableJournal(rows, found, answers=self._answers, again=self._again)
            self._result = await self._perform(payload, journal)
        except Exception as error:  # noqa: BLE001 - handed to whoever started the run; as its end it would be recorded
            self._error = error
            raise LeftOpen from None
        self._unused = journal.why_unused
        error_type = None if self._result.error is None else self._result.error.type
        if self._result.status == "suspended" or error_type == "record_failed":
            raise LeftOpen
        self._document = self._result.to_json()
        return {"v": 1, "result": await rows.end(self._document)}

    def unended(self, error: RecordFailed) -> bool:
        """Have the result say that the end of the run is not on record; `False` where it has not come to its end."""
        if self._result is None:
            return False
        at_fault = RunError(type=error.type, message=str(error), step=None)
        self._result, self._document = replace(self._result, status="failed", error=at_fault), None
        return True

    def ended(self) -> Ended:
        if self._error is not None:
            raise self._error
        if self._document is None:
            assert self._result is not None
            self._document = self._result.to_json()
        return Ended(document=self._document, result=self._result, unused=self._unused)


def _inspected(path: Path, run_id: str) -> JsonObject | None:
    """Return the result of a run that has ended; raises `UsageError` for a record that cannot be gone on with."""
    from tuvl.durable.inspection import result_in  # it imports SQLAlchemy

    return result_in(path, run_id)


def _require_backend() -> None:
    """Raise `UsageError` where the extra is not installed, before a file is made."""
    try:
        import tuvl.durable.backend  # noqa: F401 - most runs are not durable, and its import takes a second
    except ImportError as error:
        raise UsageError(f"{INSTALL} (no module {error.name!r})") from None


def _backend(path: Path, performance: _Performance) -> "Backend":
    from tuvl.durable.backend import Backend

    return Backend.on_file(str(path), performance)

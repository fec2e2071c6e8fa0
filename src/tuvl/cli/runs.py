"""`tuvl runs list|show|trace`: reads the store of runs."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from tuvl.cli.inputs import read_principal
from tuvl.cli.output import json_document
from tuvl.cli.runs_text import NO_RUNS, filters_text, list_text, nothing_found_text, show_text, trace_text
from tuvl.cli.streams import write_stdout
from tuvl.data.run_records import StoreAccess
from tuvl.data.run_rows import Rows, RunFilter, TraceFilter
from tuvl.durable.files import RunFiles
from tuvl.errors import StepError, UsageError
from tuvl.hosting.opening import FILE, HAD_ELSEWHERE, has_elsewhere
from tuvl.principal import Principal
from tuvl.project.layout import find_root
from tuvl.settings import load_settings
from tuvl.supervision.lost import SURELY_S, end_lost, end_unqueued
from tuvl.supervision.runs import DEAD_S
from tuvl.values import JsonObject, JsonValue, printable_lines

Answer = TypeVar("Answer")


class RunsCommand:
    """The store of one project, asked by one principal."""

    def __init__(self, *, project: str | None, principal: str | None, as_json: bool) -> None:
        root = find_root(Path.cwd()) if project is None else Path(project)
        if not root.is_dir():
            raise UsageError(f"--project names {project!r}, which is no folder")
        self._reader: Principal = read_principal(principal)
        self._root = str(root)
        settings = load_settings()
        self._database_url = settings.database_url
        self._access = StoreAccess(self._root, self._database_url, settings.record_keys)
        self._as_json = as_json

    def list(self, asked: RunFilter) -> int:
        """Print the runs on record, newest first."""
        runs: list[JsonObject] = []
        self._end_lost()
        if self._access.is_there:
            found = self._ask(lambda: self._access.store.listed(asked, self._reader))
            runs = [self._with_process(run) for run in found]
        return self._print_list(runs, list_text(runs), lambda: self._no_runs(asked))

    def _no_runs(self, asked: RunFilter) -> str:
        others = self._access.is_there and self._ask(
            lambda: self._access.store.listed(RunFilter(limit=1), self._reader)
        )
        return f"no run on record matches {filters_text(asked)}" if others else NO_RUNS

    def show(self, run_id: str) -> int:
        """Print one run."""
        self._end_lost()
        run = self._run(run_id)
        can_go_on = run.get("process") == "gone" and run_id not in self._lost
        # Whether a process has the runs is found out by trying its lock: only where that matters.
        waits = run["status"] == "suspended" and has_elsewhere(Path(self._root), run_id, load_settings())
        elsewhere = HAD_ELSEWHERE if waits else None
        return self._print(run, show_text(run, can_go_on=can_go_on, elsewhere=elsewhere))

    def trace(self, run_id: str, asked: TraceFilter) -> int:
        """Print the audited calls of one run."""
        self._run(run_id)
        entries = self._trace(run_id, asked)

        def nothing() -> str:
            return nothing_found_text(asked, [] if asked == TraceFilter() else self._trace(run_id, TraceFilter()))

        return self._print_list(entries, trace_text(entries), nothing)

    def _trace(self, run_id: str, asked: TraceFilter) -> Rows:
        return self._ask(lambda: self._access.store.trace(run_id, asked))

    def _with_process(self, run: JsonObject) -> JsonObject:
        """Say of a run that has not ended when no process has it."""
        return {**run, "process": "gone"} if run["status"] == "running" and self._is_gone(str(run["run_id"])) else run

    def _is_gone(self, run_id: str) -> bool:
        held = self._held.get(run_id)
        if held is not None:
            return not held
        return RunFiles(Path(self._root)).is_lost(run_id) or run_id in self._silent | self._lost

    @cached_property
    def _held(self) -> Mapping[str, bool]:
        """Durable runs that processes share → whether the process that has it lives; known at once."""
        url = self._database_url
        if url is None or not url.startswith("postgres"):
            return {}
        from tuvl.data.location import read_url
        from tuvl.durable.holding import held_runs

        return held_runs(read_url(url, root=self._root, where="TUVL_DATABASE_URL"))

    def _end_lost(self) -> None:
        """Keep of runs that were lost with their process that they failed; a store may be there to read only."""

        async def end() -> None:
            lost = self._access.store.lost
            await end_lost(self._access, await lost.found(SURELY_S), at=datetime.now(UTC))
            await lost.forget_ended()
            await end_unqueued(self._access, self._on_queue, at=datetime.now(UTC))

        if self._access.is_there:
            with suppress(StepError):
                self._ask(end)

    async def _on_queue(self, run_ids: Collection[str]) -> Collection[str]:
        """Return which of these runs a database of durable runs has; all of them where that cannot be told."""
        try:
            from tuvl.durable.queue_state import known_in, known_on
        except ImportError:
            return run_ids
        url = self._database_url
        if url is None or not url.startswith("postgres"):
            return known_in(Path(self._root) / ".tuvl" / FILE, run_ids)
        from tuvl.data.location import read_url

        return known_on(read_url(url, root=self._root, where="TUVL_DATABASE_URL"), run_ids)

    @cached_property
    def _lost(self) -> frozenset[str]:
        """The runs that were lost with their process, which is silent for a shorter time: none of them goes on."""
        return frozenset(run.run_id for run in self._ask(lambda: self._access.store.lost.found(DEAD_S)))

    @cached_property
    def _silent(self) -> frozenset[str]:
        """The runs whose process was not heard of for a while."""
        rows = self._ask(lambda: self._access.store.control.live(self._reader))
        return frozenset(row.run_id for row in rows if row.age_s >= DEAD_S)

    def _run(self, run_id: str) -> JsonObject:
        run = None
        if self._access.is_there:
            run = self._ask(lambda: self._access.store.show(run_id, self._reader))
        if run is None:
            raise UsageError(f"there is no run {run_id!r} on record; `tuvl runs list` shows those there are")
        return self._with_process(run)

    def _ask(self, question: Callable[[], Awaitable[Answer]]) -> Answer:
        async def ask() -> Answer:
            try:
                return await question()
            finally:
                await self._access.aclose()

        return asyncio.run(ask())

    def _print_list(self, rows: Rows, text: str, nothing: Callable[[], str]) -> int:
        """Print a list, and say on stderr why it is empty: the sentence is for people, and no line of the list."""
        if not rows and not self._as_json:
            sys.stderr.write(f"tuvl: {printable_lines(nothing())}\n")
        return self._print(list(rows), text)

    def _print(self, data: JsonValue, text: str) -> int:
        return 0 if write_stdout(json_document(data) if self._as_json else printable_lines(text)) else 1

"""`tuvl runs pause|resume|steer|abort` and `tuvl runs list --live`: runs that go on, in whatever process."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from tuvl.cli.runs import Answer, RunsCommand
from tuvl.cli.runs_text import columns, filters_text
from tuvl.cli.wording import seconds
from tuvl.control import ControlAction
from tuvl.data.control_rows import Settled
from tuvl.data.run_rows import RunFilter
from tuvl.errors import UsageError
from tuvl.hosting.opening import HAD_ELSEWHERE, has_elsewhere
from tuvl.settings import load_settings
from tuvl.supervision.opening import open_registry
from tuvl.supervision.registry import RunRegistry
from tuvl.supervision.runs import Directive, RunInfo
from tuvl.values import JsonObject, printable_lines

LONGEST_MESSAGE = 8192
"""Characters of a message to an agent: it is guidance, and every later request carries it."""

_DONE = {"pause": "paused", "resume": "resumed", "steer": "steered", "abort": "aborted"}
_NEXT = {
    "pause": "begins nothing more, and goes on after `tuvl runs resume`",
    "resume": "goes on",
    "steer": "passes it on before its next model call",
    "abort": "stops, and its result says so",
}


class RunControlCommand(RunsCommand):
    """Live runs of one project, seen and told something by one principal."""

    def list_live(self, asked: RunFilter) -> int:
        """Print the runs that go on, newest first."""

        async def question(registry: RunRegistry) -> list[RunInfo]:
            return await registry.live(self._reader)

        live = self._asked(question)
        found = [
            info
            for info in live
            if asked.workflow in (None, info.workflow) and asked.principal in (None, info.principal)
        ][: asked.limit]
        nothing = f"no run that goes on matches {filters_text(asked)}" if live else "no run goes on that is on record"
        return self._print_list([_data(info) for info in found], _list_text(found), lambda: nothing)

    def direct(
        self, run_id: str, kind: ControlAction, message: str = "", *, by: str | None = None, wait_s: float | None = None
    ) -> int:
        """Tell a run something; with `wait_s`, wait so long for it to be done. Returns the exit code.

        Raises `UsageError` for a run that there is not, or that is not the reader's to see.
        """
        if kind == "steer" and not message.strip():
            raise UsageError("the message is empty; say what the agent should know")
        if len(message) > LONGEST_MESSAGE:
            raise UsageError(f"the message has {len(message):,} characters; {LONGEST_MESSAGE:,} are the most")
        directive = Directive(kind=kind, message=message.strip(), by=(by or "").strip() or self._reader.id)

        async def question(registry: RunRegistry) -> tuple[RunInfo | None, Settled | None]:
            info = await registry.get(run_id, self._reader)
            if info is None or not await registry.direct(run_id, directive, self._reader):
                return info, None
            if wait_s is None:
                return info, Settled(outcome=None)
            return info, await registry.wait_settled(directive.id, wait_s) or Settled(outcome=None)

        info, settled = self._asked(question)
        if settled is None:
            return self._refused(run_id, info, directive)
        return self._told(run_id, directive, settled, wait_s)

    def _told(self, run_id: str, directive: Directive, settled: Settled, wait_s: float | None) -> int:
        kind, told = directive.kind, {"run_id": run_id, "directive": directive.id, "kind": directive.kind}
        data: JsonObject = {**told, "outcome": settled.outcome, "note": settled.note}
        note = f" ({settled.note})" if settled.note else ""
        if settled.outcome == "applied":
            return self._print(data, f"run {run_id} was told to {kind}, and {_NEXT[kind]}{note}\n")
        if wait_s is None:
            return self._print(data, f"run {run_id} will be told to {kind}; then it {_NEXT[kind]}\n")
        self._print(data, "")
        if settled.outcome == "void":
            return _failed(kind, f"run {run_id} was not {_DONE[kind]}{note}")
        return _failed(
            kind,
            f"run {run_id} has not read it within {seconds(wait_s)}; it is kept, and done when the run's process looks",
        )

    def _refused(self, run_id: str, info: RunInfo | None, directive: Directive) -> int:
        if info is not None:
            heard = f"was last heard of {seconds(info.age_s)} ago"
            return _failed(
                directive.kind,
                f"nobody has run {run_id} any more: its process ({info.owner}) {heard}."
                " A durable run goes on with `tuvl resume`",
            )
        status = self._run(run_id)["status"]
        if status in ("queued", "suspended"):
            waits = "waits until a process takes it" if status == "queued" else "waits for somebody"
            return _failed(directive.kind, f"run {run_id} {waits}, and {self._how_to_end(run_id)}")
        if status != "running":
            return _failed(directive.kind, f"run {run_id} has ended ({status}); there is nothing to {directive.kind}")
        return _failed(
            directive.kind,
            f"run {run_id} is on record as running, and no process says that it has it: it died, or has just begun",
        )

    def _how_to_end(self, run_id: str) -> str:
        """Say what ends a run that nobody performs just now."""
        if has_elsewhere(Path(self._root), run_id, load_settings()):
            return HAD_ELSEWHERE
        return f"none has it just now; `tuvl runs cancel {run_id}` ends it"

    def _asked(self, question: Callable[[RunRegistry], Awaitable[Answer]]) -> Answer:
        async def ask() -> Answer:
            registry = open_registry(self._root, load_settings())
            try:
                return await question(registry)
            finally:
                await registry.aclose()

        return asyncio.run(ask())


def _failed(kind: str, message: str) -> int:
    sys.stderr.write(f"tuvl runs {kind}: {printable_lines(message)}\n")
    return 1


def _state(info: RunInfo) -> str:
    if not info.alive:
        return "gone"
    return "paused" if info.paused else "running"


def _data(info: RunInfo) -> JsonObject:
    return {
        "run_id": info.run_id,
        "workflow": info.workflow,
        "schema_version": info.schema_version,
        "state": _state(info),
        "principal": info.principal,
        "tenant": info.tenant,
        "started_at": info.started_at.isoformat(),
        "owner": info.owner,
        "heard_s": round(info.age_s, 3),
    }


def _list_text(found: Sequence[RunInfo]) -> str:
    return columns(
        (
            info.run_id,
            _state(info),
            info.workflow,
            info.started_at.isoformat()[:19].replace("T", " ") + " UTC",
            info.principal,
            info.owner.rpartition(":")[0],
        )
        for info in found
    )

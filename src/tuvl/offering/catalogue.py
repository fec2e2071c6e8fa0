"""A closed set of a project's tools and workflows; each call is a run of its own, with the principal's rights."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import field

from tuvl.control import RunControl
from tuvl.dataclass import dataclass
from tuvl.engine.result import RunResult
from tuvl.errors import TuvlError
from tuvl.events.sink import Sink
from tuvl.mcp.offer import OfferedReply, OfferedTool
from tuvl.offering.entries import Entry, ToolEntry, WorkflowEntry
from tuvl.plan.model import ToolCallPlan
from tuvl.principal import Principal
from tuvl.redaction import redact
from tuvl.runtime import Engine
from tuvl.tools.approval import Approvals
from tuvl.values import JsonObject, JsonValue, copy_json, dump_json, shorten

LAST_CALLS_S = 10.0
"""How long calls under way may take to end when the catalogue is closed, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallReport:
    """How one call went, for a log: no arguments, no results."""

    name: str
    outcome: str
    duration_ms: float


@dataclass(kw_only=True)
class Catalogue:
    """Runs what is called. Close it in the loop it was used in, and the engine after it."""

    engine: Engine
    name: str
    """Name of the workflow whose tools these are: what clients read as the server's."""
    entries: Sequence[Entry]
    principal: Principal
    approvals: Approvals
    context: JsonObject
    """What the context of a workflow holds when one of its tools is called."""
    report: Callable[[CallReport], None]
    sinks: Callable[[], Sequence[Sink]] = tuple
    """Makes what gets the events of one call's run."""
    _running: set[asyncio.Task[RunResult]] = field(default_factory=set)
    _controls: set[RunControl] = field(default_factory=set)

    @property
    def tools(self) -> Sequence[OfferedTool]:
        """The tools, in a fixed order."""
        return [entry.offered for entry in self.entries]

    async def call(self, name: str, arguments: JsonValue) -> OfferedReply:
        """Call a tool or run a workflow; what goes wrong is a reply that failed. `KeyError` for an unknown name."""
        entry = {entry.offered.name: entry for entry in self.entries}[name]
        started = asyncio.get_running_loop().time()
        reply, outcome = OfferedReply(text=""), "cancelled"
        try:
            reply, outcome = await self._answer(entry, arguments)
        finally:
            duration_ms = (asyncio.get_running_loop().time() - started) * 1000
            self.report(CallReport(name=name, outcome=outcome, duration_ms=duration_ms))
        return reply

    async def aclose(self) -> None:
        """Abort the calls that are under way, and wait for them, in bounded time."""
        for control in self._controls:
            control.abort("the server ends")
        if self._running:
            _, left = await asyncio.wait(self._running, timeout=LAST_CALLS_S)
            for task in left:
                task.cancel()
            if left:
                await asyncio.wait(left, timeout=1)

    async def _answer(self, entry: Entry, arguments: JsonValue) -> tuple[OfferedReply, str]:
        try:
            match entry:
                case ToolEntry():
                    call = ToolCallPlan(agent=entry.agent, tool=entry.tool, arguments=arguments)
                    context = copy_json(self.context)
                    assert isinstance(context, dict)
                    result = await self._run(entry, context, call)
                    return _tool_reply(result)
                case WorkflowEntry():
                    given = arguments if isinstance(arguments, dict) else {}
                    return _workflow_reply(await self._run(entry, given, None))
        except TuvlError as error:
            return _failed("refused", str(error)), "refused"

    async def _run(self, entry: Entry, context: JsonObject, call: ToolCallPlan | None) -> RunResult:
        plan = entry.plan if call is None else entry.plan.with_tool_call(call)
        control = RunControl()
        run = self.engine.run(
            plan,
            context,
            control=control,
            sinks=self.sinks(),
            principal=self.principal,
            approvals=self.approvals,
        )
        task = asyncio.create_task(run)
        self._running.add(task)
        self._controls.add(control)
        task.add_done_callback(lambda done: self._forget(done, control))
        try:
            # Shielded: a client's cancellation comes again at every step, which would cut off the run's own ending.
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            control.abort("cancelled by the client")
            raise

    def _forget(self, task: asyncio.Task[RunResult], control: RunControl) -> None:
        self._running.discard(task)
        self._controls.discard(control)
        if not task.cancelled():
            task.exception()


def _tool_reply(result: RunResult) -> tuple[OfferedReply, str]:
    output = result.output
    if result.status != "completed" or not isinstance(output, dict):
        return _run_failed(result), result.status
    text, failed = str(output.get("content", "")), output.get("failed") is True
    structured = None if output.get("truncated") else _as_object(text)
    return OfferedReply(text=text, structured=structured, failed=failed), "failed" if failed else "done"


def _workflow_reply(result: RunResult) -> tuple[OfferedReply, str]:
    if result.status != "completed":
        return _run_failed(result), result.status
    value: JsonObject = {
        "run_id": result.run_id,
        "status": result.status,
        "signal": result.signal,
        "output": result.output,
    }
    text = redact(dump_json(value))
    return OfferedReply(text=text, structured=_as_object(text)), "done"


def _run_failed(result: RunResult) -> OfferedReply:
    if result.error is None:
        return _failed(result.status, f"the run ended as {result.status}", result.run_id)
    return _failed(result.error.type, result.error.message, result.run_id)


def _failed(type: str, message: str, run_id: str | None = None) -> OfferedReply:
    value: JsonObject = {"error": {"type": type, "message": shorten(redact(message), 500)}}
    if run_id is not None:
        value["run_id"] = run_id
    return OfferedReply(text=dump_json(value), structured=value, failed=True)


def _as_object(text: str) -> JsonObject | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None

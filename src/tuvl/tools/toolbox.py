"""The closed set of tools of one agent run: looks a call up, checks it, runs it under its deadline, words the result.

Every call gets exactly one result, under its own id, in call order.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from dataclasses import field, replace
from functools import partial
from typing import Literal, Protocol, TypeAlias

from tuvl.clock import Clock
from tuvl.control import RunControl
from tuvl.dataclass import dataclass
from tuvl.errors import StepError
from tuvl.events.types import EventBody, Heartbeat, ToolCallFinished, ToolCallStarted
from tuvl.given import flag, one_of, positive
from tuvl.llm.messages import ToolSpec
from tuvl.redaction import redact
from tuvl.tools.arguments import Arguments, check_arguments
from tuvl.tools.batch import CallBatch
from tuvl.tools.call_span import call_span, tell_outcome
from tuvl.tools.clearance import DENIED, FORBIDDEN, Clearance
from tuvl.tools.deadline import DeadlineExceededError, GuestCancelledError, run_with_deadline
from tuvl.tools.halting import Halt
from tuvl.tools.heartbeat import beating
from tuvl.tools.result import Observation, failure_text, gated_failure, not_repeated, refused, result_text
from tuvl.tools.schedule import run_in_order
from tuvl.tools.tool import ArgValidation, ToolDispatch, ToolFailure, ToolOutcome, ToolPlan
from tuvl.values import JsonObject, JsonValue, canonical, number_text, shorten, truncate


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedCall:
    """One call of a reply, its id made unique, its name trimmed, its arguments read."""

    id: str
    name: str
    arguments: Arguments

    @property
    def key(self) -> str:
        """One text for equal calls: same tool, same canonical arguments."""
        return f"{self.name} {canonical(self.arguments.values)}"


class CallRecord(Protocol):
    """Keeps what happens to the calls of a run, as it happens."""

    def started(self, call: RequestedCall) -> None:
        """Note that a call's step begins: from here on it may have an effect."""
        ...

    async def answered(self, call: RequestedCall, observation: Observation) -> None:
        """Note that a call is answered."""
        ...


class ToolsGate(Protocol):
    """Looks at the whole text of an observation before it is cut; may change it, or end the run with a `StepError`."""

    async def observation(self, text: str) -> str:
        """Return the text that may go on."""
        ...


class ToolHooks(Protocol):
    """Is told of each call that runs; whatever it does with that, the call does not notice."""

    def before_tool(self, tool: str) -> None:
        """Hear that a call begins; refused calls and duplicates never do."""
        ...

    def after_tool(self, tool: str, signal: str) -> None:
        """Hear that a call has ended, also when it failed or was cut off."""
        ...


class CallWatch(Protocol):
    """Looks at the calls of a run, one after the other, before each is answered."""

    async def before_call(self, tool: str) -> None:
        """Hear that a call of a tool is next; it waits, and may be stopped through the run's control meanwhile."""
        ...


class CallBook(Protocol):
    """Holds how calls went, in the durable record of a run, so that none is made twice when the run goes on."""

    async def answered(self, call: RequestedCall, tool: ToolPlan, work: "CallWork") -> "tuple[Observation, Writes]":
        """Make a call, or take up how it went."""
        ...


Writes: TypeAlias = Mapping[str, JsonValue] | None
"""What a call may write to the context of the run."""

CallWork: TypeAlias = Callable[[], Awaitable[tuple[Observation, Writes]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPolicy:
    """How a toolbox treats the calls of an agent."""

    on_error: Literal["report", "fail"] = "report"
    arg_validation: ArgValidation = "strict"
    dedup_within_turn: bool = False
    default_timeout_s: float = 300.0
    concurrency: int = 1
    """How many calls of one reply may run at once; calls that write still run one after the other."""
    heartbeat_s: float | None = None
    """Seconds between signs of life while a tool is in flight; `None` is off."""

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        where = "ToolPolicy"
        one_of(where, "on_error", self.on_error, ("report", "fail"))
        one_of(where, "arg_validation", self.arg_validation, ("strict", "lenient", "none"))
        flag(where, "dedup_within_turn", self.dedup_within_turn)
        positive(where, "default_timeout_s", self.default_timeout_s)
        positive(where, "concurrency", self.concurrency, whole=True)
        positive(where, "heartbeat_s", self.heartbeat_s, optional=True)


class Toolbox:
    """Answers the tool calls of one agent run; it keeps the counts of that run, so each run has its own."""

    def __init__(
        self,
        tools: Sequence[ToolPlan],
        *,
        dispatch: ToolDispatch,
        merge: Callable[[Mapping[str, JsonValue]], None],
        policy: ToolPolicy,
        gate: ToolsGate,
        control: RunControl,
        clock: Clock,
        emit: Callable[[EventBody], None],
        clearance: Clearance | None = None,
        hooks: ToolHooks | None = None,
        watch: CallWatch | None = None,
        book: CallBook | None = None,
    ) -> None:
        self._declared = {tool.ref: tool for tool in tools}
        self._tools = self._declared
        self.specs: tuple[ToolSpec, ...] = tuple(tool.spec for tool in tools)
        """What the next request offers."""
        self._dispatch = dispatch
        self._merge = merge
        self._policy = policy
        self._gate = gate
        self._control = control
        self._clock = clock
        self._emit = emit
        self._clearance = clearance
        self._hooks = hooks
        self._watch = watch
        self._book = book
        self._runs: Counter[str] = Counter()
        self._one_writer = asyncio.Lock()

    @property
    def declared(self) -> tuple[str, ...]:
        """Names of all tools, whatever is offered at the moment."""
        return tuple(self._declared)

    def offer(self, refs: frozenset[str] | None) -> None:
        """Narrow what the next request offers; `None` offers all. A call to a tool not offered is unknown."""
        if refs is None and self._tools is self._declared:
            return
        self._tools = (
            self._declared if refs is None else {ref: tool for ref, tool in self._declared.items() if ref in refs}
        )
        self.specs = tuple(tool.spec for tool in self._tools.values())

    async def answer(self, calls: Sequence[RequestedCall], *, turn: int, record: CallRecord) -> list[Observation]:
        """Answer a reply's calls; `record` sees each, in call order, as soon as it and those before it are answered."""
        observations: list[Observation] = []
        seen: set[str] = set()
        batch = CallBatch(len(calls))
        reply = _Reply(turn=turn, record=record)
        jobs = [
            self._job(self._admit(call, seen), call, reply, partial(batch.running, index))
            for index, call in enumerate(calls)
        ]

        async def accept(answer: _Answer) -> None:
            if answer.observation is None:
                return  # never begun: the failure that kept it from that comes next
            # Merged only here, in call order and past the deadline: a late result of an abandoned tool is void.
            observation = await self._merged(answer.observation, answer.writes)
            await record.answered(answer.call, observation)
            observations.append(observation)
            self._fail_if_told_to(observation)

        await run_in_order(jobs, limit=self._policy.concurrency, accept=accept)
        return observations

    def _admit(self, call: RequestedCall, seen: set[str]) -> "_Admitted | Observation":
        """Look a call up and check it; what may not run is answered here and now."""
        tool = self._tools.get(call.name)
        if tool is None:
            return _refusal(call, "unknown_tool", self._unknown(call.name))
        if self._policy.dedup_within_turn and call.arguments.problem is None:
            if call.key in seen:
                return not_repeated(call.id, call.name)
            seen.add(call.key)
        values, problem = call.arguments.values, call.arguments.problem
        if problem is None:
            values, problem = check_arguments(values, tool.arguments, self._policy.arg_validation)
        if problem is not None:
            return _refusal(call, "invalid_arguments", problem)
        if tool.max_calls is not None and self._runs[tool.ref] >= tool.max_calls:
            return _refusal(call, "call_limit", f"tool {tool.ref!r} may be called {tool.max_calls} times only")
        self._runs[tool.ref] += 1
        return _Admitted(tool=tool, values=values)

    def _job(
        self,
        admitted: "_Admitted | Observation",
        call: RequestedCall,
        reply: "_Reply",
        running: "Callable[[], AbstractContextManager[None]]",
    ) -> "Callable[[], Awaitable[_Answer]]":
        async def job() -> _Answer:
            self._control.raise_if_aborted()
            with running():
                try:
                    answer = await self._answered(call, admitted, reply)
                except BaseException:
                    reply.halt.tell()
                    raise
            if answer.observation is not None and self._ends_the_run(answer.observation):
                reply.halt.tell()
            return answer

        return job

    async def _answered(self, call: RequestedCall, admitted: "_Admitted | Observation", reply: "_Reply") -> "_Answer":
        if reply.halt.known:
            return _Answer(call=call)
        if isinstance(admitted, Observation):
            await self._may_begin(call)
            return await self._refuse(call, admitted, reply)
        if admitted.tool.effects == "read":
            await self._may_begin(call)
            return await self._cleared(call, admitted, reply)
        # The lock comes before the approval: a write never overtakes one that waits for a person.
        async with self._one_writer:
            await self._may_begin(call)
            return await self._cleared(call, admitted, reply)

    async def _may_begin(self, call: RequestedCall) -> None:
        """Wait while the run is paused, and let the watch look; raises `Aborted`."""
        await self._control.park()
        if self._watch is not None:
            await self._watch.before_call(call.name)
            await self._control.park()
        self._control.raise_if_aborted()

    async def _cleared(self, call: RequestedCall, admitted: "_Admitted", reply: "_Reply") -> "_Answer":
        """Run a call that may run; waiting for an approval is outside of the tool's time."""
        if reply.halt.known:
            return _Answer(call=call)
        if self._clearance is None:
            return await self._run(call, admitted, reply)
        asking = self._clearance.clear(admitted.tool, admitted.values, call_id=call.id, turn=reply.turn)
        cleared = await (asking if self._policy.concurrency == 1 else reply.halt.unless(asking))
        if cleared is None or reply.halt.known:
            return _Answer(call=call)
        if cleared.refusal is not None:
            denied = refused(call.id, call.name, cleared.refusal)
            return await self._refuse(call, replace(denied, approval=cleared.approval), reply)
        answer = await self._run(call, admitted, reply)
        if cleared.approval is None or answer.observation is None:
            return answer
        return replace(answer, observation=replace(answer.observation, approval=cleared.approval))

    async def _refuse(self, call: RequestedCall, refusal: Observation, reply: "_Reply") -> "_Answer":
        """Answer a call that does not run."""
        answered = await self._gated(refusal)
        self._finished(answered, reply.turn)
        return _Answer(call=call, observation=answered)

    async def _gated(self, refusal: Observation) -> Observation:
        """Pass what the engine says to the model by the gate: it may quote the model, or a person who refused."""
        if refusal.duplicate:
            return refusal  # a fixed notice, without a word of anybody else
        text = await self._gate.observation(refusal.content)
        if text == refusal.content:
            return refusal
        return replace(refusal, content=text, size=len(text), failure=gated_failure(refusal.failure, text))

    async def _run(self, call: RequestedCall, admitted: "_Admitted", reply: "_Reply") -> "_Answer":
        if self._book is None:
            return await self._run_now(call, admitted, reply)

        async def work() -> tuple[Observation, Writes]:
            answer = await self._run_now(call, admitted, reply)
            assert answer.observation is not None
            return answer.observation, answer.writes

        observation, writes = await self._book.answered(call, admitted.tool, work)
        return _Answer(call=call, observation=observation, writes=writes)

    async def _run_now(self, call: RequestedCall, admitted: "_Admitted", reply: "_Reply") -> "_Answer":
        if self._hooks is None:
            return await self._observe(call, admitted, reply)
        signal = "error"
        self._hooks.before_tool(admitted.tool.ref)
        try:
            answer = await self._observe(call, admitted, reply)
            signal = signal if answer.observation is None else answer.observation.signal
        finally:
            self._hooks.after_tool(admitted.tool.ref, signal)
        return answer

    async def _observe(self, call: RequestedCall, admitted: "_Admitted", reply: "_Reply") -> "_Answer":
        tool, turn = admitted.tool, reply.turn
        reply.record.started(call)
        self._emit(ToolCallStarted(iteration=turn, tool=tool.ref, call_id=call.id))
        started = self._clock.monotonic()
        with call_span(tool.ref, call_id=call.id, turn=turn) as opened:
            async with self._beating(call, turn):
                outcome = await self._run_in_time(tool, admitted.values)
            tell_outcome(opened, outcome.signal, outcome.failure)
        raw = result_text(tool, outcome)
        text = await self._gate.observation(raw)
        content, truncated = truncate(text, tool.max_result_chars, tool.max_result_bytes)
        observation = Observation(
            call_id=call.id,
            tool=call.name,
            content=content,
            size=len(text),
            truncated=truncated,
            signal=outcome.signal,
            failure=outcome.failure if text == raw else gated_failure(outcome.failure, text),
            duration_ms=(self._clock.monotonic() - started) * 1000,
        )
        self._finished(observation, turn)
        writes = outcome.delta if tool.writes_context and outcome.failure is None else None
        return _Answer(call=call, observation=observation, writes=writes)

    def _beating(self, call: RequestedCall, turn: int) -> "AbstractAsyncContextManager[None]":
        every_s = self._policy.heartbeat_s
        if every_s is None:
            return nullcontext()

        def beat(elapsed_s: float) -> None:
            self._emit(Heartbeat(iteration=turn, activity="tool", tool=call.name, call_id=call.id, elapsed_s=elapsed_s))

        return beating(every_s, beat, self._clock)

    async def _run_in_time(self, tool: ToolPlan, values: JsonObject) -> ToolOutcome:
        timeout_s = self._policy.default_timeout_s if tool.timeout_s is None else tool.timeout_s
        try:
            return await run_with_deadline(self._dispatch(tool.ref, values), timeout_s, what=f"tool {tool.ref!r}")
        except GuestCancelledError:
            return _failed("cancelled", f"tool {tool.ref!r} cancelled itself")
        except DeadlineExceededError:
            within = f"within {number_text(timeout_s)} s"
            message = f"tool {tool.ref!r} did not finish {within}; whether it had an effect is unknown"
            if tool.on_timeout == "fail":
                raise StepError(message, type="tool_timeout", detail={"tool": tool.ref}) from None
            return _failed("timeout", message)

    async def _merged(self, observation: Observation, writes: Mapping[str, JsonValue] | None) -> Observation:
        if not writes:
            return observation
        try:
            self._merge(writes)
        except StepError as error:  # the run's context cannot take it: the tool did not work
            failure = ToolFailure(type=error.type, message=error.message)
            refused = replace(observation, content=failure_text(failure), signal="error", failure=failure)
            return await self._gated(refused)
        return observation

    def _ends_the_run(self, observation: Observation) -> bool:
        failure = observation.failure
        return failure is not None and self._policy.on_error == "fail" and failure.type not in _ALWAYS_REPORTED

    def _fail_if_told_to(self, observation: Observation) -> None:
        failure = observation.failure
        if failure is None or not self._ends_the_run(observation):
            return
        raise StepError(
            f"tool {observation.tool!r} failed: {shorten(redact(failure.message))}",
            type="tool_error",
            detail={"tool": observation.tool, "call_id": observation.call_id, "error_type": failure.type},
        ) from failure.cause

    def _unknown(self, name: str) -> str:
        offered = ", ".join(repr(spec.name) for spec in self.specs)
        listed = f"the tools are {offered}" if offered else "this turn offers no tools: give your final answer"
        return f"there is no tool {shorten(name, 64)!r}; {listed}"

    def _finished(self, answered: Observation, turn: int) -> None:
        self._emit(
            ToolCallFinished(
                iteration=turn,
                tool=answered.tool,
                call_id=answered.call_id,
                signal=answered.signal,
                duration_ms=answered.duration_ms,
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Admitted:
    """A call that may run."""

    tool: ToolPlan
    values: JsonObject


_ALWAYS_REPORTED = frozenset({"unknown_tool", "invalid_arguments", "call_limit", FORBIDDEN, DENIED})
"""Mistakes of the model and refusals, answered under any policy: `tool_error_policy: fail` is about failed tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reply:
    """What the calls of one reply share."""

    turn: int
    record: CallRecord
    halt: Halt = field(default_factory=Halt)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """An answered call, and what its tool may write to the run's context; no observation when it was not begun."""

    call: RequestedCall
    observation: Observation | None = None
    writes: Mapping[str, JsonValue] | None = None


def _failed(type: str, message: str) -> ToolOutcome:
    return ToolOutcome(signal="error", failure=ToolFailure(type=type, message=message))


def _refusal(call: RequestedCall, type: str, message: str) -> Observation:
    return refused(call.id, call.name, ToolFailure(type=type, message=message))

"""The closed set of tools of one agent run: looks a call up, checks it, runs it under its deadline, words the result.

Every call gets exactly one result, under its own id, in call order.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from tuvl.clock import Clock
from tuvl.control import RunControl
from tuvl.errors import StepError
from tuvl.events.types import EventBody, ToolCallFinished, ToolCallStarted
from tuvl.llm.messages import ToolSpec
from tuvl.redaction import redact
from tuvl.tools.arguments import Arguments, check_arguments
from tuvl.tools.deadline import DeadlineExceededError, GuestCancelledError, run_with_deadline
from tuvl.tools.result import Observation, failure_text, result_text
from tuvl.tools.tool import ArgValidation, ToolDispatch, ToolFailure, ToolOutcome, ToolPlan
from tuvl.values import JsonObject, JsonValue, canonical, shorten, truncate

DUPLICATE_NOTICE = '{"notice":"This call repeats an earlier one of this reply and was not run again; see that result."}'


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

    def observation(self, observation: Observation) -> None:
        """Note that a call is answered."""
        ...


class ToolsGate(Protocol):
    """Looks at the whole text of an observation before it is cut; may change it, or end the run with a `StepError`."""

    async def observation(self, text: str) -> str:
        """Return the text that may go on."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPolicy:
    """How a toolbox treats the calls of an agent."""

    on_error: Literal["report", "fail"] = "report"
    arg_validation: ArgValidation = "strict"
    dedup_within_turn: bool = False
    default_timeout_s: float = 300.0


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
    ) -> None:
        self.specs: tuple[ToolSpec, ...] = tuple(tool.spec for tool in tools)
        self._tools = {tool.ref: tool for tool in tools}
        self._dispatch = dispatch
        self._merge = merge
        self._policy = policy
        self._gate = gate
        self._control = control
        self._clock = clock
        self._emit = emit
        self._runs: Counter[str] = Counter()

    async def answer(self, calls: Sequence[RequestedCall], *, turn: int, record: CallRecord) -> list[Observation]:
        """Answer a reply's calls, one at a time, in order; `record` sees each as soon as it is answered."""
        observations: list[Observation] = []
        seen: set[str] = set()
        for call in calls:
            self._control.raise_if_aborted()
            observation = await self._answer_one(call, turn, seen, record)
            record.observation(observation)
            observations.append(observation)
            self._fail_if_told_to(observation)
        return observations

    async def _answer_one(self, call: RequestedCall, turn: int, seen: set[str], record: CallRecord) -> Observation:
        tool = self._tools.get(call.name)
        if tool is None:
            return self._refusal(call, turn, "unknown_tool", self._unknown(call.name))
        if self._policy.dedup_within_turn and call.arguments.problem is None:
            if call.key in seen:
                return _observation(call, DUPLICATE_NOTICE, duplicate=True)
            seen.add(call.key)
        values, problem = call.arguments.values, call.arguments.problem
        if problem is None:
            values, problem = check_arguments(values, tool.arguments, self._policy.arg_validation)
        if problem is not None:
            return self._refusal(call, turn, "invalid_arguments", problem)
        if tool.max_calls is not None and self._runs[tool.ref] >= tool.max_calls:
            return self._refusal(
                call, turn, "call_limit", f"tool {tool.ref!r} may be called {tool.max_calls} times only"
            )
        self._runs[tool.ref] += 1
        record.started(call)
        return await self._run(call, tool, values, turn)

    async def _run(self, call: RequestedCall, tool: ToolPlan, values: JsonObject, turn: int) -> Observation:
        self._emit(ToolCallStarted(iteration=turn, tool=tool.ref, call_id=call.id))
        started = self._clock.monotonic()
        outcome = await self._run_in_time(tool, values)
        if tool.writes_context and outcome.failure is None:
            # Only here, past the deadline: what an abandoned tool comes back with later is void.
            outcome = self._merged(outcome)
        text = await self._gate.observation(result_text(tool, outcome))
        content, truncated = truncate(text, tool.max_result_chars, tool.max_result_bytes)
        duration_ms = (self._clock.monotonic() - started) * 1000
        self._finished(call, turn, outcome.signal, duration_ms)
        return Observation(
            call_id=call.id,
            tool=call.name,
            content=content,
            size=len(text),
            truncated=truncated,
            signal=outcome.signal,
            failure=outcome.failure,
            duration_ms=duration_ms,
        )

    async def _run_in_time(self, tool: ToolPlan, values: JsonObject) -> ToolOutcome:
        timeout_s = self._policy.default_timeout_s if tool.timeout_s is None else tool.timeout_s
        try:
            return await run_with_deadline(self._dispatch(tool.ref, values), timeout_s)
        except GuestCancelledError:
            return _failed("cancelled", f"tool {tool.ref!r} cancelled itself")
        except DeadlineExceededError:
            message = f"tool {tool.ref!r} did not finish within {timeout_s:g} s; whether it had an effect is unknown"
            if tool.on_timeout == "fail":
                raise StepError(message, type="tool_timeout", detail={"tool": tool.ref}) from None
            return _failed("timeout", message)

    def _merged(self, outcome: ToolOutcome) -> ToolOutcome:
        try:
            self._merge(outcome.delta)
        except StepError as error:  # the run's context cannot take it: the tool did not work
            return _failed(error.type, error.message)
        return outcome

    def _fail_if_told_to(self, observation: Observation) -> None:
        failure = observation.failure
        if failure is None or self._policy.on_error == "report" or failure.type in _ALWAYS_REPORTED:
            return
        raise StepError(
            f"tool {observation.tool!r} failed: {shorten(redact(failure.message))}",
            type="tool_error",
            detail={"tool": observation.tool, "call_id": observation.call_id, "error_type": failure.type},
        ) from failure.cause

    def _refusal(self, call: RequestedCall, turn: int, type: str, message: str) -> Observation:
        self._finished(call, turn, "error", 0.0)
        failure = ToolFailure(type=type, message=message)
        return _observation(call, failure_text(failure), signal="error", failure=failure)

    def _unknown(self, name: str) -> str:
        offered = ", ".join(repr(spec.name) for spec in self.specs)
        return f"there is no tool {shorten(name, 64)!r}; the tools are {offered}"

    def _finished(self, call: RequestedCall, turn: int, signal: str, duration_ms: float) -> None:
        self._emit(
            ToolCallFinished(iteration=turn, tool=call.name, call_id=call.id, signal=signal, duration_ms=duration_ms)
        )


_ALWAYS_REPORTED = frozenset({"unknown_tool", "invalid_arguments", "call_limit"})
"""Mistakes of the model, answered under any policy: `tool_error_policy: fail` is about tools that failed."""


def _failed(type: str, message: str) -> ToolOutcome:
    return ToolOutcome(signal="error", failure=ToolFailure(type=type, message=message))


def _observation(
    call: RequestedCall,
    content: str,
    *,
    signal: str = "default",
    failure: ToolFailure | None = None,
    duplicate: bool = False,
) -> Observation:
    return Observation(
        call_id=call.id,
        tool=call.name,
        content=content,
        size=len(content),
        signal=signal,
        failure=failure,
        duplicate=duplicate,
    )

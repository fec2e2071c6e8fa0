"""What happened in one agent run, in order: assistant turns, calls, results. Kept for the trace of an abnormal end."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace

from tuvl.agent.decide import CallTools, NextMove
from tuvl.agent.exits import Exit
from tuvl.control import Intervention
from tuvl.dataclass import dataclass
from tuvl.guardrails.guard import JudgeCall
from tuvl.llm.messages import Message, ModelReply, ToolCall, Usage
from tuvl.redaction import redact_json
from tuvl.tools.result import Observation
from tuvl.tools.toolbox import RequestedCall
from tuvl.values import JsonObject, JsonValue, dollars


@dataclass(frozen=True, slots=True, kw_only=True)
class Masks:
    """What is masked before it is recorded: what the model says, and what its tools answer; `None` masks nothing."""

    said: Callable[[JsonValue], JsonValue] | None = None
    observed: Callable[[JsonValue], JsonValue] | None = None

    def message(self, message: Message) -> Message:
        """Return a message as it may be kept: what the model said is masked, the rest has passed its gate."""
        if self.said is None or message.role != "assistant":
            return message
        return replace(
            message,
            content=None if message.content is None else str(self.said(message.content)),
            tool_calls=tuple(replace(call, arguments=self.said(call.arguments)) for call in message.tool_calls),
            provider=_object(self.said(dict(message.provider))),
        )

    def call(self, call: RequestedCall) -> RequestedCall:
        """Return a call as it may be kept."""
        if self.said is None:
            return call
        arguments = call.arguments
        values, history = _object(self.said(arguments.values)), str(self.said(arguments.history))
        return replace(call, arguments=replace(arguments, values=values, history=history))

    def observation(self, observation: Observation) -> Observation:
        """Return an answered call as it may be kept: its text has passed the gate, its failure's detail has not."""
        failure = observation.failure
        if self.observed is None or failure is None:
            return observation
        message, detail = str(self.observed(failure.message)), _object(self.observed(failure.detail))
        return replace(observation, failure=replace(failure, message=message, detail=detail))


MAX_CHARS = 4 * 1024 * 1024
"""Characters of replies, arguments and results that a trace holds; past that the oldest keep only their frame."""


class Transcript:
    """The trace of one agent run; every call in it has exactly one result once it is closed.

    A very long run does not outgrow the memory: past `MAX_CHARS` the oldest entries lose their texts, and say so with
    `elided: true`. That a turn or a call happened, when and how it ended always stays.
    """

    def __init__(self, step_id: str, entries: list[JsonObject] | None = None, *, masks: Masks | None = None) -> None:
        self.masks = masks or Masks()
        self.entries: list[JsonObject] = [] if entries is None else entries
        self.step_id = step_id
        self._open: dict[str, str] = {}
        self._begun: set[str] = set()
        self._places: dict[str, int] = {}
        self._early: list[tuple[int, JsonObject]] = []
        self._heavy: deque[tuple[JsonObject, int]] = deque()
        self._chars = 0
        self.turn = 0

    def reply(self, turn: int, reply: ModelReply, usage: Usage, duration_ms: float) -> None:
        """Record an assistant turn as it came, arguments raw."""
        self.turn = turn
        entry: JsonObject = {
            "content": self._said(reply.message.content),
            "finish_reason": reply.finish_reason,
            "usage": _usage(usage),
            "duration_ms": round(duration_ms, 3),
        }
        if reply.message.tool_calls:
            entry["tool_calls"] = [self._call(call) for call in reply.message.tool_calls]
        said = sum(len(str(call.arguments)) for call in reply.message.tool_calls)
        self._add("assistant", entry, chars=len(reply.message.content or "") + said)

    def partial(self, turn: int, text: str, tools: Sequence[str], why: str) -> None:
        """Record what a reply said until it was cut off; it is not part of the conversation."""
        self.turn = turn
        self._add("partial_reply", {"content": self._said(text), "tools": list(tools), "why": why})

    def _call(self, call: ToolCall) -> JsonObject:
        entry: JsonObject = {"id": call.id, "name": call.name, "arguments": self._said(call.arguments)}
        if not call.name.strip():
            entry["incomplete"] = True  # it names no tool, so it is answered and not run
        return entry

    def summarized(self, messages: int, usage: Usage, duration_ms: float) -> None:
        """Record that so many messages were folded into a summary, and what the call for it used."""
        self._add("compaction", {"messages": messages, "usage": _usage(usage), "duration_ms": round(duration_ms, 3)})

    def judged(self, call: JudgeCall, *, place: int | None = None) -> None:
        """Record a judge's call: where it stood and what it said, not what it read.

        `place` is that of the tool call whose result it looked at, among the calls of the turn.
        """
        entry: JsonObject = {
            "artifact": call.post.artifact,
            "site": call.post.site,
            "model": call.model,
            "verdict": call.verdict,
            "duration_ms": round(call.duration_ms, 3),
        }
        if call.usage is not None:
            entry["usage"] = _usage(call.usage)
        if call.error_type is not None:
            entry["error_type"] = call.error_type
        whole = self._add("judge_call", entry, place=place)
        if place is not None:
            self._early.append((place, whole))

    def intervened(self, said: Intervention, message: str) -> None:
        """Record what a supervisor did to the run."""
        self._add("intervention", intervention_entry(said, message))

    def move(self, move: NextMove) -> None:
        """Record the calls that a turn asks for, with the ids under which they are answered."""
        if isinstance(move, CallTools):
            self._places, self._early = {call.id: place for place, call in enumerate(move.calls)}, []
            for call in move.calls:
                self._open[call.id] = call.name
                entry: JsonObject = {"call_id": call.id, "tool": call.name}
                entry["arguments"] = self._said(call.arguments.values)
                if call.arguments.problem is not None:
                    entry["problem"] = call.arguments.problem
                self._add("tool_call", entry, chars=len(call.arguments.history))

    def started(self, call: RequestedCall) -> None:
        """Note that a call's step begins: from here on it may have an effect."""
        self._begun.add(call.id)

    def observation(self, observation: Observation) -> None:
        """Record one answered call: what the model read, and how long it was in full."""
        self._open.pop(observation.call_id, None)
        self._begun.discard(observation.call_id)
        entry: JsonObject = {
            "call_id": observation.call_id,
            "tool": observation.tool,
            "signal": observation.signal,
            "content": observation.content,
            "size": observation.size,
            "truncated": observation.truncated,
            "duration_ms": round(observation.duration_ms, 3),
        }
        if observation.duplicate:
            entry["duplicate"] = True
        if observation.approval is not None:
            entry["approval"] = {"approved": observation.approval.approved, "by": observation.approval.by}
        if observation.failure is not None:
            error: JsonObject = {
                "type": observation.failure.type,
                "message": observation.failure.message,
                "detail": observation.failure.detail,
            }
            entry["error"] = error if self.masks.observed is None else self.masks.observed(error)
        self._add("tool_result", entry, chars=len(observation.content), place=self._places.get(observation.call_id))

    def close(self, ended: Exit) -> None:
        """Give every unanswered call its result, and say how the run ended."""
        self.interrupt(ended.signal)
        entry: JsonObject = {"signal": ended.signal}
        if ended.reason is not None:
            entry |= {"error_type": ended.reason.type, "message": ended.reason.message}
        self._add("outcome", entry)

    def interrupt(self, why: str) -> None:
        """Give every unanswered call its result: it was not run, or it was cut off on the way."""
        for call_id, tool in self._open.items():
            begun = call_id in self._begun
            entry: JsonObject = {"call_id": call_id, "tool": tool, "signal": "error", "content": None, "size": 0}
            said = f"interrupted: {why}; whether it had an effect is unknown" if begun else f"not run: {why}"
            entry |= {"truncated": False, "unanswered": said}
            self._add("tool_result", entry, place=self._places.get(call_id))
        self._open.clear()

    def _said(self, value: JsonValue) -> JsonValue:
        return value if self.masks.said is None else self.masks.said(value)

    def _add(self, type: str, entry: dict[str, JsonValue], *, chars: int = 0, place: int | None = None) -> JsonObject:
        # Every entry passes here, and a model may repeat whatever it was called with.
        shown = _object(redact_json(entry))
        whole: JsonObject = {"step": self.step_id, "type": type, "iteration": self.turn, **shown}
        self.entries.insert(self._position(place), whole)
        if not chars:
            return whole
        self._heavy.append((whole, chars))
        self._chars += chars
        while self._chars > MAX_CHARS and len(self._heavy) > 1:
            oldest, weight = self._heavy.popleft()
            self._chars -= weight
            _elide(oldest)
        return whole

    def _position(self, place: int | None) -> int:
        """Where the next entry stands: at the end, but before what was said of later calls that ran beside it."""
        later = {id(entry) for early, entry in self._early if place is not None and early > place}
        position = len(self.entries)
        for index in range(len(self.entries) - 1, -1, -1):
            if not later:
                break
            if id(self.entries[index]) in later:
                later.remove(id(self.entries[index]))
                position = index
        return position


def intervention_entry(said: Intervention, message: str) -> JsonObject:
    """Return what a trace says of an intervention; `message` is what the agent is told, or why it is aborted."""
    entry: JsonObject = {"action": said.action, "source": said.source, "by": said.by}
    told = {"reason": said.reason, "message": message}
    return entry | {name: text for name, text in told.items() if text}


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _elide(entry: JsonObject) -> None:
    """Take the texts out of an entry, and leave what happened."""
    for key in ("content", "arguments", "tool_calls"):
        if key in entry:
            entry[key] = None
    entry["elided"] = True


def _usage(usage: Usage) -> JsonObject:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "cost_usd": dollars(usage.cost_usd),
        "estimated": usage.estimated,
    }

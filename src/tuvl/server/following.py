"""Where a run stands and how it came there, as its events tell it: what the page of a run shows while it goes."""

import re
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import field
from datetime import datetime
from typing import Literal, TypeAlias

from tuvl.analysis.signals import ABORTED, FAILURES
from tuvl.dataclass import dataclass
from tuvl.events.progress import Progress
from tuvl.events.sink import InlineSink
from tuvl.events.types import (
    AgentEnded,
    ApprovalDecided,
    ApprovalRequested,
    Event,
    Intervened,
    Iteration,
    ModelCallStarted,
    RunFinished,
    RunResumed,
    RunStarted,
    RunSuspended,
    StepFinished,
    StepStarted,
    ToolCallFinished,
    ToolCallStarted,
)
from tuvl.server.telling import told

StepState: TypeAlias = Literal["running", "waiting", "done", "failed", "aborted"]

KEPT_EVENTS = 200
"""Lines of the log of a run that a page shows; older ones are counted."""

_ITEM = re.compile(r"\[\d+\]")


def place_of(step_id: str) -> str:
    """Return the place of a step in the workflow: items of a list share theirs."""
    return _ITEM.sub("", step_id)


@dataclass(slots=True)
class FollowedStep:
    """What one step has done so far, over all its executions and items."""

    place: str
    kind: str
    state: StepState = "running"
    executions: int = 0
    open: int = 0
    """Executions that go on: items of a list run side by side."""
    turn: int = 0
    tool_calls: int = 0
    tokens: int = 0
    cost_usd: float | None = None
    signal: str | None = None
    began_at: datetime | None = None
    """Since when a process has the last execution; `None` while none has."""
    spent_s: float = 0.0
    """Seconds for which processes had it before that: time in which nobody has a run is nobody's."""
    busy_ms: float = 0.0
    """What ended executions took, in milliseconds."""
    tools: dict[str, str] = field(default_factory=dict)
    """Tools in flight, by the id of their call."""

    def busy_s(self, now: datetime) -> float:
        """Seconds of the execution that goes on, else of all that have ended."""
        if self.open or self.state == "waiting":
            return self.spent_s + self._since(now)
        return self.busy_ms / 1000

    def _since(self, now: datetime) -> float:
        return 0.0 if self.began_at is None else max(0.0, (now - self.began_at).total_seconds())

    def leave(self, at: datetime) -> None:
        """Nobody has the run any more."""
        self.spent_s, self.began_at = self.spent_s + self._since(at), None

    def take(self, at: datetime) -> None:
        """A process has the run again; that the step began is not told again."""
        self.tools.clear()
        if self.state == "waiting" and not self.open:
            self.state, self.open = "running", 1
        if self.open:
            self.began_at = at

    def begin(self, at: datetime) -> None:
        """An execution begins; what an agent has used counts from zero again."""
        self.state, self.signal, self.began_at, self.spent_s = "running", None, at, 0.0
        self.executions += 1
        self.open += 1
        self.turn = self.tool_calls = self.tokens = 0
        self.cost_usd = None

    def end(self, signal: str, duration_ms: float) -> None:
        """An execution has ended."""
        self.open = max(0, self.open - 1)
        self.busy_ms += duration_ms
        self.signal = signal
        self.tools.clear()
        if not self.open:
            self.state = state_after(signal)


def state_after(signal: str) -> StepState:
    """Return the state of a step that ended with a signal."""
    if signal == ABORTED:
        return "aborted"
    return "failed" if signal in FAILURES else "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One line of the log of a run."""

    seq: int
    at: datetime
    step: str
    words: str
    look: str
    """What kind of line it is: `plain`, `turn`, `tool`, `person`, `bad` or `good`."""


@dataclass(slots=True)
class Following(InlineSink):
    """What the events of one run have told so far; it takes them as a sink of the run."""

    progress: Progress = field(default_factory=Progress)
    steps: dict[str, FollowedStep] = field(default_factory=dict)
    """Steps in the order in which they began, by their place."""
    log: deque[LogLine] = field(default_factory=lambda: deque(maxlen=KEPT_EVENTS))
    log_lines: int = 0
    started_at: datetime | None = None
    finished: RunFinished | None = None
    finished_at: datetime | None = None
    paused: bool = False
    steps_taken: int = 0
    turns: int = 0
    called: Counter[str] = field(default_factory=Counter)
    """How often each tool was called."""
    last_seq: int = -1
    last_at: datetime | None = None
    away_s: float = 0.0
    """Seconds in which no process had the run."""

    @classmethod
    def of(cls, events: Iterable[Event]) -> "Following":
        """Follow what there is so far."""
        following = cls()
        for event in events:
            following.accept(event)
        return following

    def accept(self, event: Event) -> None:
        """Take in one event; one that was seen already changes nothing."""
        if event.seq <= self.last_seq:
            return
        self.last_seq = event.seq
        if self.started_at is None:
            self.started_at = event.at
        last_at, self.last_at = self.last_at or event.at, event.at
        if isinstance(event.body, RunResumed):  # as far as is known, its process had the run until then
            self._leave(last_at)
            self.away_s += max(0.0, (event.at - last_at).total_seconds())
        self.progress.follow(event)
        self._follow_step(event)
        line = told(event.body)
        if line is not None:
            self.log_lines += 1
            step = event.step_id or ""
            self.log.append(LogLine(seq=event.seq, at=event.at, step=step, words=line.words, look=line.look))

    @property
    def tool_calls(self) -> int:
        """Tool calls of all agents."""
        return self.called.total()

    @property
    def in_flight(self) -> frozenset[str]:
        """Tools that run just now."""
        return frozenset(tool for step in self.steps.values() for tool in step.tools.values())

    @property
    def current(self) -> FollowedStep | None:
        """The step that the run is in; `None` when it is in none."""
        place = place_of(self.progress.current.id)
        found = self.steps.get(place)
        return found if found is not None and found.open else None

    def _follow_step(self, event: Event) -> None:
        body, place = event.body, place_of(event.step_id or "")
        match body:
            case RunStarted():
                self.started_at = event.at
            case StepStarted():
                self._step(place, body.kind).begin(event.at)
                self.steps_taken += 1
            case StepFinished():
                self._step(place, body.kind).end(body.signal, body.duration_ms)
            case RunFinished():
                self.finished, self.finished_at, self.paused = body, event.at, False
                self._leave(event.at)
                self._close(body.status)
            case RunSuspended():
                self.paused = False
                self._leave(event.at)
                self._close("suspended")
            case RunResumed():
                self.paused = False
                for step in self.steps.values():
                    step.take(event.at)
            case Intervened():
                self._intervened(body)
            case _:
                self._follow_agent(body, place)

    def _follow_agent(self, body: object, place: str) -> None:
        step = self._step(place, "Agent")
        match body:
            case ModelCallStarted():
                step.turn = body.iteration
                step.state = "running"
            case Iteration():
                self.turns += 1
                step.turn, step.tokens, step.cost_usd = body.iteration, body.tokens_used, body.cost_usd
            case ToolCallStarted():
                step.tools[body.call_id] = body.tool
                step.tool_calls += 1
                self.called[body.tool] += 1
            case ToolCallFinished():
                step.tools.pop(body.call_id, None)
            case ApprovalRequested():
                step.state = "waiting"
            case ApprovalDecided():
                step.state = "running"
            case AgentEnded():
                step.tools.clear()
            case _:
                pass

    def _step(self, place: str, kind: str) -> FollowedStep:
        # A reader that came late, or was too slow, may have missed how the step began.
        return self.steps.setdefault(place, FollowedStep(place, kind))

    def _intervened(self, body: Intervened) -> None:
        match body.action:
            case "pause":
                self.paused = True
            case "resume" | "abort":
                self.paused = False
            case "steer":
                pass

    def _leave(self, at: datetime) -> None:
        for step in self.steps.values():
            if step.open:
                step.leave(at)

    def _close(self, status: str) -> None:
        """Close what was in flight when the run ended: a suspended run waits there."""
        for step in self.steps.values():
            if step.state in ("running", "waiting") and (step.open or not step.executions):
                step.state = "waiting" if status == "suspended" else "aborted" if status == "aborted" else "failed"
            step.open = 0
            step.tools.clear()

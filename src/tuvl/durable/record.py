"""The durable record of one run, over whatever keeps its rows: what is found is taken up, what is new is written."""

import asyncio
import contextvars
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Literal, Protocol, cast
from uuid import uuid4

from tuvl.clock import Clock, SystemClock
from tuvl.dataclass import dataclass
from tuvl.durable.ahead import Ahead
from tuvl.durable.order import is_before
from tuvl.durable.rows import checked, row_of
from tuvl.durable.run_time import RunClock, began_at, elapsed_s, paused_s
from tuvl.durable.told import PAUSED, TOLD, EndOfRecord, Hold, Tell, pending
from tuvl.errors import EngineError
from tuvl.journal import Effect, Numbers, Settlement, Suspended, Wait, Work
from tuvl.values import JsonObject, JsonValue


class Rows(Protocol):
    """Keeps the rows of one run."""

    async def put(self, name: str, row: JsonObject) -> None:
        """Keep a row; it is safe when this returns. Raises `EngineError` when it cannot be kept."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a person has said to a run that waits; `digest` is that of what they were shown."""

    wait: str
    digest: str
    by: str
    at: datetime
    value: JsonObject


Outcome = Literal["done", "retry", "failed"]


@dataclass(slots=True)
class _State:
    """What all parts of one record share."""

    rows: Rows
    found: Mapping[str, JsonObject]
    clock: RunClock
    answers: dict[str, Answer]
    end: EndOfRecord
    ahead: Ahead
    context: contextvars.Context
    """That of the run: rows that others write for it are written there."""
    earlier: bool
    """Whether another process has performed the run before, or an earlier try of this one."""
    written: set[str] = field(default_factory=set)
    late: bool = False
    """Whether an answer came when the time for it was over."""
    states: dict[str, JsonValue] = field(default_factory=dict)
    """What outside of the record has moved on since the last row."""


class DurableJournal:
    """The record of one run (`tuvl.journal.RunJournal`)."""

    keeps = True

    def __init__(
        self,
        rows: Rows,
        found: Mapping[str, JsonValue],
        *,
        clock: Clock | None = None,
        answers: tuple[Answer, ...] = (),
        again: bool = False,
        earlier: bool | None = None,
    ) -> None:
        """Wire the record; `found` is what earlier processes have kept, `again` says that there was one.

        `earlier` says whether it has performed the run, where that is another question. `answers` are what people have
        said since. Raises `EngineError` for rows of another form.
        """
        by_name = {answer.wait: answer for answer in answers}
        kept = checked(found)
        self._state = _State(
            rows,
            kept,
            RunClock(clock or SystemClock(), before_s=elapsed_s(kept)),
            by_name,
            EndOfRecord(kept),
            Ahead(kept),
            contextvars.copy_context(),
            again if earlier is None else earlier,
        )
        self._again = again
        self._prefix = ""
        self._numbers = Numbers()

    rehearses = False

    @property
    def begun(self) -> bool:
        """Whether another process has begun the run."""
        return self._again

    @property
    def replays(self) -> bool:
        """Whether anything is on record that the run passes again."""
        return bool(self._state.found)

    @property
    def rows(self) -> Mapping[str, JsonObject]:
        """What earlier processes have kept."""
        return self._state.found

    @property
    def clock(self) -> RunClock:
        """The clock of the run."""
        return self._state.clock

    @property
    def elapsed_s(self) -> float:
        """Seconds that the run has taken in other processes."""
        return self.clock.before_s

    def lasted_s(self) -> float:
        """Return for how many seconds this part was going on already; 0 where no work of it is on record."""
        began = None if self.rehearses else began_at(self._state.found, self._prefix)
        return 0.0 if began is None else self.clock.total() - min(began, self.clock.monotonic())

    def last_state(self, name: str) -> JsonValue | None:
        """Return the last state that was kept under a name."""
        rows = [row for row in self._state.found.values() if name in cast(JsonObject, row.get("states", {}))]
        if not rows:
            return None
        return _own(cast(JsonObject, max(rows, key=lambda row: cast(float, row["t"]))["states"])[name])

    def ahead(self) -> Sequence[JsonObject]:
        """Return what entries of this part have spent that are not come to again yet."""
        # Where nothing is done, nothing comes before its turn either.
        return () if self.rehearses else self._state.ahead.within(self._prefix)

    def keep_state(self, name: str, value: JsonValue) -> None:
        """Have the next row hold a state."""
        self._state.states[name] = value

    @property
    def unused(self) -> tuple[Answer, ...]:
        """The answers that nothing has asked for."""
        return tuple(answer for answer in self._state.answers.values() if answer.wait not in self._state.written)

    @property
    def why_unused(self) -> str | None:
        """Why an answer that was given was not asked for; `None` where all were."""
        if not self.unused:
            return None
        other = "what the run waits for is not what it was given to"
        return "the time for an answer is over" if self._state.late else other

    @property
    def place(self) -> str:
        """Where this part stands in the record."""
        return self._prefix

    def within(self, name: str) -> "DurableJournal":
        """Return a part of the record."""
        part = object.__new__(DurableJournal)
        self._share(part, name)
        return part

    def _share(self, part: "DurableJournal", name: str) -> None:
        part._state, part._prefix, part._numbers = self._state, f"{self._prefix}{name}/", Numbers()
        part._again = self._again

    def numbered(self, name: str) -> str:
        """Return the name with its number."""
        return self._numbers.next(name)

    def upcoming(self, name: str) -> str:
        """Return the name with the number that it has next."""
        return self._numbers.peek(name)

    async def tell(self, id: str, said: JsonObject) -> bool:
        """Record what the run is told, before it acts; `False` when it is on record already."""
        name = TOLD + id
        if name in self._state.found or name in self._state.written:
            return False
        # Whoever says it has a context of its own, in which there is no run. What is on record was before it.
        kept = self._put(name, said, at=self.clock.total())
        await asyncio.get_running_loop().create_task(kept, context=self._state.context.copy())
        return True

    @property
    def paused_s(self) -> float:
        """Seconds for which the run was held up in other processes, if it is paused."""
        return paused_s(self._state.found)

    async def paused(self, seconds: float) -> None:
        """Record for how long the run is held up, so that this counts wherever it goes on."""
        await self.tell(f"{PAUSED}.{uuid4().hex}", {"kind": PAUSED, "seconds": round(seconds, 6)})

    def untold(self) -> tuple[JsonObject, ...]:
        """Return what earlier processes were told and the run has not obeyed."""
        return pending(self._state.found)

    def catch_up(self) -> None:
        """Have the clock go on from where the time of the run is: entries that nobody passes say it, too."""
        self.clock.catch_up(self.clock.total())

    def at_end(self, tell: Tell, hold: Hold) -> None:
        """Have the run told, and held up, when it comes to what is not on record."""

        async def told() -> None:
            self.catch_up()
            await tell()

        self._state.end.then(told, hold)

    def known(self, name: str) -> JsonValue | None:
        """Return what is recorded under a name."""
        row = self._state.found.get(self._prefix + name)
        return None if row is None else _own(row["value"])

    def may_have_begun(self, name: str) -> bool:
        """Return whether an earlier process may have been at work that has no outcome on record."""
        full, state = self._prefix + name, self._state
        if not state.earlier or full in state.found:
            return False
        # What this process was the first to do, and had to be done before, the earlier one had not come to.
        return not any(is_before(new, full) for new in state.written if not new.startswith(TOLD))

    async def record(
        self, name: str, work: Work, *, effect: Effect | None = None, asked: str | None = None
    ) -> JsonValue:
        """Return the recorded outcome, or do the work and record it."""
        full = self._prefix + name
        row = self._state.found.get(full)
        if row is not None:
            self.clock.catch_up(cast(float, row["t"]))
            self._state.ahead.passed(full)
            return _own(row["value"])
        stopped = await self._state.end.passed(full)
        return await self._anew(full, work, effect, asked, stopped=stopped)

    async def _anew(
        self, full: str, work: Work, effect: Effect | None, asked: str | None, *, stopped: bool
    ) -> JsonValue:
        if effect is not None and not stopped:
            settled = await self._begin(full, effect)
            if settled is not None:
                return await self._put(full, settled)
        return await self._put(full, await work(), asked=asked_in_all(asked, effect))

    async def ask(self, wait: Wait) -> JsonValue:
        """Return the answer to a question; raises `Suspended` while there is none."""
        wait = replace(wait, name=self._prefix + wait.name)
        row = self._state.found.get(wait.name)
        if row is not None:
            self.clock.catch_up(cast(float, row["t"]))
            return _own(row["value"])
        await self._state.end.passed(wait.name)
        answer = self._answer(wait)
        return await self._put(wait.name, {**answer.value, "by": answer.by, "at": answer.at.isoformat()})

    def _answer(self, wait: Wait) -> Answer:
        answer = self._state.answers.get(wait.name)
        if answer is None or answer.digest != wait.digest:
            raise Suspended(wait)
        if wait.deadline is not None and answer.at.timestamp() >= wait.deadline:
            self._state.late = True
            raise Suspended(wait)
        return answer

    async def _begin(self, full: str, effect: Effect) -> JsonValue | None:
        """Record the intent; returns the outcome where a person has said what became of an earlier one."""
        attempt = 1
        proves = effect.proves is not None and not effect.repeatable and await effect.proves()
        now = intent_of(effect, marked=proves)
        while (intent := f"{full}!{attempt}") in self._state.found:
            # What was begun by another definition, or without a mark, is not made harmless by what there is now.
            if is_harmless(self._state.found[intent]["value"]) and self._state.found[intent]["value"] == now:
                return None
            decision = cast(JsonObject, await self._decision(intent, effect, now))
            if decision["outcome"] != "retry":
                if effect.settle is None:
                    raise EngineError(f"step {effect.step!r} cannot be settled", type="engine", step=effect.step)
                given = cast(JsonObject, decision["answer"])
                done = decision["outcome"] == "done"
                return effect.settle(Settlement(done=done, answer=given, by=str(decision["by"])))
            attempt += 1
        if effect.writes:
            await self._put(intent, now)
        return None

    async def _decision(self, intent: str, effect: Effect, now: JsonValue) -> JsonValue:
        message = (
            f"step {effect.step!r} ({effect.kind}) was begun, and the process was lost before it was known whether it "
            "took place"
        )
        told, asked = JsonObject() if effect.told is None else effect.told(), "request"
        if requested_of(self._state.found[intent]["value"]) != requested_of(now):
            # Who has said `retry` has said it to what was begun.
            message += "; what it would ask for is something else by now, and doing it again would do that"
            asked = "request_now"
        about: JsonObject = {asked: told} if told else {}
        wait = Wait(name=f"{intent}?", kind="outcome_unknown", step=effect.step, message=message, asked=about)
        row = self._state.found.get(wait.name)
        if row is not None:
            return row["value"]
        answer = self._answer(wait)
        return await self._put(wait.name, {**answer.value, "by": answer.by, "at": answer.at.isoformat()})

    async def _put(
        self, name: str, value: JsonValue, *, asked: str | None = None, at: float | None = None
    ) -> JsonValue:
        if name in self._state.written:
            raise RuntimeError(f"two pieces of work are recorded as {name!r}")
        self._state.written.add(name)
        self._state.ahead.passed(name)
        states, self._state.states = self._state.states, {}
        row = row_of(value, self.clock.monotonic() if at is None else at, asked=asked, states=states)
        writing = asyncio.ensure_future(self._state.rows.put(name, row))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            # The work is done, and that is the truth, whatever becomes of those who waited for it.
            await asyncio.wait((writing,))
            raise
        return row["value"]


def intent_of(effect: Effect, *, marked: bool) -> JsonValue:
    """Return what an intent says of an effect: whether, and as what, it may be begun again when its end is not known.

    `marked` says that it leaves a mark where it takes place.
    """
    if not effect.writes:
        return None
    return {"repeatable": effect.repeatable, "marked": marked, "request": effect.request}


def requested_of(intent: JsonValue) -> JsonValue:
    """Return the digest of what an intent says was asked for; `None` where it does not say."""
    return intent.get("request") if isinstance(intent, dict) else None


def is_harmless(intent: JsonValue) -> bool:
    """Tell whether what was begun may be begun again, by what its intent says."""
    return isinstance(intent, dict) and (intent.get("repeatable") is True or intent.get("marked") is True)


def asked_in_all(asked: str | None, effect: Effect | None) -> str | None:
    """Return the digest of what a piece of work is given, and of what it asks for outside of the run."""
    request = None if effect is None else effect.request
    if asked is None or request is None:
        return asked or request
    return hashlib.sha256(f"{asked} {request}".encode()).hexdigest()


def _own(value: JsonValue) -> JsonValue:
    """Return a value as it is read from a record: JSON, sharing nothing."""
    return cast(JsonValue, json.loads(json.dumps(value)))

"""The durable record of a run as a port: what was recorded is not done again when the run goes on in another process.

Unlike a sink it may not fail: what it raises ends the run, and the run waits for it before each move.
"""

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import field
from typing import Any, Literal, Protocol

from tuvl.clock import Clock
from tuvl.dataclass import dataclass
from tuvl.errors import EngineError
from tuvl.values import JsonObject, JsonValue, canonical, storable

Work = Callable[[], Awaitable[JsonValue]]

WaitKind = Literal["question", "approval", "outcome_unknown"]
"""What a person is waited for with: an answer, a yes or no to a call, or word of what became of a step."""

WHOLE = "end"
"""Name of the entry of a part as a whole; what it has spent holds all that was spent in the part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a step does outside of the run, so that doing it twice may do harm."""

    step: str
    """Place of the step, for people."""
    kind: str
    repeatable: bool
    """Whether it may be done again when its end is not known: it carries the same idempotency key each time."""
    writes: bool = True
    """Whether it changes anything, as its definition has it now; one that was begun by another may have."""
    alone: bool = False
    """Whether its work is done by itself, and not by parts that are on record: those in it stand beside the work."""
    request: str | None = None
    """Digest of what it asks for, its idempotency key included; `None` where that cannot be told beforehand."""
    told: Callable[[], JsonObject] | None = None
    """Gives what a person is told of what it asks for, who has to find out whether it took place."""
    proves: Callable[[], Awaitable[bool]] | None = None
    """Tells whether the work can find out by itself that it took place before; then it may be begun again, too."""
    settle: Callable[["Settlement"], JsonValue] | None = None
    """Gives the outcome that a person's decision stands for; without it nobody can decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """What a person has found out about an effect whose end was not known."""

    done: bool
    """Whether it took place; otherwise the work counts as failed."""
    answer: JsonObject = field(default_factory=dict)
    """What the step would have set."""
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """What a run that is suspended waits for."""

    name: str
    """Its name in the record."""
    kind: WaitKind
    step: str
    message: str
    asked: JsonObject = field(default_factory=dict)
    """What a person is shown."""
    deadline: float | None = None
    """When the time for an answer is over, in seconds since 1970."""

    @property
    def digest(self) -> str:
        """SHA-256 of what is asked: an answer to something else is none."""
        told = canonical([self.name, self.kind, self.step, self.message, self.asked])
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


class Suspended(EngineError):
    """The run cannot go on before somebody has answered; its record is kept, and it goes on from there."""

    def __init__(self, wait: Wait) -> None:
        detail: JsonObject = {"wait": wait.name, "digest": wait.digest, "asked": wait.asked}
        if wait.deadline is not None:
            detail["deadline"] = wait.deadline
        super().__init__(wait.message, type=wait.kind, step=wait.step, detail=detail)
        self.wait = wait


class Left(Suspended):
    """The run leaves its process between two entries of its record, and goes on in another one."""

    def __init__(self, message: str = "the run goes on in another process", *, type: str = "run_left") -> None:
        EngineError.__init__(self, message, type=type)


class Lost(Left):
    """Another process has taken the run over; nothing that this one still does of it counts."""

    def __init__(self) -> None:
        super().__init__("another process has taken the run over", type="run_lost")


class Journal(Protocol):
    """The record of one run, or of a part of it: names are unique within a part."""

    @property
    def keeps(self) -> bool:
        """Whether anything is recorded at all."""
        ...

    @property
    def place(self) -> str:
        """Where this part stands in the record; empty for the whole."""
        ...

    def within(self, name: str) -> "Journal":
        """Return the record of a part of this part; asked twice for one name, it numbers anew."""
        ...

    def numbered(self, name: str) -> str:
        """Return the name with its number: how often it was asked for in this part."""
        ...

    def upcoming(self, name: str) -> str:
        """Return the name that `numbered` gives next, without giving it."""
        ...

    def known(self, name: str) -> JsonValue | None:
        """Return what is recorded under a name; `None` when nothing is."""
        ...

    def ahead(self) -> Sequence[JsonObject]:
        """Return what entries of this part have spent that are on record and not come to again yet."""
        ...

    def lasted_s(self) -> float:
        """Return for how many seconds this part was going on already; 0 where no work of it is on record.

        The time in which no process had the run does not count.
        """
        ...

    def may_have_begun(self, name: str) -> bool:
        """Return whether an earlier process may have been at a piece of work whose outcome is not on record."""
        ...

    def keep_state(self, name: str, value: JsonValue) -> None:
        """Have the next row hold the state of something outside of the record; it is found again by its name."""
        ...

    async def record(
        self, name: str, work: Work, *, effect: Effect | None = None, asked: str | None = None
    ) -> JsonValue:
        """Return the recorded outcome, or do the work and record it; what the work raises is not recorded.

        With an `effect` that writes, the intent is recorded before the work. Where only that is found, nobody knows
        whether the effect took place: work that was begun as repeatable, and still asks for the same, is done again;
        for any other a person is asked (`Suspended`).
        `asked` is a digest of what the work is given; it tells whether another definition would have asked the same.
        """
        ...

    async def ask(self, wait: Wait) -> JsonValue:
        """Return the answer to a question, recorded or given just now; raises `Suspended` while there is none."""
        ...


class RunJournal(Journal, Protocol):
    """The record of a whole run, and what it says of the run's time."""

    @property
    def begun(self) -> bool:
        """Whether another process has begun the run."""
        ...

    @property
    def replays(self) -> bool:
        """Whether anything is on record that the run passes again."""
        ...

    @property
    def rehearses(self) -> bool:
        """Whether the run is only gone through by its record: nothing is done, and nothing is kept."""
        ...

    @property
    def elapsed_s(self) -> float:
        """Seconds that the run has taken in other processes; the time in which no process had it does not count."""
        ...

    def last_state(self, name: str) -> JsonValue | None:
        """Return the last state that was kept under a name; `None` when none was."""
        ...

    async def tell(self, id: str, said: JsonObject) -> bool:
        """Record what the run is told from outside, before it acts; `False` when that id is on record already.

        `said` has the keys `kind`, `by` and `words`.
        """
        ...

    def untold(self) -> tuple[JsonObject, ...]:
        """Return what earlier processes were told and the run has not obeyed, in order."""
        ...

    @property
    def paused_s(self) -> float:
        """Seconds for which the run was held up in other processes, if it is paused."""
        ...

    async def paused(self, seconds: float) -> None:
        """Record for how long the run is held up, so that this counts wherever it goes on."""
        ...

    def catch_up(self) -> None:
        """Have the clock of the run go on from where its time is, whatever of the record is passed."""
        ...

    def at_end(self, tell: Callable[[], Coroutine[Any, Any, None]], hold: Callable[[], Awaitable[bool]]) -> None:
        """Have the run told when it comes to what is not on record, before any of that is begun.

        Whatever comes there meanwhile is held up by `hold`, which returns whether the run is to stop.
        """
        ...

    @property
    def clock(self) -> Clock:
        """The clock of the run, whose `monotonic` goes on from where the record ends."""
        ...


class NoJournal:
    """For runs that do not outlive their process."""

    keeps = False
    place = ""

    def within(self, name: str) -> "NoJournal":
        """Return itself: there are no names to keep apart."""
        return self

    def numbered(self, name: str) -> str:
        """Return the name."""
        return name

    def upcoming(self, name: str) -> str:
        """Return the name."""
        return name

    def known(self, name: str) -> None:
        """Know nothing."""
        return

    def ahead(self) -> Sequence[JsonObject]:
        """Return nothing: nothing is on record."""
        return ()

    def lasted_s(self) -> float:
        """Return nothing: it begins."""
        return 0.0

    def may_have_begun(self, name: str) -> bool:
        """Know of no earlier process."""
        return False

    def keep_state(self, name: str, value: JsonValue) -> None:
        """Keep nothing."""

    async def record(
        self, name: str, work: Work, *, effect: Effect | None = None, asked: str | None = None
    ) -> JsonValue:
        """Do the work."""
        return await work()

    async def ask(self, wait: Wait) -> JsonValue:
        """Refuse: nothing would be left to go on from."""
        raise EngineError(f"{wait.message}; only a durable run can wait", type="not_durable", step=wait.step)


NO_JOURNAL = NoJournal()


class Numbers:
    """Counts how often each name was asked for, as every store can keep it: ids of calls in it are those of models."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def next(self, name: str) -> str:
        """Return the name with its next number, from 1."""
        name = storable(name)
        self._counts[name] += 1
        return f"{name}#{self._counts[name]}"

    def peek(self, name: str) -> str:
        """Return the name with the number that it has next."""
        name = storable(name)
        return f"{name}#{self._counts[name] + 1}"

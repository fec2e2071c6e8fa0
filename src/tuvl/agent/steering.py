"""What an agent is told from outside, in the durable record of its run: read at the same places when it goes on."""

from collections.abc import Sequence
from typing import cast

from tuvl.control import RunControl, Steered
from tuvl.journal import Journal
from tuvl.llm.meter import Meter
from tuvl.llm.spent import NOTHING, spend
from tuvl.values import JsonObject, JsonValue


class RecordedSteers:
    """The steers of one execution of an agent: those it reads between turns, and those that interrupt a call.

    What interrupted a call is on record before it is read. When the run goes on, the same call is interrupted again:
    what was on record of it by then is taken up, and nothing further is asked.
    """

    def __init__(self, control: RunControl, journal: Journal, *, model: str, meter: Meter) -> None:
        """Wire it; `model` is the part of the record that holds the calls of the agent's own model.

        `meter` is where calls that were interrupted count.
        """
        self._control = control
        self._journal = journal
        self._model = model
        self._meter = meter
        self._lost: JsonObject = NOTHING
        self._interruptions = 0
        self._attempt: str | None = None

    async def between_turns(self) -> list[str]:
        """Return what is read before a turn; parks while the run is paused, and raises `Aborted`."""
        name = self._journal.numbered("steers")
        kept = self._journal.known(name)
        told = await self._control.checkpoint()
        if kept is not None:
            return self._again(kept, told)
        if told and self.call_is_known:
            self._later(told)  # this turn went on without it; what is new waits for a turn that is
            return []
        if told:
            await self._recorded(name, list[JsonValue](told))
        return told

    def next_attempt(self) -> None:
        """Hear that the model is about to be asked for a turn, for the first time or after an interruption."""
        self._attempt = self._journal.numbered("steered")

    def part_of(self, part: str) -> str:
        """Return the part of the record for calls from here on: those before an interruption are counted apart."""
        return part if not self._interruptions else f"{part}~{self._interruptions}"

    @property
    def call_is_known(self) -> bool:
        """Whether the next call of the agent's model is on record, so that nothing may interrupt it."""
        return self._journal.known(self._journal.upcoming(self.part_of(self._model))) is not None

    @property
    def interrupts_again(self) -> bool:
        """Whether the record says that this attempt at a turn was interrupted."""
        return self._attempt is not None and self._journal.known(self._attempt) is not None

    def check_call(self, name: str) -> None:
        """Raise `Steered` in place of a call that the interruption came before."""
        if self.interrupts_again and self._journal.known(name) is None:
            raise Steered

    def call_was_lost(self, spent: JsonObject) -> None:
        """Hear what a call has spent that was cut off, and is no entry of its own."""
        self._lost = spent

    async def interrupted(self) -> list[str]:
        """Return what has interrupted a call, which is on record from now on; raises `Aborted`."""
        name = self._attempt
        if name is None:
            raise RuntimeError("an interruption outside of an attempt")
        kept = self._journal.known(name)
        told = await self._control.checkpoint()
        self._interruptions += 1
        lost, self._lost = self._lost, NOTHING
        if kept is None:
            steers = list[JsonValue](told)
            await self._recorded(name, steers if lost == NOTHING else {"steers": steers, "lost": lost})
            return told
        if isinstance(kept, dict):
            spend(self._meter, cast(JsonObject, kept["lost"]))
        return self._again(kept, told)

    async def _recorded(self, name: str, read: JsonValue) -> None:
        async def known() -> JsonValue:
            return read

        await self._journal.record(name, known)

    def _again(self, kept: JsonValue, told: Sequence[str]) -> list[str]:
        again = steers_of(kept)
        # A supervisor says it again in a run that goes on; what is new waits for a turn that is.
        left = list(told)
        for steer in again:
            if steer in left:
                left.remove(steer)
        self._later(left)
        return again

    def _later(self, told: Sequence[str]) -> None:
        for steer in told:
            self._control.steer(steer)


def steers_of(read: JsonValue) -> list[str]:
    """Return what an entry says was read; one of an interruption may also say what the call had spent by then."""
    steers = read["steers"] if isinstance(read, dict) else read
    return [str(steer) for steer in cast(list[JsonValue], steers)]


def recorded_steers(control: RunControl, journal: Journal, *, model: str, meter: Meter) -> RecordedSteers | None:
    """Return what an agent is told by the record of its run; `None` without one."""
    return RecordedSteers(control, journal, model=model, meter=meter) if journal.keeps else None

"""What a person says to a run that waits, and whether it is said to the right thing."""

from collections.abc import Mapping
from pathlib import Path

from tuvl.cli.asked import answering, wait_kind
from tuvl.cli.inputs import read_bytes, read_principal
from tuvl.dataclass import dataclass
from tuvl.durable.record import Outcome
from tuvl.errors import UsageError
from tuvl.journal import WaitKind
from tuvl.principal import Principal
from tuvl.source.loading import load_data
from tuvl.values import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A yes or a no to a call that waits for approval."""

    approved: bool
    note: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a person says to a run, whatever that waits for."""

    by: Principal
    outcome: Outcome | None
    answer: JsonObject | None
    decision: Decision | None

    @property
    def words(self) -> tuple[str, ...]:
        """What of the command line says it."""
        given = {"--outcome": self.outcome, "--answer": self.answer, "tuvl approve": self.decision}
        return tuple(word for word, value in given.items() if value is not None)


_TAKES: Mapping[WaitKind, tuple[str, ...]] = {
    "question": ("--answer",),
    "approval": ("tuvl approve",),
    "outcome_unknown": ("--outcome", "--answer"),
}
_WANTS: Mapping[WaitKind, str] = {
    "question": "the run waits for an answer",
    "approval": "the call waits for approval",
    "outcome_unknown": "say what became of the step",
}


def read_said(
    *, outcome: Outcome | None, answer: str | None, decision: Decision | None, principal: str | None
) -> Said | None:
    """Read what is said, and who says it, from the files of the command line; `None` where nothing is said."""
    if outcome is None and answer is None and decision is None:
        return None
    given = None if answer is None else _mapping(answer)
    return Said(by=read_principal(principal), outcome=outcome, answer=given, decision=decision)


def value_for(said: Said, kind: str, run_id: str) -> JsonObject:
    """Return the answer to what a run waits for, as a host takes it.

    Raises `UsageError` for one to something else, whatever it is: it says what the run is to do, and is not passed by.
    """
    waits = wait_kind(kind)
    if waits is None:
        raise UsageError(f"run {run_id!r} waits for nothing that can be answered")
    strays = [word for word in said.words if word not in _TAKES[waits]]
    if strays:
        raise UsageError(f"{strays[0]} does not fit: {_WANTS[waits]}: {answering(waits, run_id)}")
    value = _value(said, waits)
    if value is None:
        raise UsageError(f"{_WANTS[waits]}: {answering(waits, run_id)}")
    return value


def _value(said: Said, kind: WaitKind) -> JsonObject | None:
    match kind:
        case "question":
            return said.answer
        case "approval":
            decision = said.decision
            return None if decision is None else {"approved": decision.approved, "note": decision.note}
        case "outcome_unknown":
            if said.answer is not None and said.outcome not in (None, "done"):
                raise UsageError("--answer says what a step would have set, and goes with --outcome done")
            return None if said.outcome is None else {"outcome": said.outcome, "answer": said.answer or {}}


def _mapping(source: str) -> JsonObject:
    data = load_data(read_bytes(Path(source), option="--answer"), name=source)
    if not isinstance(data, dict):
        raise UsageError(f"the answer in {source} is no mapping of names to values")
    reserved = sorted(key for key in data if key.startswith("_"))
    if reserved:
        raise UsageError(f"the answer in {source} has the key {reserved[0]!r}, and those with a '_' are the engine's")
    return data

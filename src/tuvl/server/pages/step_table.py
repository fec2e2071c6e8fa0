"""The table of a run's steps, and the state of each step that is in the picture of its workflow."""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime

from tuvl.analysis.steps import items, mapping
from tuvl.dataclass import dataclass
from tuvl.server.following import FollowedStep, Following, state_after
from tuvl.server.pages.looks import Look, shown, step_look
from tuvl.values import JsonObject
from tuvl.wording import seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where the steps of a workflow are in its picture."""

    numbers: Mapping[str, int] = field(default_factory=dict)
    """Number of each step, by id."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    bodies: Mapping[str, str] = field(default_factory=dict)
    """Step that a ForEach runs for each item, by its id."""

    aside: frozenset[str] = frozenset()
    """Steps that others use: tools of agents, bodies of lists."""

    def number_of(self, place: str) -> int:
        """Return the number of a place; 0 for one in another workflow."""
        outer, _, inner = place.partition("/")
        if not inner:
            return self.numbers.get(outer, 0)
        return self.numbers.get(inner, 0) if self.bodies.get(outer) == inner else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLine:
    """One row of the table."""

    number: int
    """Number in the picture; 0 for a step that is not in it, and for the second row of one."""
    name: str
    kind: str
    look: Look
    doing: str = ""
    """Tools that it runs just now."""
    often: str = ""
    """How often it ran, where that is not once."""
    turns: int = 0
    tool_calls: int = 0
    signal: str = ""
    took: str = "–"


def followed_lines(following: Following, places: Places, now: datetime) -> list[StepLine]:
    """Return a row for each step that has begun, in order, then those of the picture that have not."""
    rows = _numbered_once(_followed(step, places, now) for step in following.steps.values())
    begun = {row.number for row in rows}
    return rows + [_unbegun(name, places, following) for name, number in places.numbers.items() if number not in begun]


def recorded_lines(row: JsonObject, places: Places) -> list[StepLine]:
    """Return the rows of a run that is over, from its result."""
    found: list[StepLine] = []
    for step in map(mapping, items(mapping(row.get("result")).get("steps"))):
        name, turns, took_ms = str(step.get("id")), step.get("iteration_count"), step.get("duration_ms")
        found.append(
            StepLine(
                number=places.number_of(name),
                name=shown(name),
                kind=shown(step.get("kind")),
                look=step_look(state_after(str(step.get("signal")))),
                turns=turns if isinstance(turns, int) else 0,
                signal=shown(step.get("signal")),
                took=seconds(took_ms / 1000) if isinstance(took_ms, int | float) else "–",
            )
        )
    rows = _numbered_once(found)
    begun = {row.number for row in rows}
    return rows + [_unbegun(name, places, None) for name, number in places.numbers.items() if number not in begun]


def states_of(lines: Iterable[StepLine], following: Following | None, places: Places) -> dict[int, str]:
    """Return the state of each step in the picture, by number; of one that ran twice, the last."""
    states = {line.number: line.look.name for line in lines if line.number and line.look.name != "none"}
    if following is not None:
        states |= {places.numbers[tool]: "running" for tool in following.in_flight if tool in places.numbers}
    return states


def _followed(step: FollowedStep, places: Places, now: datetime) -> StepLine:
    return StepLine(
        number=places.number_of(step.place),
        name=shown(step.place),
        kind=shown(places.kinds.get(step.place, step.kind)),
        look=step_look(step.state),
        doing=shown(", ".join(sorted(set(step.tools.values())))),
        often=_times(step.executions) if step.executions > 1 else "",
        turns=step.turn,
        tool_calls=step.tool_calls,
        signal=shown(step.signal),
        took=seconds(step.busy_s(now)) if step.executions else "–",
    )


def _numbered_once(lines: Iterable[StepLine]) -> list[StepLine]:
    """Leave a number to the first of its rows: it is an anchor."""
    seen: set[int] = set()
    rows: list[StepLine] = []
    for line in lines:
        rows.append(replace(line, number=0) if line.number in seen else line)
        seen.add(line.number)
    return rows


def _unbegun(name: str, places: Places, following: Following | None) -> StepLine:
    """The row of a step that did not begin by itself; one that others use may have run for them."""
    row = StepLine(
        number=places.numbers[name],
        name=shown(name),
        kind=shown(places.kinds.get(name, "")),
        look=step_look("aside" if name in places.aside else ""),
    )
    if following is None or not following.called[name]:
        return row
    state = "running" if name in following.in_flight else "done"
    return replace(row, look=step_look(state), often=f"called {_times(following.called[name])}")


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"

"""Two states of the origins of values: which decisions are by other values, and how that is said."""

from collections.abc import Callable, Mapping
from functools import cached_property, partial

from tuvl.changes.called import Called
from tuvl.changes.facts import WorkflowFacts
from tuvl.changes.origins import Origins
from tuvl.changes.provenance import BEFORE, MADE, SEEN, Effort, Links, TangledError
from tuvl.changes.renames import StepPairs


class Values:
    """The origins of values in both states of a workflow."""

    def __init__(self, pairs: StepPairs, facts: tuple[WorkflowFacts, WorkflowFacts], called: Called) -> None:
        """Pair the states; they share what may be followed."""
        self.pairs = pairs
        self.called = called
        self.effort = Effort()
        self.old = Origins(facts[0], called.inside_old, self.effort, facts[1])
        self.new = Origins(facts[1], called.inside_new, self.effort, facts[0])

    def both(self, links: Callable[[Origins], Links]) -> tuple[Links, Links]:
        """The links of both states, followed in the same way."""
        try:
            return links(self.old), links(self.new)
        except TangledError:
            self.effort.loose = True
            return links(self.old), links(self.new)

    @cached_property
    def are_same(self) -> bool:
        """Whether nothing that bears on values is written otherwise."""
        runs = dict.fromkeys((*self.old.facts.runs, *self.new.facts.runs))
        return self.old.words() == self.new.words() and all(map(self.called.are_same, runs))

    @cached_property
    def revalued(self) -> Mapping[str, str]:
        """Routers that decide by values that may come from elsewhere now, each with what is to be said of that."""
        if self.are_same:
            return {}
        found: dict[str, str] = {}
        for before, after in self.pairs.matched:
            # A router that reads other keys is told as one that decides otherwise.
            if before.kind == after.kind == "Router" and self.old.read_by(before) == self.new.read_by(after):
                was, now = self.both(partial(Origins.decided, step=after))
                if was != now and was and now:
                    found[after.id] = difference(was, now)
        return found


def difference(was: Links, now: Links) -> str:
    """Say what is the most telling of two sets of links."""
    come, gone = (
        sorted(links, key=lambda link: (link[1] == MADE, not link[2].startswith("step"), link))
        for links in (now - was, was - now)
    )
    makers = [f"{who} otherwise" for who, key, _ in come or gone if key == MADE and who.startswith("step ")]
    said = [_comes(key, made) for _, key, made in come if key != MADE]
    left = [_comes(key, made, gone=True) for _, key, made in gone if key != MADE]
    first = [_comes(key, made, gone=True) for _, key, made in gone[:1] if key != MADE and made.startswith("step ")]
    return next(iter((*said, *first, *makers, *left)), "it is written otherwise")


def _comes(key: str, made: str, *, gone: bool = False) -> str:
    if made in (SEEN, BEFORE):
        return f"{key!r} is no longer read" if gone else f"{key!r} is read now"
    more = "no longer " if gone else ""
    if made.startswith("decision "):
        return f"{key!r} {more}depends on what step {made.removeprefix('decision ')} decides"
    return f"{key!r} {more}comes from {made}"

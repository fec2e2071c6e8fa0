"""Workflows that steps run, in both states: what each does and gives back, however they run each other.

Each is followed once and by itself. Where it runs others in turn, its links have a mark in place of what these do or
give; all that is behind the marks of one, and of those, is what it comes to.
"""

import re
from collections.abc import Mapping
from functools import cached_property
from hashlib import sha256
from typing import Literal

from tuvl.analysis.steps import StepView, text
from tuvl.changes.change import Change
from tuvl.changes.ends import Ends, How, ends_of
from tuvl.changes.facts import Callees, WorkflowFacts
from tuvl.changes.origins import Origins
from tuvl.changes.producers import Part
from tuvl.changes.provenance import INPUT, MADE, Effort, Links, TangledError
from tuvl.changes.renames import pair_steps
from tuvl.dataclass import dataclass

_Side = Literal[0, 1]
_MARK = re.compile(r"<(does|gives) (\d+)>")


@dataclass(frozen=True, slots=True)
class Handed:
    """A step that hands the workflow it runs other values for some keys than it did, and what is known of why."""

    step: str
    workflow: str
    keys: tuple[str, ...]
    why: str = ""
    ends: tuple[How, ...] = ()
    """The ends of the workflow by which alone something can follow."""


@dataclass(frozen=True, slots=True)
class Consequences:
    """What a workflow may do by itself when it is given other values, as far as that is grave, and what it hands on."""

    changes: tuple[Change, ...]
    shown: tuple[tuple[str, str], ...]
    """Questions, and what a person is shown otherwise there."""
    handed: tuple[Handed, ...]


class Called:
    """The workflows that are run in either of two states, paired by their names."""

    def __init__(self, old: Callees, new: Callees) -> None:
        """Pair two states; each workflow is only looked at when it is asked for."""
        self.callees = (old, new)
        self.consequences: dict[object, Consequences] = {}
        """Workflow, keys and ends → what follows if the keys are given otherwise, as far as it was asked."""
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._origins: dict[str, tuple[Origins | None, Origins | None]] = {}
        self._efforts: dict[str, Effort] = {}
        self._same: dict[str, bool] = {}
        self._texts: dict[tuple[str, Part], tuple[str, str]] = {}
        self._digests: dict[tuple[str, Part], tuple[str, str]] = {}

    @cached_property
    def alone(self) -> "Called":
        """The workflows of the new state, each as its own pair."""
        return Called(self.callees[1], self.callees[1])

    @cached_property
    def _ends(self) -> tuple[Mapping[str, Ends], Mapping[str, Ends]]:
        old, new = self.callees
        return ends_of(old), ends_of(new)

    def ends(self, old: str, new: str) -> Ends:
        """The ends of a workflow by which alone something can follow in what runs it, in both states."""
        was, now = self._ends[0].get(old, {}), self._ends[1].get(new, {})
        return {how: what for how, what in now.items() if how in was}

    def are_same(self, name: str) -> bool:
        """Whether nothing that bears on values is written otherwise, in a workflow or those that it runs."""
        if self.callees[0] is self.callees[1]:
            return True
        behind = [callees.reached(name) for callees in self.callees]
        return set(behind[0]) == set(behind[1]) and all(map(self._is_same, behind[1]))

    def _is_same(self, name: str) -> bool:
        if name not in self._same:
            old, new = self._pair(name)
            self._same[name] = (old is None and new is None) or (
                old is not None and new is not None and old.words() == new.words()
            )
        return self._same[name]

    def passed_on(self, step: StepView) -> frozenset[str]:
        """Keys of what the workflow that a step runs is given, whose values it may give back; an answer is no such."""
        origins = self._pair(text(step.data.get("workflow")) or "")[1]
        if origins is None:
            return frozenset()
        try:
            links = origins.gives()
        except TangledError:
            self._efforts[origins.facts.view.name].loose = True
            return frozenset()
        answers = {f"step {each.id!r}" for each in origins.facts.view.steps if each.kind == "HumanInTheLoop"}
        readers = {"output", *(each.id for each in origins.facts.view.steps if each.kind == "Response")}
        waiting, found = list(readers), set[str]()
        while waiting:
            reader = waiting.pop()
            for who, key, made in links:
                if who == reader and made == INPUT:
                    found.add(key)
                elif who == reader and key != MADE and made.startswith("step ") and made not in readers | answers:
                    readers.add(made)
                    waiting.append(made)
        return frozenset(found)

    def inside_old(self, step: StepView, part: Part) -> str:
        """What the workflow that a step runs did, or gave back."""
        return self._digest(text(step.data.get("workflow")) or "", part)[0]

    def inside_new(self, step: StepView, part: Part) -> str:
        """What the workflow that a step runs does now, or gives back."""
        return self._digest(text(step.data.get("workflow")) or "", part)[1]

    def _digest(self, name: str, part: Part) -> tuple[str, str]:
        key = (name, part)
        if key not in self._digests:
            same = self.are_same(name)
            self._digests[key] = ("", "") if same else (self._behind(key, 0), self._behind(key, 1))
        return self._digests[key]

    def _behind(self, first: tuple[str, Part], side: _Side) -> str:
        """All that is behind one mark, as a text to be held against another."""
        found = {first}
        waiting = [first]
        while waiting:
            for part, number in _MARK.findall(self._text(*waiting.pop())[side]):
                key = (self._names[int(number)], part) if int(number) < len(self._names) else first
                if key not in found:
                    found.add(key)
                    waiting.append(key)
        whole = "\n".join(f"{name} {part} {self._text(name, part)[side]}" for name, part in sorted(found))
        return sha256(whole.encode(errors="surrogatepass")).hexdigest()

    def _text(self, name: str, part: Part) -> tuple[str, str]:
        """What a workflow does or gives by itself, in both states, followed in the same way."""
        key = (name, part)
        if key not in self._texts:
            old, new = self._pair(name)
            try:
                self._texts[key] = (_said(old, part), _said(new, part))
            except TangledError:
                self._efforts[name].loose = True
                self._texts[key] = (_said(old, part), _said(new, part))
        return self._texts[key]

    def _pair(self, name: str) -> tuple[Origins | None, Origins | None]:
        """A workflow in both states; its steps are called as in the new one."""
        if name not in self._origins:
            old, new = (callees.facts(name) for callees in self.callees)
            if old is not None and new is not None:
                pairs = pair_steps(old.view, new.view)
                old = WorkflowFacts(pairs.old, old.index, old.callees)
                new = WorkflowFacts(pairs.new, new.index, new.callees)
            effort = self._efforts[name] = Effort()
            self._origins[name] = (
                None if old is None else Origins(old, self._mark, effort, new),
                None if new is None else Origins(new, self._mark, effort, old),
            )
        return self._origins[name]

    def _mark(self, step: StepView, part: Part) -> str:
        name = text(step.data.get("workflow")) or ""
        if name not in self._numbers:
            self._numbers[name] = len(self._names)
            self._names.append(name)
        return f"<{part} {self._numbers[name]}>"


def _said(origins: Origins | None, part: Part) -> str:
    if origins is None:
        return ""
    links: Links = origins.does() if part == "does" else origins.gives()
    return "\n".join(sorted(map(repr, links)))

"""Collects the changes of one pair of documents, and which other documents both refer to."""

from dataclasses import field
from typing import Literal, TypeAlias

from tuvl.changes.change import CODES, Change, ChangeClass
from tuvl.changes.shown import both
from tuvl.changes.site import Doc
from tuvl.dataclass import dataclass
from tuvl.values import KeyPath, format_path, printable

LinkKind: TypeAlias = Literal["document", "node"]


@dataclass(frozen=True, slots=True)
class Spot:
    """Where two values stand, what a person calls the place, and in which step it is."""

    old_path: KeyPath
    new_path: KeyPath
    label: str = ""
    step: str | None = None

    def at(self, key: str | int, other: str | int | None = None, *, label: str | None = None) -> "Spot":
        """The place below, under one key, or under different ones in the two documents."""
        name = str(key) if label is None else label
        between = ": " if self.label.endswith("'") else "."
        joined = f"{self.label}{between}{name}" if self.label and name else self.label or name
        return Spot((*self.old_path, key), (*self.new_path, key if other is None else other), joined, self.step)


TOP = Spot((), ())


@dataclass
class Findings:
    """Changes of one pair of documents."""

    old: Doc
    new: Doc
    workflow: str | None = None
    changes: list[Change] = field(default_factory=list)
    links: list[tuple[Doc | None, Doc | None]] = field(default_factory=list)
    """Documents that both refer to at one place; `None` where nothing is found, or one side refers to nothing."""
    nodes: list[str] = field(default_factory=list)
    """Names of Python nodes that steps of both states run."""
    spelled_otherwise: bool = False
    """Whether something is written in another way and means the same."""

    def say(
        self,
        code: str,
        what: str,
        spot: Spot,
        old: object = None,
        new: object = None,
        *,
        shown: tuple[str | None, str | None] | None = None,
        on_old: bool = False,
        may: bool = False,
        cls: ChangeClass | None = None,
        at_key: bool = False,
    ) -> None:
        """Add a change; `old` and `new` are what is shown of it, unless `shown` says it in words."""
        doc, path = (self.old, spot.old_path) if on_old else (self.new, spot.new_path)
        place = doc.place(path, key=at_key)
        before, after = shown if shown is not None else both(old, new, spot.old_path, spot.new_path)
        message = f"step {spot.step!r}: {what}" if spot.step is not None else what
        self.changes.append(
            Change(
                cls=cls or CODES[code].cls,
                code=code,
                message=printable(message),
                before=before,
                after=after,
                may=may,
                file=doc.file,
                line=place.line,
                column=place.column,
                path=format_path(path),
                old_side=on_old,
                workflow=self.workflow,
                step=spot.step,
            )
        )

    def link(self, old: Doc | None, new: Doc | None) -> None:
        """Note that both states refer to a document at one place."""
        if old is not None or new is not None:
            self.links.append((old, new))

"""What is drawn of a sheet: boxes, the lines between them, and where a line is cut short so that it can be followed."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

from tuvl.analysis.picture import COMPLETED, FAILED, START, Arrow, Node
from tuvl.analysis.step_facts import StepFacts
from tuvl.analysis.steps import END
from tuvl.dataclass import dataclass
from tuvl.drawing.cards import Card, Chip, Panel, tags_of
from tuvl.drawing.layout import Layout, Link, Size, layout, span_of
from tuvl.drawing.sheet import Sheet
from tuvl.drawing.text import cut, width

SIGNAL_SIZE, SIGNAL_ROW = 11.0, 15.0
STUB_SIZE, STUB_HEIGHT, STUB_ARROW = 11.5, 22.0, 12.0
_WIDEST_SIGNAL = 190.0
_MOST_SIGNALS = 8
_MOST_CHIPS = 24
_POPULAR = 6
"""Failures from so many steps to one are told by name: their lines would hide the others."""
_LONGEST = 14
"""Rows that a line may pass, when its target has others to be told from."""
_CUTS = 3

StubKind: TypeAlias = Literal["", "completed", "failed", "missing", "jump"]

_PANELS = {"tool": "tools", "agent helper": "helpers", "ForEach body": "runs for each item", "hook target": "notified"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """One line: where from, where to, and what it is called. With a `stub` it ends there, in a word."""

    source: int
    target: int | None
    signals: tuple[str, ...] = ()
    failing: bool = False
    fault: bool = False
    stub: StubKind = ""
    stub_title: str = ""
    jump: int = 0
    """Number of the step that a stub stands for."""

    @property
    def shown(self) -> tuple[str, ...]:
        """The signals as far as there is room."""
        kept = [cut(signal, SIGNAL_SIZE, _WIDEST_SIGNAL, mono=True) for signal in self.signals[:_MOST_SIGNALS]]
        more = len(self.signals) - _MOST_SIGNALS
        return (*kept, f"and {more} more") if more > 0 else tuple(kept)

    @property
    def stub_text(self) -> str:
        """What the stub says."""
        words = {"completed": "● completed", "failed": "✕ failed", "": ""}
        if self.stub in words:
            return words[self.stub]
        prefix = "↪ " if self.stub == "jump" else "? "
        return prefix + cut(self.stub_title, STUB_SIZE, _WIDEST_SIGNAL, mono=True)

    @property
    def link(self) -> Link:
        """What it asks of the layout."""
        rows = len(self.shown)
        widths = [width(signal, SIGNAL_SIZE, mono=True) + 12 for signal in self.shown]
        height = SIGNAL_ROW * rows + 4 if rows else 0.0
        if self.stub:
            widths.append(width(self.stub_text, STUB_SIZE, mono=True) + 20)
            height += STUB_ARROW + STUB_HEIGHT
        return Link(
            source=self.source,
            target=None if self.stub else self.target,
            label_width=max(widths, default=0.0),
            label_height=height,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Boxes and lines in their places."""

    cards: tuple[Card, ...]
    wires: tuple[Wire, ...]
    layout: Layout
    numbers: Mapping[str, int]
    """Number of each step, by id; its details have the anchor `step-<number>`."""


def chart_of(sheet: Sheet) -> Chart:
    """Draw up a chart."""
    builder = _Builder(sheet)
    cards, wires = builder.cards(), builder.wires()
    wires = _shortened(wires, cards)
    sizes = [
        Size(width=card.width, height=card.height, margin=_loop_room(card.loop) if card.loop else 0.0) for card in cards
    ]
    return Chart(
        cards=tuple(cards),
        wires=tuple(wires),
        layout=layout(sizes, [wire.link for wire in wires]),
        numbers=builder.numbers,
    )


def shown_loop(loop: str) -> str:
    """The label of a loop as far as there is room."""
    return cut(loop, SIGNAL_SIZE, _WIDEST_SIGNAL, mono=True)


def _loop_room(loop: str) -> float:
    return width(shown_loop(loop), SIGNAL_SIZE, mono=True) + 40


class _Builder:
    """Turns nodes into boxes: steps that only one box refers to stand inside it."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        picture = sheet.picture
        self.nodes = {node.key: node for node in picture.nodes}
        steps = [node for node in picture.nodes if node.shape == "step"]
        self.numbers = {node.label: number for number, node in enumerate(steps, 1)}
        self.references: dict[str, list[Arrow]] = {}
        self.routes: list[Arrow] = []
        for arrow in picture.arrows:
            if arrow.style == "reference":
                self.references.setdefault(arrow.source, []).append(arrow)
            else:
                self.routes.append(arrow)
        self.loops = {arrow.source: arrow.labels for arrow in self.routes if arrow.source == arrow.target}
        inside = self._held([START, *(node.key for node in steps if not node.off_spine)])
        alone = [node.key for node in steps if node.off_spine and node.key not in inside]
        for key in alone:  # steps that refer to each other in a circle
            if key not in inside:
                inside |= self._held([key]) - {key}
        self.own = [START, *(node.key for node in steps if node.key not in inside)]

    def _held(self, owners: list[str]) -> set[str]:
        """Steps that stand inside the boxes of others."""
        found: set[str] = set()
        waiting = list(owners)
        while waiting:
            for arrow in self.references.get(waiting.pop(), ()):
                if self.nodes[arrow.target].off_spine and arrow.target not in found:
                    found.add(arrow.target)
                    waiting.append(arrow.target)
        return found

    def cards(self) -> list[Card]:
        """The boxes, the start first."""
        return [self._card(self.nodes[key]) for key in self.own]

    def _card(self, node: Node) -> Card:
        panels = tuple(self._panels(node))
        if node.shape == "start":
            return Card(key=node.key, number=0, title="start", panels=panels)
        facts = self.sheet.facts[node.label]
        lines = self.sheet.lines.get(node.label, ())
        if facts.runs and facts.kind in ("Workflow", "MCP", "ModelOp", "APICall"):
            lines = (f"runs {facts.runs}" if facts.kind == "Workflow" else facts.runs, *lines)
        return Card(
            key=node.key,
            number=self.numbers[node.label],
            title=node.label,
            kind=node.kind,
            tags=tags_of(facts.tags if facts.kind not in ("Router", "Response") else facts.tags[1:]),
            lines=lines,
            panels=panels,
            mark=self.sheet.marks.get(node.label),
            aside=node.off_spine,
            loop=", ".join(self.loops.get(node.key, ())),
        )

    def _panels(self, node: Node) -> Iterator[Panel]:
        by_role: dict[str, list[Chip]] = {}
        seen, left = {node.key}, _MOST_CHIPS
        waiting = [(arrow, node) for arrow in reversed(self.references.get(node.key, ()))]
        while waiting:
            arrow, owner = waiting.pop()
            if (arrow.target in seen) or (arrow.source == arrow.target):
                continue
            seen.add(arrow.target)
            role = arrow.labels[0]
            if left:
                left -= 1
                by_role.setdefault(role, []).append(self._chip(arrow, owner, is_nested=owner is not node))
            else:
                by_role.setdefault(role, []).append(Chip(title="", note="", kind=""))
            target = self.nodes[arrow.target]
            if target.off_spine:
                waiting += [(each, target) for each in self.references.get(target.key, ())[:_MOST_CHIPS][::-1]]
        for role, chips in by_role.items():
            shown = [chip for chip in chips if chip.kind]
            if len(chips) > len(shown):
                shown.append(Chip(title="and more", note=f"{len(chips) - len(shown)} not shown here", kind="more"))
            count = f" ({len(chips)})" if len(chips) > 1 else ""
            yield Panel(title=_PANELS[role] + count, chips=tuple(shown))

    def _chip(self, arrow: Arrow, owner: Node, *, is_nested: bool) -> Chip:
        node = self.nodes[arrow.target]
        if node.shape != "step":  # nothing of that name, or `END`, which is no step
            return Chip(
                title=END if node.shape == "end" else node.label, note="not there", kind="missing", missing=True
            )
        facts = self.sheet.facts[node.label]
        words = [node.kind, "writes" if facts.effects == "write" else "reads"]
        words += ["⚠ danger"] if facts.danger else []
        words += ["approval"] if self._asks(owner, node.label) else []
        words += [f"of {owner.label}"] if is_nested else []
        mark = self.sheet.marks.get(node.label)
        return Chip(
            title=node.label,
            note=" · ".join(words),
            kind=node.kind,
            target=self.numbers[node.label],
            worst=mark.worst if mark else None,
            risky=facts.danger,
        )

    def _asks(self, owner: Node, ref: str) -> bool:
        facts: StepFacts | None = self.sheet.facts.get(owner.label) if owner.shape == "step" else None
        return facts is not None and any(tool.ref == ref and tool.approval for tool in facts.tools)

    def wires(self) -> list[Wire]:
        """The lines; those to an end, or to nothing, end in a word."""
        places = {key: number for number, key in enumerate(self.own)}
        found = []
        for arrow in self.routes:
            if arrow.source == arrow.target or arrow.source not in places:
                continue
            wire = Wire(
                source=places[arrow.source],
                target=places.get(arrow.target),
                signals=arrow.labels,
                failing=arrow.failing,
                fault=arrow.style == "fault",
            )
            found.append(self._ended(wire, arrow))
        return found

    def _ended(self, wire: Wire, arrow: Arrow) -> Wire:
        if arrow.target == COMPLETED:
            return replace(wire, stub="completed")
        if arrow.target == FAILED:
            return replace(wire, stub="failed")
        node = self.nodes[arrow.target]
        if node.shape == "missing":
            return replace(wire, stub="missing", stub_title=node.label)
        if wire.target is None:
            return replace(wire, stub="jump", stub_title=node.label, jump=self.numbers[node.label])
        return wire


def _shortened(wires: list[Wire], cards: list[Card]) -> list[Wire]:
    """Cut lines that nobody could follow, and so many that what is left is linear in the boxes."""
    entering: dict[int, int] = {}
    for wire in wires:
        if wire.failing and wire.target is not None and not wire.stub:
            entering[wire.target] = entering.get(wire.target, 0) + 1
    popular = {target for target, count in entering.items() if count >= _POPULAR}
    arriving: dict[int, int] = {}
    for wire in wires:
        if wire.target is not None and not wire.stub:
            arriving[wire.target] = arriving.get(wire.target, 0) + 1
    for _ in range(_CUTS):
        spans = span_of(len(cards), [wire.link for wire in wires])
        spare = max(400, 4 * len(cards))
        doomed: set[int] = set()
        for number in sorted(range(len(wires)), key=lambda each: spans[each]):
            wire, span = wires[number], spans[number]
            spare -= span
            hard = wire.target in popular and wire.failing and span > 1
            far = span > _LONGEST and arriving.get(wire.target or 0, 0) > 1
            if span > 1 and (spare < 0 or hard or far):
                doomed.add(number)
        if not doomed:
            break
        wires = [_jumping(wire, cards) if number in doomed else wire for number, wire in enumerate(wires)]
    return wires


def _jumping(wire: Wire, cards: list[Card]) -> Wire:
    if wire.target is None:
        return wire
    card = cards[wire.target]
    return replace(wire, stub="jump", stub_title=card.title, jump=card.number)

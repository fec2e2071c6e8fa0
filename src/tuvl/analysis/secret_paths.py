"""Parts of the context that hold what goes into a `secure` field, and how the text of steps hands them on."""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from tuvl.analysis.key_reads import KeyRead
from tuvl.analysis.spill import Path
from tuvl.analysis.steps import StepView, WorkflowView, mapping, text
from tuvl.templating.plain import is_template, plain_template
from tuvl.templating.scan import scan
from tuvl.templating.shown import ANY_ITEM

Held: TypeAlias = Literal["whole", "part", "maybe"]
"""The value itself; something in it, nobody knows what; or a field that a record may have."""

SecureFields: TypeAlias = Callable[[str], frozenset[str]]
"""Data model → its secure fields."""

_WRITING = ("create", "update")
"""Operations that write a record."""

_LONGEST = 8
"""Segments of a path that are told apart."""

_INDEXES = frozenset(map(str, range(64)))
"""Items of a list that are told apart."""


class Secret(NamedTuple):
    """A part of the context, and the field that it goes into."""

    path: Path
    held: Held
    field: str


class Move(NamedTuple):
    """That one part of the context is made of another; `whole`: it is that value."""

    target: Path
    source: Path
    whole: bool


def normal(path: Path) -> Path:
    """A path with `ANY_ITEM` for the items of a list that are not told apart: the last ones, and those far behind."""
    return tuple(ANY_ITEM if is_item(part) and part not in _INDEXES else part for part in path[:_LONGEST])


def is_item(part: str) -> bool:
    """Whether a part of a path leads to an item of a list, where a list is what it leads into."""
    return part == ANY_ITEM or part.removeprefix("-").isdecimal()


def written(path: Path) -> str:
    """How a path is called in a message."""
    return ".".join("0" if part == ANY_ITEM else part for part in path)


def begins(path: Path, start: Path) -> bool:
    """Whether a path may lead into what another leads to, or to the same."""
    if len(path) < len(start):
        return False
    return path[: len(start)] == start or all(map(_meet, path, start))


def same(path: Path, other: Path) -> bool:
    """Whether two paths may lead to the same."""
    return len(path) == len(other) and begins(path, other)


def _meet(part: str, other: str) -> bool:
    return part == other or (ANY_ITEM in (part, other) and is_item(part) and is_item(other))


def shows(path: Path, secret: Secret) -> bool:
    """Whether somebody who sees what a path leads to sees a secret."""
    if len(path) < len(secret.path):
        return begins(secret.path, path) and secret.held != "maybe"
    return begins(path, secret.path) and (len(path) == len(secret.path) or secret.held != "part")


def came_from(secret: Secret, move: Move) -> Secret | None:
    """The part that was handed on to be a secret."""
    path, target = secret.path, move.target
    if begins(path, target):
        below = path[len(target) :]
        if move.whole:
            # What stands under its name in the file is no guess any more.
            named = secret.held == "maybe" and not below and len(target) > 1
            return Secret(normal((*move.source, *below)), "whole" if named else secret.held, secret.field)
        if secret.held == "maybe" and below:
            return Secret(normal((*move.source, *below)), "maybe", secret.field)
        return Secret(move.source, "part", secret.field)
    if begins(target, path) and secret.held == "whole":
        return Secret(move.source, "whole" if move.whole else "part", secret.field)
    return None


def goes_to(secret: Secret, move: Move) -> Secret | None:
    """The part that a secret is handed on to."""
    path, source = secret.path, move.source
    if not move.whole:
        return Secret(move.target, "part", secret.field) if shows(source, secret) else None
    if begins(path, source):
        return Secret(normal((*move.target, *path[len(source) :])), secret.held, secret.field)
    return Secret(move.target, "whole", secret.field) if shows(source, secret) else None


def leaves(value: object, target: Path) -> Iterator[Move]:
    """What the templates anywhere in a value hand on to a part of the context."""
    waiting: list[tuple[object, Path]] = [(value, target)]
    while waiting:
        part, at = waiting.pop()
        if isinstance(part, dict):
            waiting.extend((each, (*at, str(key))) for key, each in part.items())
        elif isinstance(part, list):
            waiting.extend((each, (*at, str(index))) for index, each in enumerate(part))
        elif isinstance(part, str) and is_template(part):
            plain = plain_template(part)
            if plain is not None and plain.single is not None:
                yield Move(normal(at), normal(tuple(map(str, plain.single))), whole=True)
            else:
                yield from (Move(normal(at), normal(path), whole=False) for path in sorted(scan(part).revealed))


def item_moves(step: StepView) -> tuple[Move, ...]:
    """What a list hands to its body, for each item."""
    name, source = text(step.data.get("as")) or "item", step.data.get("items")
    if isinstance(source, list):
        found = [move for each in source for move in leaves(each, ("",))]
    else:
        found = [
            Move(("",), normal((*move.source, ANY_ITEM)) if move.whole else move.source, move.whole)
            for move in leaves(source, ("",))
        ]
    targets: tuple[Path, ...] = ((name,), ("args", name))
    return tuple(Move((*target, *move.target[1:]), move.source, move.whole) for target in targets for move in found)


def moves_of(step: StepView, workflow: WorkflowView, secure: SecureFields) -> Iterator[Move]:
    """What a step that is done has handed on: by `set`, by a record it gives back, by the results of a list."""
    if step.kind == "Functional" and step.data.get("runner") == "set":
        for key, value in mapping(step.data.get("values")).items():
            yield from leaves(value, (key,))
    elif step.kind == "ModelOp" and step.data.get("operation") in _WRITING:
        masked = secure(text(step.data.get("model")) or "")
        output = text(step.data.get("output")) or f"{step.id}_result"
        for field, value in mapping(step.data.get("payload")).items():
            if field not in masked:
                yield from leaves(value, (output, field))
    elif step.kind == "ForEach":
        body = workflow.by_id.get(text(step.data.get("step")) or "")
        if body is not None and body.kind != "ForEach":
            output, given = text(step.data.get("output_key")) or f"{step.id}_result", item_moves(step)
            for move in moves_of(body, workflow, secure):
                target = normal((output, ANY_ITEM, *move.target))
                yield from (Move(target, source, whole) for source, whole in _outside(move, given))


def _outside(move: Move, given: tuple[Move, ...]) -> Iterator[tuple[Path, bool]]:
    """What a body reads, as it is seen around the list."""
    inner = {each.target[0] for each in given}
    if move.source[0] not in inner:
        yield move.source, move.whole
        return
    read = Secret(move.source, "whole" if move.whole else "part", "")
    for each in given:
        found = came_from(read, each)
        if found is not None:
            yield found.path, move.whole and each.whole


def stored_by(step: StepView, secure: SecureFields) -> Iterator[Secret]:
    """What a step puts into secure fields; a record that is handed over whole may have them."""
    if step.kind != "ModelOp" or step.data.get("operation") not in _WRITING:
        return
    model, payload = text(step.data.get("model")) or "", step.data.get("payload")
    for field in sorted(secure(model)):
        called = f"{field!r} of {model!r}"
        if isinstance(payload, dict):
            given = leaves(payload.get(field), ("",))
            yield from (Secret(move.source, "whole" if move.whole else "part", called) for move in given)
        else:
            for move in leaves(payload, ("",)):
                yield Secret(normal((*move.source, field)), "maybe", called)


def reads_of(read: KeyRead) -> tuple[Path, ...]:
    """The parts of the context of which a read reveals something."""
    return tuple(map(normal, read.revealed))

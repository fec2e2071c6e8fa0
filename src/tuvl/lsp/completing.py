"""What may stand where someone is typing, on lines that are no YAML yet too."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from lsprotocol import types

from tuvl.analysis.context import ARGUMENTS
from tuvl.analysis.parameters import tool_uses
from tuvl.analysis.signals import BUILT_IN_NODES, possible_signals
from tuvl.analysis.steps import END, StepView, WorkflowView, mapping, text
from tuvl.artifacts.reference import SITE_TYPES
from tuvl.dataclass import dataclass
from tuvl.lsp.asked import Asked, Facts, document_at, kind_of, workflow_of
from tuvl.lsp.hovering import key_page, page_of_name
from tuvl.lsp.names import Name, Role
from tuvl.lsp.overlay import Buffer
from tuvl.lsp.pages import artifact_page, field_page
from tuvl.lsp.repair import lost_document, parse, readable
from tuvl.lsp.shapes import fields_at, values_at
from tuvl.project.index import ProjectIndex
from tuvl.source.document import Document
from tuvl.source.place import Position, Range
from tuvl.source.spot import Spot

MARK = "tuvlCompletesHere"
"""Stands for the word that is being typed, so that the parser says where it is."""

MOST_ITEMS = 500
"""Things offered at once; with more of them the editor asks again for what was typed."""

_WORD = re.compile(r"""(?:artifact://)?[\w.@/-]*$""")
_ENGINE_KEYS = ("_last_error", "_last_error_type", "_last_error_step", "_last_error_detail", "_api_status_code")

Kind = types.CompletionItemKind


@dataclass(frozen=True, slots=True)
class Offer:
    """One thing that may stand there."""

    text: str
    kind: types.CompletionItemKind
    detail: str = ""
    page: str = ""
    first: bool = False
    """Whether it comes before the others."""


def complete(buffer: Buffer, position: Position, index: ProjectIndex) -> types.CompletionList:
    """List what may stand at a position."""
    line = buffer.content.line(position.line)
    typed, rest = line[: position.column - 1], line[position.column - 1 :]
    template = _in_template(typed)
    word = re.search(r"[\w.]*$", typed) if template else _WORD.search(typed)
    start = word.start() if word is not None else len(typed)
    candidates = _template_lines(typed, rest) if template else _lines(typed[:start], rest)
    offers: list[Offer] = []
    as_key = False
    for candidate in candidates:
        asked = _with_mark(buffer, position, candidate, index)
        if asked is None or asked.spot is None:
            continue
        as_key = asked.spot.on_key
        offers = list(_keys(asked, typed[start:]) if template else _offers(asked))
        if offers:
            break
    place = buffer.content.to_range(Range(Position(position.line, start + 1), position))
    colon = "" if not as_key or re.match(r"\s*:", rest) or template else ": "
    found = {offer.text: offer for offer in reversed(offers)}
    if len(found) > MOST_ITEMS:
        found = {text: offer for text, offer in found.items() if text.startswith(typed[start:])}
    shown = list(found.values())[:MOST_ITEMS]
    items = [_item(offer, place, colon) for offer in shown]
    return types.CompletionList(is_incomplete=len(shown) < len(found), items=items)


def _item(offer: Offer, place: types.Range, colon: str) -> types.CompletionItem:
    page = types.MarkupContent(kind=types.MarkupKind.Markdown, value=offer.page) if offer.page else None
    return types.CompletionItem(
        label=offer.text,
        kind=offer.kind,
        detail=offer.detail or None,
        documentation=page,
        sort_text=("0" if offer.first else "1") + offer.text,
        filter_text=offer.text,
        text_edit=types.TextEdit(range=place, new_text=offer.text + colon),
    )


# ---- where the word is ----------------------------------------------------------------------------------------------


def _in_template(typed: str) -> bool:
    return typed.rfind("{{") > typed.rfind("}}")


def _template_lines(typed: str, rest: str) -> Iterator[str]:
    """The line with a mark in place of the scalar that holds the template."""
    head = re.match(r"""(?P<head>.*?(?:[:,\[{-]\s+|^\s*))(?P<quote>["']?)[^"']*?\{\{""", typed)
    if head is None:
        return
    quote = head["quote"]
    if quote and quote in rest:
        yield head["head"] + MARK + rest[rest.index(quote) + 1 :]
    yield head["head"] + MARK
    yield head["head"] + MARK + _closers(head["head"])


def _lines(head: str, rest: str) -> Iterator[str]:
    """The line with a mark in place of the word, as a key and as a value, with and without what follows."""
    after = re.sub(r"^[\w.@/-]*", "", rest)
    is_value = re.search(r":\s+$|:$", head) is not None or head.rstrip().endswith(("[", '"', "'"))
    open_flow = _closers(head)
    if re.match(r"\s*:", after) and not is_value:
        yield head + MARK + after
    bodies = (MARK,) if is_value else (f"{MARK}: null", MARK)
    for body in bodies:
        yield head + body + after
        if open_flow or after.strip():
            yield head + body + open_flow
    yield head.rstrip("\"'") + MARK


def _closers(head: str) -> str:
    """The brackets that a line leaves open, to be closed."""
    waiting: list[str] = []
    for char in re.sub(r'"[^"]*"|\'[^\']*\'', "", head):
        if char in "[{":
            waiting.append("]" if char == "[" else "}")
        elif char in "]}" and waiting:
            waiting.pop()
    return "".join(reversed(waiting))


def _with_mark(buffer: Buffer, position: Position, line: str, index: ProjectIndex) -> Asked | None:
    lines = [*buffer.content.lines]
    if position.line > len(lines):
        return None
    lines[position.line - 1] = line
    text = "\n".join(lines)
    loaded = parse(buffer.path, text)
    if lost_document(loaded) is not None:
        found = readable(buffer.path, loaded, keep=position.line)
        if found is None:
            return None
        loaded = found
    at = Position(position.line, line.index(MARK) + 1)
    document = document_at(loaded, at)
    facts = None if document is None else Facts(document, kind_of(loaded, document), index)
    asked = Asked(buffer, at, index, facts)
    return asked if asked.spot is not None and asked.spot.is_scalar else None


# ---- what may stand there -------------------------------------------------------------------------------------------


def _offers(asked: Asked) -> Iterator[Offer]:
    spot, document = asked.spot, asked.document
    if spot is None or document is None:
        return
    if spot.on_key:
        yield from _fields(asked, document, spot)
        yield from _inputs_of_called(asked, document, spot)
        if len(spot.path) == 5 and spot.path[3] == "routes":
            yield from _signals(asked)
        return
    yield from (
        offer for name in asked.names if MARK in name.text and name.path == spot.path for offer in _named(name, asked)
    )
    for value, page in values_at(asked.kind, document.data, spot.path).items():
        if value != MARK:
            yield Offer(value, Kind.EnumMember, page=page)
    if spot.path and isinstance(spot.path[-1], int):
        # A list item may begin a mapping.
        for name, field in fields_at(asked.kind, document.data, spot.path).items():
            yield Offer(name, Kind.Field, page=field_page(name, field))


def _fields(asked: Asked, document: Document, spot: Spot) -> Iterator[Offer]:
    path = spot.path[:-1]
    there = _mapping_at(document, path)
    for name, field in fields_at(asked.kind, document.data, path).items():
        if name not in there:
            yield Offer(name, Kind.Field, page=field_page(name, field))


def _inputs_of_called(asked: Asked, document: Document, spot: Spot) -> Iterator[Offer]:
    """What the workflow that a step runs takes."""
    step = asked.step
    if step is None or step.kind != "Workflow" or spot.path[:-1] != (*step.path, "input"):
        return
    called = workflow_of(asked.index.workflow(text(step.data.get("workflow")) or ""))
    there = _mapping_at(document, spot.path[:-1])
    schema = mapping(called.spec.get("input")) if called is not None else {}
    required = schema.get("required")
    for name, field in mapping(schema.get("properties")).items():
        if name not in there:
            wanted = isinstance(required, list) and name in required
            page = str(mapping(field).get("description") or "")
            yield Offer(name, Kind.Field, detail="" if wanted else "optional", page=page, first=wanted)


def _mapping_at(document: Document, path: tuple[str | int, ...]) -> frozenset[str]:
    value: object = document.data
    for part in path:
        if isinstance(part, int):
            value = value[part] if isinstance(value, list) and part < len(value) else None
        else:
            value = mapping(value).get(part)
    return frozenset(mapping(value))


def _signals(asked: Asked) -> Iterator[Offer]:
    step, workflow = asked.step, asked.workflow
    if step is None or workflow is None:
        return
    for signal in sorted(possible_signals(step, workflow.spec, asked.index).known - step.routes.keys()):
        yield Offer(signal, Kind.Event, detail=f"signal of {step.id}", first=True)


def _named(name: Name, asked: Asked) -> Iterator[Offer]:
    index, role = asked.index, name.role
    match role:
        case "step":
            yield from _steps(name, asked)
        case "artifact":
            yield from _artifacts(name, index)
        case "node":
            for node in (*index.nodes.declared, *sorted(BUILT_IN_NODES)):
                yield _offer("node", node, Kind.Function, asked)
        case "key":
            yield from _keys(asked, "")
        case "AgentModel" | "Workflow" | "ModelDefinition" | "DataSource":
            for known in index.named(role):
                yield _offer(role, known, Kind.Reference, asked)
        case "signal":
            return


def _offer(role: Role, text: str, kind: types.CompletionItemKind, asked: Asked) -> Offer:
    page = page_of_name(Name(role=role, text=text, path=()), asked)
    return Offer(text, kind, page=page or "", first=True)


def _steps(name: Name, asked: Asked) -> Iterator[Offer]:
    home = asked.document if name.workflow is None else asked.index.workflow(name.workflow)
    workflow = workflow_of(home)
    if workflow is None or name.defines:
        return
    own = asked.step.id if asked.step is not None else None
    for step_id, step in workflow.by_id.items():
        if step_id != own or "routes" in name.path:
            yield Offer(
                step_id,
                Kind.Reference,
                detail=step.kind or "",
                page=str(step.data.get("description") or ""),
                first=True,
            )
    if "routes" in name.path:
        yield Offer(END, Kind.Keyword, detail="the run ends here")


def _artifacts(name: Name, index: ProjectIndex) -> Iterator[Offer]:
    wanted = SITE_TYPES.get(name.site, ())
    for views in index.artifacts.values():
        for view in views:
            if view.enabled and view.type in wanted:
                yield Offer(view.reference, Kind.File, detail=view.type, page=artifact_page(view), first=True)


def _keys(asked: Asked, typed: str) -> Iterator[Offer]:
    """The context keys that are there when the step runs; after a dot, the parts of one that are declared."""
    workflow, step = asked.workflow, asked.step
    if workflow is None or step is None:
        return
    if "." in typed:
        yield from _parts(typed.split(".")[0], step, workflow)
        return
    sure, maybe = _there(asked, step)
    for key in sorted(sure | maybe):
        if not key.startswith("_") or typed.startswith("_"):
            page = key_page(key, workflow, asked)
            on_some = "" if key in sure else "not on every way"
            yield Offer(key, Kind.Variable, detail=on_some, page=page, first=key in sure)


def _there(asked: Asked, step: StepView) -> tuple[frozenset[str], frozenset[str]]:
    """The keys that are there whenever a step runs, and those that are there on some way."""
    flow = asked.facts.keys if asked.facts else None
    places = [] if flow is None else [place for place in flow.graph.places if place.step.id == step.id]
    if flow is None or not places:
        return frozenset(), frozenset(asked.facts.setters if asked.facts else ())
    sure: set[str] | None = None
    maybe: set[str] = set()
    for place in places:
        some = {key for key in flow.graph.keys.listed(flow.possible[place.index] or 0) if key.isprintable()}
        lacking = set(flow.graph.keys.listed(flow.lacking[place.index] or 0))
        maybe |= some
        sure = some - lacking if sure is None else sure & (some - lacking)
    # A key that only the word under the cursor asks for is none.
    return frozenset(sure or ()) - {MARK}, frozenset(maybe) - {MARK}


def _parts(key: str, step: StepView, workflow: WorkflowView) -> Iterator[Offer]:
    if key == ARGUMENTS:
        agents = (other for other in workflow.steps if other.kind == "Agent")
        names = {
            name for agent in agents for use in tool_uses(agent, workflow) if use.ref == step.id for name in use.names
        }
    else:
        names = {name for schema in _schemas(key, workflow) for name in mapping(schema.get("properties"))}
    for name in sorted(names):
        yield Offer(f"{key}.{name}", Kind.Field, first=True)


def _schemas(key: str, workflow: WorkflowView) -> Iterator[Mapping[str, Any]]:
    """What is declared of the value of a context key."""
    yield mapping(mapping(mapping(workflow.spec.get("input")).get("properties")).get(key))
    for step in workflow.steps:
        outcome = mapping(step.agent.get("outcome"))
        if key == (outcome.get("write") or f"{step.id}_result"):
            yield mapping(outcome.get("schema"))

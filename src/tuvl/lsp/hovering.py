"""What is said of the place under the pointer."""

import re

from lsprotocol import types

from tuvl.analysis.graph import route_graph
from tuvl.analysis.steps import WorkflowView, mapping, text
from tuvl.lsp.asked import Asked, workflow_of
from tuvl.lsp.names import Name
from tuvl.lsp.pages import (
    artifact_page,
    check_page,
    document_page,
    field_page,
    model_page,
    node_page,
    signal_page,
    step_page,
)
from tuvl.lsp.shapes import field_at, values_at
from tuvl.source.place import Range
from tuvl.values import KeyPath

_CODE = re.compile(r"\bTV\d{3}\b")


def hover(asked: Asked) -> types.Hover | None:
    """Say what stands at a position; `None` where there is nothing to say."""
    place, page = _code(asked) or _named(asked) or _field(asked) or (None, None)
    if page is None or place is None:
        return None
    content = types.MarkupContent(kind=types.MarkupKind.Markdown, value=page)
    return types.Hover(contents=content, range=asked.buffer.content.to_range(place))


def _code(asked: Asked) -> tuple[Range, str] | None:
    """A code in a comment."""
    line, column = asked.buffer.content.line(asked.position.line), asked.position.column - 1
    for found in _CODE.finditer(line):
        if found.start() <= column <= found.end() and "#" in line[: found.start()]:
            page = check_page(found[0])
            if page is not None:
                return Range.at(asked.position.line, found.start() + 1, len(found[0])), page
    return None


def _named(asked: Asked) -> tuple[Range, str] | None:
    name, place = asked.name, asked.name_place
    page = None if name is None else page_of_name(name, asked)
    return None if page is None or place is None else (place, page)


def page_of_name(name: Name, asked: Asked) -> str | None:
    """What a name means; `None` when it means nothing that is known."""
    index = asked.index
    match name.role:
        case "step":
            return _step(name, asked)
        case "signal":
            return _signal(name, asked)
        case "key":
            return None if asked.workflow is None else key_page(name.text, asked.workflow, asked)
        case "node":
            return node_page(name.text, index)
        case "artifact":
            view = index.resolve(name.text)
            return None if view is None else artifact_page(view)
        case "AgentModel":
            return model_page(name.text, index)
        case _:
            document = index.find(name.role, name.text)
            return None if document is None or name.defines else document_page(document)


def _step(name: Name, asked: Asked) -> str | None:
    home = asked.document if name.workflow is None else asked.index.workflow(name.workflow)
    workflow = workflow_of(home)
    step = workflow.by_id.get(name.text) if workflow is not None else None
    if workflow is None or step is None:
        return None
    graph = asked.facts.graph if name.workflow is None and asked.facts else route_graph(workflow, asked.index)
    return None if graph is None else step_page(step, graph, asked.index)


def _signal(name: Name, asked: Asked) -> str | None:
    workflow = asked.workflow
    step = workflow.by_id.get(name.step) if workflow is not None else None
    return None if workflow is None or step is None else signal_page(name.text, step, workflow, asked.index)


def key_page(key: str, workflow: WorkflowView, asked: Asked) -> str:
    """A context key: who sets it."""
    lines = [_setter(path, workflow) for path in (asked.facts.setters.get(key, ()) if asked.facts else ())]
    if key == "args":
        lines.append("- the call: the arguments that the caller gives")
    if not lines:
        return f"Context key **{key}**\n\nNothing in this workflow is known to set it."
    return f"Context key **{key}**, set by\n\n" + "\n".join(lines)


def _setter(path: KeyPath, workflow: WorkflowView) -> str:
    if path[1] == "input":
        declared = mapping(mapping(workflow.spec.get("input")).get("properties")).get(str(path[-1]))
        described = text(mapping(declared).get("description"))
        return f"- the run's input{': ' + described if described else ''}"
    step = next(step for step in workflow.steps if step.index == path[2])
    return f"- step `{step.id}` ({step.kind})"


def _field(asked: Asked) -> tuple[Range, str] | None:
    spot, document = asked.spot, asked.document
    if spot is None or document is None or not spot.is_scalar or not spot.path:
        return None
    name = str(spot.path[-1])
    field = field_at(asked.kind, document.data, spot.path)
    page = None if field is None else field_page(name, field)
    if not spot.on_key:
        line = asked.buffer.content.line(spot.place.start.line)
        value = line[spot.place.start.column - 1 : spot.place.end.column - 1].strip("\"'")
        case = values_at(asked.kind, document.data, spot.path).get(value)
        if case:
            page = f"**{value}**: {case}" + (f"\n\n{page}" if page else "")
    return None if page is None else (spot.place, page)

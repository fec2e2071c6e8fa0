"""Documents that hold every field of the language, made from its schemas; not all of them could run."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from tuvl.changes.site import Doc, Side
from tuvl.project.index import ProjectIndex
from tuvl.source.document import parse_text
from tuvl.spec.shape import table
from tuvl.spec.table import AnyNode, AnyOfNode, ChoiceNode, ListNode, MapNode, Node, ObjectNode, ScalarNode
from tuvl.values import KeyPath

KINDS = ("Workflow", "Artifact", "AgentModel", "ModelDefinition", "DataSource", "ProjectConfig", "ProseFrontMatter")
NAME = "sample"


def full(kind: str) -> Iterator[dict[str, Any]]:
    """Yield documents of a kind that together hold every field, each of its alternatives included."""
    for value in _every(table(kind).root):
        if kind != "ProseFrontMatter":
            value["kind"] = kind
            value["metadata"]["name"] = NAME
        else:
            value["name"] = NAME
        value["enabled"] = True
        if kind == "Workflow":
            yield from _step_by_step(value)
        else:
            yield value


def _step_by_step(workflow: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the workflow with its first step, then each other step in a workflow with little else."""
    first, *others = workflow["spec"]["steps"]
    yield {**workflow, "spec": {**workflow["spec"], "steps": [first]}}
    for step in others:
        yield {"kind": "Workflow", "metadata": {"name": NAME}, "spec": {"steps": [step]}}


def _every(node: Node) -> Iterator[Any]:
    """Yield values of a node that together hold every alternative below it."""
    match node:
        case ObjectNode():
            yield from _objects(node)
        case ChoiceNode():
            yield from _cases(node)
        case ListNode():
            yield _numbered(list(_every(node.item)))
        case MapNode():
            yield {"first": next(_every(node.value)), "second": next(_every(node.value))}
        case AnyOfNode():
            inner = [branch for branch in node.branches if not isinstance(branch, ScalarNode)]
            for branch in inner or node.branches[:1]:
                yield from _every(branch)
        case AnyNode():
            yield "anything"
        case ScalarNode():
            yield scalar(node)


def _cases(node: ChoiceNode) -> Iterator[dict[str, Any]]:
    for case_, inner in node.cases.items():
        for value in _every(inner):
            yield {**value, node.field: case_}
    if node.otherwise is not None:
        yield from _every(node.otherwise)


def _objects(node: ObjectNode) -> Iterator[dict[str, Any]]:
    fields = {key: list(_every(inner)) for key, inner in node.fields.items()}
    for number in range(max(len(values) for values in fields.values())):
        yield {key: deepcopy(values[min(number, len(values) - 1)]) for key, values in fields.items()}


def _numbered(entries: list[Any]) -> list[Any]:
    """Give entries that have an id or a name one of their own."""
    for number, entry in enumerate(entries, 1):
        for field in ("id", "name", "ref", "as"):
            if isinstance(entry, dict) and isinstance(entry.get(field), str):
                entry[field] = f"{field}{number}"
    return entries


def scalar(node: ScalarNode, number: int = 0) -> Any:
    """Make a value of a scalar; different numbers make different ones where there are several."""
    if node.choices:
        return [value for value in node.choices if value is not None][number % len(node.choices)]
    if bool in node.types:
        return node.default is not True if not number else node.default is True
    if int in node.types:
        return 3 + number if str not in node.types else f"text{number}"
    if float in node.types:
        return 0.5 + number / 10
    return f"{{{{ text{number} }}}}" if node.pattern and "{" in node.pattern else f"text{number}"


def mutations(document: dict[str, Any]) -> Iterator[tuple[KeyPath, str, dict[str, Any]]]:
    """Yield the document with one value changed, or one key left out; each time with where and how."""
    for path in list(_paths(document, ())):
        value = _at(document, path)
        for how, other in _others(value):
            changed = deepcopy(document)
            _at(changed, path[:-1])[path[-1]] = other
            yield path, how, changed
        if isinstance(path[-1], str):
            without = deepcopy(document)
            del _at(without, path[:-1])[path[-1]]
            yield path, "left out", without


def _others(value: Any) -> Iterator[tuple[str, Any]]:
    match value:
        case bool():
            yield "turned", not value
        case int() | float():
            yield "raised", value + 5
            yield "lowered", value / 2
        case str():
            yield "another", f"{value}x"
        case list():
            yield "emptied", []
        case dict():
            yield "another type", "text"


def _paths(value: Any, path: KeyPath) -> Iterator[KeyPath]:
    if path:
        yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield from _paths(inner, (*path, key))


def _at(value: Any, path: KeyPath) -> Any:
    for key in path:
        value = value[key]
    return value


def side(folder: Path) -> Side:
    """A state of a project."""
    return Side(ProjectIndex(folder))


def doc(state: Side, data: dict[str, Any], *, prose: bool = False) -> Doc:
    """Make a document of plain data, as if it stood in a file of the project."""
    source = parse_text(json.dumps(data).encode(), file="sample.yaml")
    assert source.documents, source.problems
    return Doc(state, source.documents[0], data, "Text.\n" if prose else None)

"""Who sets a context key: the places of a workflow that bring each of them."""

from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.analysis.context import written_keys
from tuvl.analysis.steps import WorkflowView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.values import KeyPath


def setters_of(workflow: WorkflowView, project: Surroundings) -> Mapping[str, list[KeyPath]]:
    """Context key → where it is set: properties of the input, fields and ids of steps, in file order."""
    found: dict[str, list[KeyPath]] = {}
    for key, path in _setters(workflow, project):
        found.setdefault(key, []).append(path)
    return found


def _setters(workflow: WorkflowView, project: Surroundings) -> Iterator[tuple[str, KeyPath]]:
    for key in mapping(mapping(workflow.spec.get("input")).get("properties")):
        yield key, ("spec", "input", "properties", key)
    for step in workflow.steps:
        if step.kind == "ForEach":
            yield text(step.data.get("as")) or "item", (*step.path, "as")
        for key in sorted(written_keys(step, workflow, project).known):
            yield key, (*step.path, *_writing_field(step.data, key))


def _writing_field(data: Mapping[str, Any], key: str) -> KeyPath:
    """The field of a step that names a key it writes; its id, where the name comes from that or from code."""
    response, outcome = mapping(data.get("response")), mapping(mapping(data.get("agent")).get("outcome"))
    if key in mapping(data.get("values")):
        return ("values", key)
    for path, value in (
        (("response", "output_key"), response.get("output_key")),
        (("output",), data.get("output")),
        (("output_key",), data.get("output_key")),
        (("agent", "outcome", "write"), outcome.get("write")),
    ):
        if value == key:
            return path
    for index, part in enumerate(items(response.get("extract"))):
        if mapping(part).get("as") == key:
            return ("response", "extract", index, "as")
    if key in mapping(mapping(outcome.get("schema")).get("properties")):
        return ("agent", "outcome", "schema", "properties", key)
    return ("id",)

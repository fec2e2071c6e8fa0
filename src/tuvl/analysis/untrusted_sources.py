"""Where untrusted text comes into the context: step by step, which keys hold it, and which may have it from others.

Sources are the input, replies of APIs and MCP servers, the answers of models, and what people type. Values that are
closed by their type (an enum, a number, a boolean, an anchored pattern) are clean.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from tuvl.analysis.exit_writes import response_keys
from tuvl.analysis.inside import Told, outside_text
from tuvl.analysis.key_reads import KeyRead, key_reads
from tuvl.analysis.object_keys import ObjectKeys
from tuvl.analysis.schema_facts import is_closed, lists_keys
from tuvl.analysis.signals import BUILT_IN_NODES
from tuvl.analysis.spill import Path, Spill, argument_key
from tuvl.analysis.steps import StepView, WorkflowView, mapping, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.analysis.untrusted_answers import answer_spills, feedback_spills, tool_spills
from tuvl.templating.plain import plain_template

Gives = Callable[[str | None], bool]
"""Tells of a workflow, by its name, whether it gives back text that came from outside in it."""

_MOST_LISTS = 8
"""Lists inside each other that are looked into."""


def spills(
    step: StepView,
    reads: tuple[KeyRead, ...],
    workflow: WorkflowView,
    project: Surroundings,
    gives: Gives | None = None,
    depth: int = _MOST_LISTS,
) -> Iterator[Spill]:
    """Keys that may hold untrusted text once the step is done; without `gives` the workflows inside are looked at."""
    if gives is None:
        gives = partial(_gives, project=project)
    match step.kind:
        case "APICall" | "MCP":
            for key in response_keys(mapping(step.data.get("response"))):
                yield Spill(key, "reply")
        case "Agent":
            yield from answer_spills(step)
            own = partial(_of_tool, workflow=workflow, project=project, gives=gives)
            yield from tool_spills(step, workflow, own)
        case "HumanInTheLoop":
            yield from feedback_spills(step, _named(step, "output_key"))
        case "ModelOp":
            if step.data.get("operation") in ("create", "update"):
                yield Spill(_named(step, "output"), "copy", shown_reads(reads))
        case "Workflow":
            stranger = gives(text(step.data.get("workflow")))
            yield Spill(_named(step, "output_key"), "reply" if stranger else "copy", shown_reads(reads))
        case "ForEach":
            yield from _of_list(step, reads, workflow, project, gives, depth)
        case "Functional":
            yield from _of_node(step, reads, project)


def _of_tool(step: StepView, workflow: WorkflowView, project: Surroundings, gives: Gives) -> Iterator[Spill]:
    return spills(step, tuple(key_reads(step, project)), workflow, project, gives)


def _named(step: StepView, field: str) -> str:
    return text(step.data.get(field)) or f"{step.id}_result"


def shown_reads(reads: tuple[KeyRead, ...]) -> tuple[Path, ...]:
    """The dotted reads of which something can stand in what comes out, each once."""
    return tuple(dict.fromkeys(read.path for read in reads if read.shown))


def _gives(name: str | None, project: Surroundings) -> bool:
    """Whether a workflow gives back text that came from outside in it."""

    def tells(step: StepView, view: WorkflowView, known: frozenset[str]) -> Iterator[Told]:
        reads = tuple(key_reads(step, project))
        for spill in spills(step, reads, view, project, lambda inner: inner in known):
            yield Told(spill.key, spill.kind != "copy", tuple(path[0] for path in spill.sources), spill.but)

    return name is not None and outside_text(name, project, tells)


def item_spills(step: StepView, reads: tuple[KeyRead, ...]) -> Iterator[Spill]:
    """What the body of a list sees of an item: under its own name, and below `args`."""
    name = text(step.data.get("as")) or "item"
    sources = _reads_of_items(step, reads)
    source = text(step.data.get("items"))
    plain = plain_template(source) if source is not None else None
    # Any one of the items.
    alias = (*map(str, plain.single), "0") if plain is not None and plain.single else ()
    for key in (name, argument_key(name), "args"):
        yield Spill(key, "copy", sources, alias=() if key == "args" else alias, when="called")


def _reads_of_items(step: StepView, reads: tuple[KeyRead, ...]) -> tuple[Path, ...]:
    above = (*step.path, "items")
    return shown_reads(tuple(read for read in reads if read.place[: len(above)] == above))


def _of_list(
    step: StepView,
    reads: tuple[KeyRead, ...],
    workflow: WorkflowView,
    project: Surroundings,
    gives: Gives,
    depth: int,
) -> Iterator[Spill]:
    """The results of a list are what its body has set, item by item, with what the tools of an agent have set."""
    body = workflow.by_id.get(text(step.data.get("step")) or "")
    key = _named(step, "output_key")
    if body is None:
        return
    given = _reads_of_items(step, reads)
    if depth == 0 or body.kind in ("APICall", "MCP"):
        yield Spill(key, "reply")
        return
    own = tuple(key_reads(body, project))
    if body.kind == "Response":
        yield Spill(key, "copy", _around(step, given, tuple(read.path for read in own)))
    for spill in spills(body, own, workflow, project, gives, depth - 1):
        yield Spill(key, spill.kind, _around(step, given, spill.sources))


def _around(step: StepView, given: tuple[Path, ...], sources: tuple[Path, ...]) -> tuple[Path, ...]:
    """What a body reads, as it is seen around the list: the item is made of what `items` reads."""
    inner = {text(step.data.get("as")) or "item", "args"}
    outer = [path for path in sources if path[0] not in inner]
    return tuple(dict.fromkeys((*outer, *(given if len(outer) < len(sources) else ()))))


def _runs_outside(step: StepView, gives: Gives) -> bool:
    return step.kind == "Workflow" and gives(text(step.data.get("workflow")))


def gives_outside_text(step: StepView, project: Surroundings) -> bool:
    """Whether what a step gives back is, or holds, somebody else's text."""
    return step.kind in ("APICall", "MCP") or _runs_outside(step, partial(_gives, project=project))


def _of_node(step: StepView, reads: tuple[KeyRead, ...], project: Surroundings) -> Iterator[Spill]:
    runner = text(step.data.get("runner")) or ""
    if runner == "set":
        own = _reads_of_values(step, reads)
        for key, value in mapping(step.data.get("values")).items():
            plain = plain_template(value) if isinstance(value, str) else None
            alias = tuple(map(str, plain.single)) if plain is not None and plain.single else ()
            yield Spill(key, "copy", shown_reads(tuple(own.get(key, ()))), alias=alias)
        return
    node = project.nodes.declared.get(runner) if runner not in BUILT_IN_NODES else None
    if node is not None:
        sources = (*((name,) for name in node.reads or ()), *shown_reads(reads))
        for key in node.writes or ():
            yield Spill(key, "copy", sources)


def _reads_of_values(step: StepView, reads: tuple[KeyRead, ...]) -> Mapping[str | int, list[KeyRead]]:
    """What each of the values that a step sets is made of."""
    above = (*step.path, "values")
    found: dict[str | int, list[KeyRead]] = {}
    for read in reads:
        if read.place[: len(above)] == above and len(read.place) > len(above):
            found.setdefault(read.place[len(above)], []).append(read)
    return found


def open_inputs(spec: Mapping[str, Any]) -> dict[str, Any] | None:
    """Keys of the input that can hold free text, with their schemas; `None` when `spec.input` names no keys."""
    schema = mapping(spec.get("input"))
    if not lists_keys(schema):
        keys = ObjectKeys(schema)
        return None if keys.is_open or keys.named else {}
    return {name: part for name, part in mapping(schema.get("properties")).items() if not is_closed(part)}

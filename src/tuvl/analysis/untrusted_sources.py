"""Where untrusted text comes into the context: step by step, which keys hold it, and which may have it from others.

Sources are the input, replies of APIs and MCP servers, the answers of models, and what people type. Values that are
closed by their type (an enum, a number, a boolean, an anchored pattern) are clean.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Literal, TypeAlias

from tuvl.analysis.exit_writes import response_keys
from tuvl.analysis.inside import Told, outside_text
from tuvl.analysis.key_reads import KeyRead, key_reads
from tuvl.analysis.object_keys import ObjectKeys
from tuvl.analysis.parameters import tool_uses
from tuvl.analysis.schema_facts import is_closed, lists_keys
from tuvl.analysis.signals import BUILT_IN_NODES, outcomes
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.dataclass import dataclass

SourceKind: TypeAlias = Literal["input", "reply", "answer", "person", "copy"]

_FREE_ANSWERS = ("string", "text")


@dataclass(frozen=True, slots=True)
class Spill:
    """A key that a step writes with text from outside."""

    key: str
    kind: SourceKind
    sources: tuple[tuple[str, ...], ...] = ()
    """For a copy, the dotted reads it is made of."""
    schema: Mapping[str, Any] | None = None
    """What is known of the parts of the value."""
    failing: bool = False
    """Whether it is written when the step fails, rather than when it is done."""


Gives = Callable[[str | None], bool]
"""Tells of a workflow, by its name, whether it gives back text that came from outside in it."""


def spills(
    step: StepView,
    reads: tuple[KeyRead, ...],
    workflow: WorkflowView,
    project: Surroundings,
    gives: Gives | None = None,
) -> Iterator[Spill]:
    """Keys that may hold untrusted text once the step is done; without `gives` the workflows inside are looked at."""
    if gives is None:
        gives = partial(_gives, project=project)
    match step.kind:
        case "APICall" | "MCP":
            for key in response_keys(mapping(step.data.get("response"))):
                yield Spill(key, "reply")
        case "Agent":
            yield from _of_agent(step, workflow)
            yield from _of_tools(step, workflow, project, gives)
        case "HumanInTheLoop":
            if _types_freely(step):
                yield Spill(_named(step, "output_key"), "person")
        case "ModelOp":
            if step.data.get("operation") in ("create", "update"):
                yield Spill(_named(step, "output"), "copy", shown_reads(reads))
        case "Workflow":
            stranger = gives(text(step.data.get("workflow")))
            yield Spill(_named(step, "output_key"), "reply" if stranger else "copy", shown_reads(reads))
        case "ForEach":
            yield from _of_list(step, reads, workflow, gives)
        case "Functional":
            yield from _of_node(step, reads, project)


def _named(step: StepView, field: str) -> str:
    return text(step.data.get(field)) or f"{step.id}_result"


def shown_reads(reads: tuple[KeyRead, ...]) -> tuple[tuple[str, ...], ...]:
    """The dotted reads of which something can stand in what comes out, each once."""
    return tuple(dict.fromkeys(read.path for read in reads if read.shown))


def _types_freely(step: StepView) -> bool:
    fields = items(step.data.get("human_feedback"))
    return not fields or any(mapping(each).get("type", "string") in _FREE_ANSWERS for each in fields)


def _gives(name: str | None, project: Surroundings) -> bool:
    """Whether a workflow gives back text that came from outside in it."""

    def tells(step: StepView, view: WorkflowView, known: frozenset[str]) -> Iterator[Told]:
        reads = tuple(key_reads(step, project))
        for spill in spills(step, reads, view, project, lambda inner: inner in known):
            yield Told(spill.key, spill.kind != "copy", tuple(path[0] for path in spill.sources))

    return name is not None and outside_text(name, project, tells)


def _of_agent(step: StepView, workflow: WorkflowView) -> Iterator[Spill]:
    outcome = mapping(step.agent.get("outcome"))
    schema = mapping(outcome.get("schema"))
    as_json = step.mode == "completion" and (outcome.get("format") == "json" or bool(outcomes(step)))
    if (not as_json or text(outcome.get("write"))) and not is_closed(schema):
        yield Spill(text(outcome.get("write")) or f"{step.id}_result", "answer", schema=schema or None)
    if as_json:
        renamed = mapping(outcome.get("map"))
        known = mapping(schema.get("properties"))
        for field in dict.fromkeys((*renamed, *known)):
            target = renamed.get(field, field)
            if field != "outcome" and isinstance(target, str) and not is_closed(known.get(field)):
                yield Spill(target, "answer", schema=mapping(known.get(field)) or None)


def _of_tools(step: StepView, workflow: WorkflowView, project: Surroundings, gives: Gives) -> Iterator[Spill]:
    """What its tools write into the context: replies, and what the model gave them as arguments."""
    for use in tool_uses(step, workflow):
        if use.entry.get("writes_context") is not True or use.step.kind == "Agent":
            continue
        known = mapping(use.parameters.get("properties"))
        free = {name for name in use.names if not is_closed(known.get(name))}
        takes = bool(free) or not use.declared
        for spill in spills(use.step, tuple(key_reads(use.step, project)), workflow, project, gives):
            own_words = takes and (_is_node(use.step) or any(_is_argument(path, free) for path in spill.sources))
            yield Spill(spill.key, "answer") if spill.kind == "copy" and own_words else spill


def _is_node(step: StepView) -> bool:
    """Whether it is Python of the project, which sees all arguments."""
    return step.kind == "Functional" and text(step.data.get("runner")) not in BUILT_IN_NODES


def _is_argument(path: tuple[str, ...], free: set[str]) -> bool:
    return (path[1] in free if len(path) > 1 else True) if path[0] == "args" else path[0] in free


def _of_list(step: StepView, reads: tuple[KeyRead, ...], workflow: WorkflowView, gives: Gives) -> Iterator[Spill]:
    body = workflow.by_id.get(text(step.data.get("step")) or "")
    key = _named(step, "output_key")
    if body is not None and (body.kind in ("APICall", "MCP") or _runs_outside(body, gives)):
        yield Spill(key, "reply")
    elif body is not None and body.kind == "Agent" and not is_closed(mapping(body.agent.get("outcome")).get("schema")):
        yield Spill(key, "answer")
    else:
        yield Spill(key, "copy", shown_reads(reads))


def _runs_outside(step: StepView, gives: Gives) -> bool:
    return step.kind == "Workflow" and gives(text(step.data.get("workflow")))


def gives_outside_text(step: StepView, project: Surroundings) -> bool:
    """Whether what a step gives back is, or holds, somebody else's text."""
    return step.kind in ("APICall", "MCP") or _runs_outside(step, partial(_gives, project=project))


def _of_node(step: StepView, reads: tuple[KeyRead, ...], project: Surroundings) -> Iterator[Spill]:
    runner = text(step.data.get("runner")) or ""
    if runner == "set":
        own = _reads_of_values(step, reads)
        for key in mapping(step.data.get("values")):
            yield Spill(key, "copy", shown_reads(tuple(own.get(key, ()))))
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

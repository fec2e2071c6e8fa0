"""Which keys hold words of a model, or of a person: answers, what tools write on the way, arguments, feedback."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tuvl.analysis.object_keys import ObjectKeys
from tuvl.analysis.parameters import ToolUse, choices, writing_tools
from tuvl.analysis.schema_facts import is_closed
from tuvl.analysis.signals import BUILT_IN_NODES, outcomes
from tuvl.analysis.spill import OTHERS, Path, Spill
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text

_FEEDBACK: Mapping[str, Mapping[str, Any]] = {
    "boolean": {"type": "boolean"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
}


def answer_spills(step: StepView) -> Iterator[Spill]:
    """What the accepted answer of an agent sets: a JSON answer any key that its schema lets it have."""
    outcome = mapping(step.agent.get("outcome"))
    schema = mapping(outcome.get("schema"))
    whole = text(outcome.get("write"))
    as_json = step.mode == "completion" and (outcome.get("format") == "json" or bool(outcomes(step)))
    if (not as_json or whole) and not is_closed(schema):
        yield Spill(whole or f"{step.id}_result", "answer", schema=schema or None)
    if as_json:
        yield from _fields(schema, mapping(outcome.get("map")), whole)


def _fields(schema: Mapping[str, Any], renamed: Mapping[str, Any], whole: str | None) -> Iterator[Spill]:
    keys, known = ObjectKeys(schema), mapping(schema.get("properties"))
    targets: set[str] = {whole} if whole else set()
    for field in dict.fromkeys((*renamed, *sorted(keys.named))):
        target = renamed.get(field, field)
        if field == "outcome" or not isinstance(target, str) or not keys.may_have(field):
            continue
        targets.add(target)
        part = known[field] if field in known else _of_others(schema)
        if not is_closed(part):
            yield Spill(target, "answer", schema=mapping(part) or None)
    if keys.is_open and not is_closed(_of_others(schema)):
        yield Spill(OTHERS, "answer", but=frozenset({"outcome", *renamed, *targets}))


def _of_others(schema: Mapping[str, Any]) -> object:
    """What is said of fields that a schema does not name."""
    return None if schema.get("patternProperties") else schema.get("additionalProperties")


def tool_spills(step: StepView, workflow: WorkflowView, of: Callable[[StepView], Iterator[Spill]]) -> Iterator[Spill]:
    """What tools write into the context while an agent runs; `of` tells what one of their steps writes."""
    for use in writing_tools(step, workflow):
        if use.step.kind != "Agent":  # which is no tool
            for spill in of(use.step):
                yield replace(_through(use, spill), when="running")


def _through(use: ToolUse, spill: Spill) -> Spill:
    """What a step writes when a model calls it: a copy of arguments is in the model's own words."""
    if spill.kind != "copy":
        return spill
    free = choices(use)
    # Python of the project sees all arguments, and a record takes fields that no template names.
    any_of_them = _is_node(use.step) or use.step.kind == "ModelOp"
    takes = bool(free) or not use.declared or not use.checked
    if takes and (any_of_them or any(_is_argument(path, free) for path in spill.sources)):
        return Spill(spill.key, "answer")
    sources = tuple(path for path in spill.sources if path[0] != "args" and path[0] not in use.names)
    return replace(spill, sources=sources, alias=spill.alias if spill.alias in sources else ())


def _is_node(step: StepView) -> bool:
    return step.kind == "Functional" and text(step.data.get("runner")) not in BUILT_IN_NODES


def _is_argument(path: Path, free: frozenset[str]) -> bool:
    return (path[1] in free if len(path) > 1 else True) if path[0] == "args" else path[0] in free


def feedback_spills(step: StepView, key: str) -> Iterator[Spill]:
    """The answer of a person, who types freely where no list of choices is given."""
    fields = [mapping(each) for each in items(step.data.get("human_feedback"))]
    known = {str(field.get("name")): _of_feedback(field) for field in fields}
    schema = {"type": "object", "properties": known, "additionalProperties": False}
    if not fields or not is_closed(schema):
        yield Spill(key, "person", schema=schema if fields else None)


def _of_feedback(field: Mapping[str, Any]) -> Mapping[str, Any]:
    kind = field.get("type", "string")
    if kind == "choice":
        return {"enum": items(field.get("choices"))}
    return _FEEDBACK.get(kind, {}) if isinstance(kind, str) else {}

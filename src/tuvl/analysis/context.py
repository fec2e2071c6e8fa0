"""Which context keys exist where: those of the input, those a step writes, those its templates read."""

from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.analysis.references import tool_entries
from tuvl.analysis.signals import BUILT_IN_NODES, outcomes
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.analysis.templates import rendered_sites
from tuvl.dataclass import dataclass
from tuvl.templating.scan import scan

ARGUMENTS = "args"
"""Name under which a tool's templates see all arguments of the call."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Context keys that are known, and whether there may be others."""

    known: frozenset[str] = frozenset()
    open: bool = False

    def __or__(self, other: "Keys") -> "Keys":
        """The keys of both."""
        return Keys(self.known | other.known, self.open or other.open)


NO_KEYS = Keys()


def input_keys(workflow: WorkflowView) -> Keys:
    """Keys of the initial context, as `spec.input` declares them; open unless it closes itself."""
    schema = workflow.spec.get("input")
    if not isinstance(schema, dict):
        return Keys(open=True)
    properties = schema.get("properties")
    known = frozenset(properties) if isinstance(properties, dict) else frozenset()
    return Keys(known, open=schema.get("additionalProperties") is not False)


def written_keys(step: StepView, workflow: WorkflowView, project: Surroundings) -> Keys:
    """Context keys that a step sets when it runs on the spine."""
    match step.kind:
        case "Functional":
            return _written_by_node(step, project)
        case "APICall" | "MCP":
            return Keys(frozenset(_response_keys(mapping(step.data.get("response")))))
        case "ModelOp":
            return Keys(frozenset({_named(step.data.get("output"), step)}))
        case "HumanInTheLoop" | "Workflow" | "ForEach":
            return Keys(frozenset({_named(step.data.get("output_key"), step)}))
        case "Agent":
            return _written_by_agent(step, workflow, project)
        case _:
            return NO_KEYS


def _named(value: object, step: StepView) -> str:
    return text(value) or f"{step.id}_result"


def _response_keys(response: Mapping[str, Any]) -> Iterator[str]:
    for name in (response.get("output_key"), *(mapping(each).get("as") for each in items(response.get("extract")))):
        if isinstance(name, str):
            yield name


def _written_by_node(step: StepView, project: Surroundings) -> Keys:
    runner = text(step.data.get("runner")) or ""
    if runner in BUILT_IN_NODES:
        return Keys(frozenset(mapping(step.data.get("values")))) if runner == "set" else NO_KEYS
    node = project.nodes.declared.get(runner)
    return Keys(open=True) if node is None or node.writes is None else Keys(frozenset(node.writes))


def _written_by_agent(step: StepView, workflow: WorkflowView, project: Surroundings) -> Keys:
    outcome = mapping(step.agent.get("outcome"))
    written = Keys(frozenset({_named(outcome.get("write"), step)}))
    if step.mode == "completion" and (outcome.get("format") == "json" or outcomes(step)):
        renamed = mapping(outcome.get("map"))
        schema = mapping(outcome.get("schema"))
        fields = {str(renamed.get(name, name)) for name in mapping(schema.get("properties"))}
        targets = {name for name in renamed.values() if isinstance(name, str)}
        written |= Keys(frozenset(fields | targets), open=schema.get("additionalProperties") is not False)
    for _, ref, entry in tool_entries(step):
        target = workflow.by_id.get(ref)
        if entry.get("writes_context") is True and target is not None and target.kind != "Agent":
            written |= written_keys(target, workflow, project)
    return written


def keys_of_steps(workflow: WorkflowView, project: Surroundings) -> Keys:
    """Every key that the steps of the workflow may write."""
    known: set[str] = set()
    is_open = False
    for step in workflow.steps:
        written = written_keys(step, workflow, project)
        known |= written.known
        is_open = is_open or written.open
        if step.kind == "ForEach":
            known.add(text(step.data.get("as")) or "item")
    return Keys(frozenset(known), is_open)


def context_keys(workflow: WorkflowView, project: Surroundings) -> Keys:
    """Every key the context may have at any time: the input's, and what steps of the workflow write."""
    return input_keys(workflow) | keys_of_steps(workflow, project)


def template_reads(step: StepView) -> Iterator[tuple[tuple[str, ...], bool, str]]:
    """What the templates of a step read: dot path, whether a default covers its absence, and the field it stands in."""
    for site in rendered_sites(step):
        found = scan(site.text)
        for path in found.paths:
            yield path, path[0] in found.defaulted, site.field


def field_reads(step: StepView) -> Iterator[str]:
    """Context keys that fields other than templates name: a router's field, a response's source."""
    if step.kind == "Router":
        for form in ("condition", "match"):
            field = text(step.get(form, "field"))
            if field:
                yield field.split(".")[0]
    elif step.kind == "Response":
        for path in (step.data.get("source"), *mapping(step.data.get("mapping")).values()):
            if isinstance(path, str):
                yield path.split(".")[0]

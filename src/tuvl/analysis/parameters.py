"""The parameters of an agent's tools: declared in the entry, or derived from what the step's templates want."""

from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.analysis.context import ARGUMENTS, field_reads, template_reads
from tuvl.analysis.object_keys import ObjectKeys
from tuvl.analysis.references import tool_entries
from tuvl.analysis.schema_facts import is_closed
from tuvl.analysis.steps import StepView, WorkflowView, mapping
from tuvl.analysis.templates import strings
from tuvl.dataclass import dataclass
from tuvl.templating.scan import scan
from tuvl.values import JsonObject, JsonValue, KeyPath


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One entry of `agent.tools` whose step is there."""

    path: KeyPath
    """Key path of the entry."""
    ref: str
    entry: dict[str, Any]
    step: StepView
    """The step that does the work."""
    workflow: WorkflowView
    """The workflow that both stand in."""
    parameters: JsonObject
    declared: bool
    """Whether the entry gives its `parameters`; else they are derived."""
    checked: bool = True
    """Whether arguments are held against the parameters before the step runs."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arguments the model may give."""
        return tuple(mapping(self.parameters.get("properties")))

    @property
    def takes_more(self) -> bool:
        """Whether a call may have arguments that nothing names; they lie over the context as the others do."""
        return not self.checked or ObjectKeys(self.parameters).is_open

    def schema(self, name: str) -> object:
        """What every value of an argument fits; `None` where nothing is said, or nothing looks."""
        return mapping(self.parameters.get("properties")).get(name) if self.checked else None

    def free(self, *, amounts: bool = False) -> frozenset[str]:
        """Arguments that the model fills with text of its choice, or with `amounts` also with unbounded numbers."""
        return frozenset(name for name in self.names if not is_closed(self.schema(name), amounts=amounts))

    @property
    def description(self) -> str:
        """What the model reads of the tool."""
        return tool_description(self.entry, self.step)


def tool_description(entry: Mapping[str, Any], step: StepView) -> str:
    """What a model reads of a tool, by its entry and its step."""
    own, general = entry.get("description"), step.data.get("description")
    return own if isinstance(own, str) and own.strip() else general if isinstance(general, str) else ""


def tool_uses(agent: StepView, workflow: WorkflowView) -> Iterator[ToolUse]:
    """The tools of an agent, those whose step is there."""
    checked = agent.agent.get("arg_validation") != "none"
    for index, ref, entry in tool_entries(agent):
        step = workflow.by_id.get(ref)
        if step is not None:
            declared = entry.get("parameters")
            is_declared = isinstance(declared, dict)
            parameters = declared if isinstance(declared, dict) else derived_parameters(step)
            path = (*agent.path, "agent", "tools", index)
            yield ToolUse(path, ref, entry, step, workflow, parameters, is_declared, checked)


def writing_tools(agent: StepView, workflow: WorkflowView) -> Iterator[ToolUse]:
    """The tools of an agent that may set context keys while it runs."""
    return (use for use in tool_uses(agent, workflow) if use.entry.get("writes_context") is True)


def derived_parameters(step: StepView) -> JsonObject:
    """The JSON Schema of a tool whose entry declares none.

    An APICall wants its placeholders, an MCP call the argument keys that hold a template, a ModelOp its placeholders
    and a free `payload` object when it writes; any other step takes an open object. Values may have any type; a
    placeholder without a `default` is required.
    """
    properties: dict[str, JsonValue] = {}
    required: list[JsonValue] = []
    match step.kind:
        case "APICall" | "ModelOp":
            for name, optional, field in _placeholders(step):
                if name not in properties:
                    properties[name] = {"description": f"Goes into {field}."}
                if not optional and name not in required:
                    required.append(name)
            if step.kind == "ModelOp" and step.data.get("operation") in ("create", "update"):
                _add_payload(step, properties)
        case "MCP":
            for name, value in mapping(step.get("mcp", "arguments")).items():
                if _holds_template(value):
                    properties[name] = {"description": f"Goes into the argument {name}."}
                    required.append(name)
    schema: JsonObject = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return schema


def _placeholders(step: StepView) -> Iterator[tuple[str, bool, str]]:
    """Names that the step's templates want from the call, whether they may be absent, and the field they go into."""
    for path, optional, field in template_reads(step):
        name = path[0] if path[0] != ARGUMENTS else path[1] if len(path) > 1 else ""
        if name and not name.startswith("_"):
            yield name, optional, field


def _add_payload(step: StepView, properties: dict[str, JsonValue]) -> None:
    if "payload" in properties or not _holds_template(step.data.get("payload")):
        properties["payload"] = {"type": "object", "description": "Field → value of the record."}


def _holds_template(value: object) -> bool:
    return any(scan(text).names for _, text in strings(value, (), "{"))


def choices(use: ToolUse, *, amounts: bool = False) -> frozenset[str]:
    """Names under which a step may find what the model has chosen: arguments that no type closes.

    Where a call may have others beside those that are named, they are all that the step's own text looks for.
    """
    free = use.free(amounts=amounts)
    if not use.takes_more:
        return free
    plain, under, _ = argument_reads(use.step)
    return free | (plain | under).difference(use.names if use.checked else ())


def argument_reads(step: StepView) -> tuple[frozenset[str], frozenset[str], bool]:
    """How a step reads the arguments of a call: plain names, names under `args.`, and whether it takes `args` whole.

    Plain names may as well mean context keys; a name under `args.` can only be an argument.
    """
    plain: set[str] = set(field_reads(step))
    under: set[str] = set()
    whole = False
    for path, _, _ in template_reads(step):
        if path[0] != ARGUMENTS:
            plain.add(path[0])
        elif len(path) > 1:
            under.add(path[1])
        else:
            whole = True
    return frozenset(plain), frozenset(under), whole or ARGUMENTS in plain

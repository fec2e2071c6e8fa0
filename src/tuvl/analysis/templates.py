"""Where a document holds text, and what becomes of it: which strings are templates, which take `${VAR}`."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

from tuvl.analysis.fault import Fault
from tuvl.analysis.references import ARTIFACT_SCHEME
from tuvl.analysis.signals import BUILT_IN_NODES
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping
from tuvl.dataclass import dataclass
from tuvl.templating.scan import scan
from tuvl.values import KeyPath

Use: TypeAlias = Literal["template", "configuration", "literal"]
"""`template` is rendered for each run, `configuration` takes `${VAR}`, `literal` stays as it is."""

_DEEPEST = 64

CONFIGURATION_KINDS = frozenset({"AgentModel", "DataSource", "ProjectConfig"})

_BUILT_IN: Mapping[str, tuple[str, ...]] = {
    "set": ("values",),
    "wait": ("seconds",),
    "fail": ("message",),
    "log": ("message",),
}

_RENDERED: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "APICall": (("http", "url"), *(("http", part) for part in ("headers", "query", "json", "form", "body"))),
    "MCP": (("mcp", "arguments"),),
    "ModelOp": (("payload",), ("record_id",), ("filters",)),
    "HumanInTheLoop": (("ui", "title"), ("ui", "instruction"), ("auth", "assignee_user")),
    "Workflow": (("input",),),
    "ForEach": (("items",),),
    "Agent": (("agent", "conversation", "id"),),
}
"""Step kind → key paths below which every string is a template."""

_PROSE = ("system", "prompt", "steering")
_SCHEMAS = frozenset({"parameters", "schema"})


@dataclass(frozen=True, slots=True)
class TemplateSite:
    """One string of a document: where it stands, what it says, and what becomes of it."""

    path: KeyPath
    text: str
    use: Use
    step: str | None = None
    """Id of the step it belongs to."""

    @property
    def rendered(self) -> bool:
        """Whether the text is a template."""
        return self.use == "template"

    @property
    def field(self) -> str:
        """The field's name inside its step or document, e.g. `http.url`."""
        start = 3 if self.step is not None else 1 if self.path[:1] == ("spec",) else 0
        return ".".join(str(part) for part in self.path[start:])


def template_sites(data: Mapping[str, Any], kind: str | None, *, holding: str = "") -> Iterator[TemplateSite]:
    """Every string below `spec:` of a document that holds a text, in file order.

    JSON Schemas are left out: they are data.
    """
    if kind == "Workflow":
        yield from _workflow_sites(WorkflowView(data), holding)
        return
    spec = mapping(data.get("spec"))
    configured = kind in CONFIGURATION_KINDS or (kind == "Artifact" and spec.get("type") == "mcp")
    use: Use = "configuration" if configured else "literal"
    for path, text in strings(spec, ("spec",), holding):
        yield TemplateSite(path, text, use)


def _workflow_sites(workflow: WorkflowView, holding: str) -> Iterator[TemplateSite]:
    for name, value in workflow.spec.items():
        if name not in ("steps", "input"):
            for path, text in strings(value, ("spec", name), holding):
                yield TemplateSite(path, text, "literal")
    for step in workflow.steps:
        yield from step_sites(step, holding=holding)


def step_sites(step: StepView, *, holding: str = "") -> Iterator[TemplateSite]:
    """Every string of a step that holds a text, in file order."""
    rendered = _rendered_paths(step)
    for path, text in strings(step.data, (), holding):
        use: Use = "literal"
        if any(path[: len(prefix)] == prefix for prefix in rendered):
            use = "template"
        elif path[:2] == ("http", "auth"):
            use = "configuration"
        if use == "literal" or not text.startswith(ARTIFACT_SCHEME):
            yield TemplateSite((*step.path, *path), text, use, step.id)


def rendered_sites(step: StepView) -> Iterator[TemplateSite]:
    """The templates of a step, in the order of its fields; inline prose of an agent is among them."""
    for prefix in _rendered_paths(step):
        for path, text in strings(_at(step.data, prefix), prefix):
            if not text.startswith(ARTIFACT_SCHEME):
                yield TemplateSite((*step.path, *path), text, "template", step.id)


def bad_templates(step: StepView) -> Iterator[Fault]:
    """Templates of a step that cannot be rendered, whatever the context is."""
    for site in rendered_sites(step):
        for problem in scan(site.text).problems:
            yield Fault(site.path, f"template in `{site.field}` of step {step.id!r}: {problem}")


def _rendered_paths(step: StepView) -> list[KeyPath]:
    paths: list[KeyPath] = [("idempotency_key",)]
    match step.kind:
        case "Functional":
            runner = step.data.get("runner")
            built_in = isinstance(runner, str) and runner in BUILT_IN_NODES
            paths.extend((name,) for name in (_BUILT_IN[str(runner)] if built_in else ("params",)))
        case "Router":
            paths.extend(("when", index, "if") for index in range(len(items(step.data.get("when")))))
        case "Agent":
            paths.extend(("agent", name) for name in _PROSE)
            paths.append(("agent", "skills"))
            tools = items(step.agent.get("tools"))
            paths.extend(("agent", "tools", index, "approval") for index in range(len(tools)))
    paths.extend(_RENDERED.get(step.kind or "", ()))
    return paths


def _at(value: object, path: KeyPath) -> object:
    for part in path:
        if isinstance(part, int):
            value = value[part] if isinstance(value, list) and part < len(value) else None
        else:
            value = mapping(value).get(part)
    return value


def strings(value: object, path: KeyPath, holding: str = "") -> Iterator[tuple[KeyPath, str]]:
    """The strings anywhere in a value that hold a text, with their key paths, in order.

    JSON Schemas of an agent are passed over, and so is what is nested deeper than any honest document.
    """
    waiting: list[tuple[KeyPath, object]] = [(path, value)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, str):
            if holding in value:
                yield path, value
        elif len(path) > _DEEPEST:
            continue
        elif isinstance(value, dict):
            in_agent = "agent" in path
            waiting.extend(
                ((*path, key), item)
                for key, item in reversed(value.items())
                if not (in_agent and key in _SCHEMAS and isinstance(item, dict))
            )
        elif isinstance(value, list):
            waiting.extend(((*path, index), value[index]) for index in range(len(value) - 1, -1, -1))

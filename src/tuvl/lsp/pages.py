"""What is said of a thing in a few lines of markdown: steps, artifacts, models, nodes, keys, fields, checks."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.analysis.effects import effects_of
from tuvl.analysis.graph import RouteGraph
from tuvl.analysis.language_models import model_facts
from tuvl.analysis.references import tool_entries
from tuvl.analysis.signals import SignalSet, possible_signals
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text
from tuvl.artifacts.registry import ArtifactView
from tuvl.check.explaining import page_of
from tuvl.errors import UsageError
from tuvl.project.index import ProjectIndex
from tuvl.source.document import Document
from tuvl.values import shorten

LINES_OF_PROSE = 8
"""Lines that are shown of an artifact's text."""

_MILLION = 1_000_000


def check_page(code: str) -> str | None:
    """The page of a check; `None` when there is none of that code."""
    try:
        page = page_of(code)
    except UsageError:
        return None
    return "\n\n".join([f"**{page.code} {page.name}** · {page.severity.value}", *page.paragraphs])


def step_page(step: StepView, graph: RouteGraph, index: ProjectIndex) -> str:
    """A step: kind, effects, where its signals lead, and what it may call."""
    kind = f"{step.kind}, {step.mode}" if step.kind == "Agent" and step.mode else step.kind or "no kind"
    where = " · off the spine: only others call it" if step.id in graph.off_spine else ""
    lines = [f"**{step.id}** · {kind} · {effects_of(step, index)}{where}"]
    described = text(step.data.get("description"))
    if described:
        lines.append(described)
    if step.id in graph.edges:
        lines.append("\n".join(_ways(step, graph)))
    tools = [f"`{ref}`" for _, ref, _ in tool_entries(step)]
    if tools:
        lines.append(f"Tools: {', '.join(tools)}")
    callers = sorted({each.owner for each in graph.references if each.target == step.id})
    if callers:
        lines.append(f"Called by: {', '.join(f'`{caller}`' for caller in callers)}")
    return "\n\n".join(lines)


def _ways(step: StepView, graph: RouteGraph) -> Iterator[str]:
    for signal, target in graph.edges[step.id].items():
        through = " (the next step)" if graph.falls_through(step.id) and signal == "default" else ""
        yield f"- `{signal}` → `{target}`{through}"
    known = graph.signals[step.id].known
    for signal in sorted(known - graph.edges[step.id].keys()):
        yield f"- `{signal}`: no route"


def signal_page(signal: str, step: StepView, workflow: WorkflowView, index: ProjectIndex) -> str:
    """A signal of a step: whether it can come, and where it leads."""
    can = possible_signals(step, workflow.spec, index)
    target = step.routes.get(signal)
    leads = f"leads to `{target}`" if target else "has no route"
    return f"Signal **{signal}** of `{step.id}` {leads}. {_may_come(signal, can)}"


def _may_come(signal: str, can: SignalSet) -> str:
    if signal in can.known:
        return "The step can return it."
    return "The step may return it: its signals are not declared." if can.open else "The step never returns it."


def artifact_page(view: ArtifactView) -> str:
    """An artifact: type, version, what it says of itself, and the first lines of it."""
    state = "" if view.enabled else " · disabled"
    lines = [f"**{view.reference}** · {view.type}{state}"]
    if view.description:
        lines.append(view.description)
    if view.body is not None:
        shown = view.body.strip().splitlines()
        more = "\n…" if len(shown) > LINES_OF_PROSE else ""
        lines.append(_fenced("\n".join(shown[:LINES_OF_PROSE]) + more))
    elif view.type == "guardrail":
        checks = [str(mapping(check).get("check")) for check in items(view.data.get("checks"))]
        lines.append(f"Checks: {', '.join(f'`{check}`' for check in checks)}")
    elif view.type == "hook":
        lines.append(f"On `{view.data.get('on')}`: `{view.data.get('action')}`")
    elif view.type == "mcp":
        lines.append(f"Transport: `{view.data.get('transport')}`")
    return "\n\n".join(lines)


def _fenced(body: str) -> str:
    ticks = "```"
    while ticks in body:
        ticks += "`"
    return f"{ticks}markdown\n{body}\n{ticks}"


def model_page(name: str, index: ProjectIndex) -> str | None:
    """A language model: provider, model, price and window; `None` for a name that means nothing."""
    facts = model_facts(name, index)
    preset = index.preset(name)
    if preset is None and not facts.priced:
        return None
    spec = mapping(mapping(preset.data).get("spec")) if preset is not None else {}
    lines = [f"**{name}** · {spec.get('provider', 'LiteLLM')} · `{spec.get('model', name)}`"]
    described = _described(preset)
    if described:
        lines.append(described)
    if facts.input_price is None or facts.output_price is None:
        lines.append("Price: unknown")
    else:
        dear, cheap = facts.output_price * _MILLION, facts.input_price * _MILLION
        lines.append(f"Price: ${cheap:g} a million input tokens, ${dear:g} a million output tokens")
    if facts.window is not None:
        lines.append(f"Context window: {facts.window:,} tokens")
    return "\n\n".join(lines)


def document_page(document: Document) -> str:
    """A workflow, a data model or a data source."""
    data, spec = mapping(document.data), mapping(mapping(document.data).get("spec"))
    lines = [f"**{mapping(data.get('metadata')).get('name')}** · {document.kind}"]
    described = _described(document)
    if described:
        lines.append(described)
    match document.kind:
        case "Workflow":
            lines.append(f"{len(items(spec.get('steps')))} steps")
            given = mapping(mapping(spec.get("input")).get("properties"))
            if given:
                lines.append(f"Input: {', '.join(f'`{name}`' for name in given)}")
        case "ModelDefinition":
            fields = [mapping(field) for field in items(spec.get("fields"))]
            lines.append("\n".join(f"- `{field.get('name')}`: {field.get('type')}" for field in fields))
        case "DataSource":
            lines.append(f"Type: `{spec.get('type')}`")
    return "\n\n".join(lines)


def _described(document: Document | None) -> str | None:
    return None if document is None else text(mapping(mapping(document.data).get("metadata")).get("description"))


def node_page(name: str, index: ProjectIndex) -> str | None:
    """A custom node, as its decorator declares it; `None` when there is none."""
    node = index.nodes.declared.get(name)
    if node is None:
        return None
    lines = [f"**{node.name}** · {'async ' if node.is_async else ''}node · `{node.file}:{node.line}`"]
    declared = [
        (word, values)
        for word, values in (("reads", node.reads), ("writes", node.writes), ("signals", node.signals))
        if values is not None
    ]
    lines += [f"{word}: {', '.join(f'`{value}`' for value in values) or 'nothing'}" for word, values in declared]
    lines.append(f"effects: {node.effects or 'not declared, so `write`'}")
    return "\n\n".join(lines)


def field_page(name: str, field: Mapping[str, Any]) -> str:
    """A field of the language."""
    about = [part for part in (_type(field), _default(field)) if part]
    head = f"**{name}**" + (f" · {' · '.join(about)}" if about else "")
    return f"{head}\n\n{field.get('description', '')}".rstrip()


def _type(field: Mapping[str, Any]) -> str:
    if "enum" in field:
        return " or ".join(f"`{json.dumps(value) if value is None else value}`" for value in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(filter(None, map(_type, field["anyOf"]))))
    if "$ref" in field or "x-choice" in field:
        return "mapping"
    types = field.get("type")
    return " or ".join(types) if isinstance(types, list) else types or ""


def _default(field: Mapping[str, Any]) -> str:
    return f"default `{shorten(json.dumps(field['default']), 40)}`" if "default" in field else ""

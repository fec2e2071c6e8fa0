"""`tuvl run --dry-run`: the plan of a run as data. Nothing is run or called; of the environment only names are read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from urllib.parse import urlsplit

from tuvl.analysis.steps import WorkflowView, mapping
from tuvl.plan.model import (
    AgentLimits,
    AgentPlan,
    ApiCallPlan,
    ExecutionPlan,
    ForEachPlan,
    McpPlan,
    ModelPlan,
    RunLimits,
    StepPlan,
    SubWorkflowPlan,
)
from tuvl.project.index import ProjectIndex
from tuvl.source.document import Document
from tuvl.spec.artifact import RemoteServer, StdioServer
from tuvl.spec.signals import DEFAULT, END
from tuvl.spec.variables import variables
from tuvl.tools.tool import ToolPlan
from tuvl.values import JsonObject, JsonValue


def plan_document(
    plan: ExecutionPlan, document: Document, project: ProjectIndex, environ: Mapping[str, str]
) -> JsonObject:
    """Describe a plan as one JSON document: what would run, which models and hosts it would call, what it needs."""
    models = _models(plan)
    schema = plan.input_schema.schema if plan.input_schema else {}
    return {
        "workflow": plan.workflow,
        "schema_version": plan.schema_version,
        "entry": plan.entry,
        "input": {"required": schema.get("required", []), "properties": list(mapping(schema.get("properties")))},
        "limits": _limits(plan.limits),
        "steps": [_step(step, plan) for step in plan.steps.values()],
        "models": [_model(model) for model in models.values()],
        "programs": list(dict.fromkeys(_programs(plan))),
        "hosts": list(dict.fromkeys(_hosts(plan, models))),
        "environment": _environment(_documents(plan, document, project), project, models, environ),
        "refusals": list(plan.refusals),
    }


def _limits(limits: RunLimits | AgentLimits) -> JsonObject:
    return {field.name: getattr(limits, field.name) for field in fields(limits) if not field.name.endswith("_field")}


def _step(step: StepPlan, plan: ExecutionPlan) -> JsonObject:
    found: JsonObject = {"id": step.id, "kind": step.kind, "effects": step.effects, "timeout_s": step.timeout_s}
    match step.action:
        case SubWorkflowPlan(plan=inner):
            found["workflow"] = inner.workflow
        case ForEachPlan() as each:
            found |= {"body": each.step, "concurrency": each.concurrency, "max_items": each.max_items}
        case _:
            pass
    if step.required_scope is not None or step.required_group is not None:
        found["needs"] = {"scope": step.required_scope, "group": step.required_group}
    role = _roles(plan).get(step.id)
    if role is not None:
        return {**found, role: True}
    routes: JsonObject = dict(step.routes)
    if DEFAULT not in routes and _can_fall_through(step):
        routes[DEFAULT] = step.next or END
    found["routes"] = routes
    if isinstance(step.action, AgentPlan):
        found["agent"] = _agent(step.action, plan)
    return found


def _roles(plan: ExecutionPlan) -> dict[str, str]:
    """Return what steps are for that no route leads to: tools, helpers of agents, bodies of lists."""
    roles: dict[str, str] = {}
    for other in plan.steps.values():
        match other.action:
            case AgentPlan() as agent:
                roles |= dict.fromkeys(_helpers(agent), "helper")
                roles |= dict.fromkeys((tool.ref for tool in agent.tools), "tool")
            case ForEachPlan() as each:
                roles[each.step] = "item_step"
            case _:
                pass
    return roles


def _helpers(agent: AgentPlan) -> Iterator[str]:
    asked = [agent.trim, agent.tool_surface, agent.continue_on_stop]
    if agent.reserve is not None:
        asked += [agent.reserve.reserve, agent.reserve.refund, agent.reserve.observe_request]
    return (name for name in asked if name is not None)


def _can_fall_through(step: StepPlan) -> bool:
    return not (isinstance(step.action, AgentPlan) and step.action.outcome.enum)


def _agent(agent: AgentPlan, plan: ExecutionPlan) -> JsonObject:
    found: JsonObject = {"mode": agent.mode, "model": agent.model.name, "call_timeout_s": agent.timeout_s}
    found["attempts"] = agent.retry.attempts
    if agent.mode == "autonomous":
        found |= {"bounds": _limits(agent.limits), "tools": [_tool(tool, plan.steps[tool.ref]) for tool in agent.tools]}
    return found


def _tool(tool: ToolPlan, step: StepPlan) -> JsonObject:
    return {
        "name": tool.spec.name,
        "step": tool.ref,
        "kind": tool.kind,
        "effects": step.effects,
        "writes_context": tool.writes_context,
        "max_calls": tool.max_calls,
        "approval": None if tool.approval is None else tool.approval.reason,
        "timeout_s": tool.timeout_s,
    }


def _models(plan: ExecutionPlan) -> dict[str, ModelPlan]:
    found: dict[str, ModelPlan] = {}
    for step in _all_steps(plan):
        if isinstance(step.action, AgentPlan):
            found[step.action.model.name] = step.action.model
            compaction = step.action.compaction
            if compaction is not None and compaction.model is not None:
                found[compaction.model.name] = compaction.model
    return found


def _all_steps(plan: ExecutionPlan) -> Iterator[StepPlan]:
    """Yield the steps of the plan and of the workflows that it runs inside."""
    for each in plan.with_nested():
        yield from each.steps.values()


def _model(model: ModelPlan) -> JsonObject:
    spec = model.preset.spec if model.preset is not None else None
    price = spec.price if spec is not None else None
    provider, _, name = model.name.partition("/")
    return {
        "name": model.name,
        "provider": spec.provider if spec is not None else provider,
        "model": spec.model if spec is not None else name,
        "scripted": spec is not None and spec.provider == "scripted",
        "price": None if price is None else price.model_dump(mode="json", exclude_none=True),
    }


def _hosts(plan: ExecutionPlan, models: Mapping[str, ModelPlan]) -> Iterator[str]:
    for step in _all_steps(plan):
        if isinstance(step.action, ApiCallPlan):
            yield "from a template" if step.action.url.host_is_templated else _host(step.action.url.source)
        if isinstance(step.action, McpPlan) and isinstance(step.action.server.spec, RemoteServer):
            yield _host(step.action.server.spec.url)
    for model in models.values():
        if model.preset is not None and model.preset.spec.api_base:
            yield _host(model.preset.spec.api_base)


def _programs(plan: ExecutionPlan) -> Iterator[str]:
    """Yield the MCP servers that the run would start, as their artifacts write them."""
    for step in _all_steps(plan):
        if isinstance(step.action, McpPlan) and isinstance(step.action.server.spec, StdioServer):
            spec = step.action.server.spec
            yield " ".join((spec.command, *spec.args))


def _host(url: str) -> str:
    # The part behind an `@`: what stands before it may be a password.
    return urlsplit(url).netloc.rpartition("@")[2] or url


def _documents(plan: ExecutionPlan, document: Document, project: ProjectIndex) -> list[Document]:
    inner = (project.workflow(each.workflow) for each in plan.with_nested()[1:])
    return [document, *(found for found in inner if found is not None)]


def _environment(
    documents: Sequence[Document], project: ProjectIndex, models: Mapping[str, ModelPlan], environ: Mapping[str, str]
) -> list[JsonValue]:
    """List the variables that the documents of this run read, each once, with the first file that reads it."""
    found: dict[str, JsonValue] = {}
    for file, data in _configuration(documents, project, models):
        for variable in variables(data):
            needed = variable.default is None
            entry: JsonValue = {
                "name": variable.name,
                "needed": needed,
                "set": variable.name in environ,
                "read_by": file,
            }
            if variable.name not in found or needed:
                found[variable.name] = entry
    return list(found.values())


def _configuration(
    documents: Sequence[Document], project: ProjectIndex, models: Mapping[str, ModelPlan]
) -> Iterator[tuple[str, JsonValue]]:
    for document in documents:
        for step in WorkflowView(mapping(document.data)).steps:
            yield document.file, step.get("http", "auth")
            server = project.resolve(str(step.get("mcp", "server"))) if step.kind == "MCP" else None
            if server is not None:
                yield server.file, server.document.data
    for name in models:
        preset = project.preset(name)
        if preset is not None:
            yield preset.file, preset.data
    if project.config_document is not None:
        yield project.config_document.file, project.config_document.data

"""Whether text that a model writes leaves the house by what a tool sends, whatever the tool is there for."""

from tuvl.analysis.answered import Unanswered
from tuvl.analysis.context import ARGUMENTS
from tuvl.analysis.parameters import ToolUse, argument_reads, choices
from tuvl.analysis.steps import StepView, WorkflowView, mapping, text
from tuvl.analysis.surroundings import Surroundings, spec_of
from tuvl.analysis.templates import strings
from tuvl.analysis.urls import url_of
from tuvl.templating.scan import scan

_REMOTE = ("http", "sse")
_DEEPEST = 8


def sends_words(use: ToolUse, workflow: WorkflowView, project: Surroundings) -> bool:
    """Whether a call of a tool carries words of the model's choice to a host outside: in a URL, a query, a body."""
    free = set(choices(use))
    return bool(free) and _sends(use.step, {*free, ARGUMENTS}, free, workflow, project, _DEEPEST)


def host_of(step: StepView) -> tuple[str, int] | None:
    """The host and the port that an APICall asks, when its text tells them."""
    url = url_of(step)
    return None if url is None else (url.host, url.port)


def _sends(
    step: StepView, names: set[str], arguments: set[str], workflow: WorkflowView, project: Surroundings, depth: int
) -> bool:
    """Whether a step sends out what it reads under one of the names; `arguments` are those below `args`."""
    if depth == 0:
        return False
    match step.kind:
        case "APICall" | "MCP":
            return _leads_outside(step, project) and _reads(step, names, arguments)
        case "ForEach":
            body = workflow.by_id.get(text(step.data.get("step")) or "")
            # Around a list, the arguments stay in sight, beside the item and below `args`.
            given = _tells(step.data.get("items"), names, arguments)
            item = {text(step.data.get("as")) or "item"} if given else set[str]()
            return body is not None and _sends(body, names | item, arguments | item, workflow, project, depth - 1)
        case "Workflow":
            return _sent_inside(step, names, arguments, project, depth)
        case _:
            return False


def _sent_inside(step: StepView, names: set[str], arguments: set[str], project: Surroundings, depth: int) -> bool:
    """Whether a workflow sends out what a step hands over to it, before a person has decided."""
    given = {key for key, value in mapping(step.data.get("input")).items() if _tells(value, names, arguments)}
    name = text(step.data.get("workflow"))
    look = Unanswered(project)
    unasked = look.of(name) if given else None
    if unasked is None:
        return False
    inner = unasked.graph.workflow
    return any(_sends(each, given, set(), inner, project, depth - 1) for each in look.steps(unasked))


def _reads(step: StepView, names: set[str], arguments: set[str]) -> bool:
    plain, under, whole = argument_reads(step)
    return bool(plain & names or under & arguments) or (whole and ARGUMENTS in names)


def _tells(value: object, names: set[str], arguments: set[str]) -> bool:
    """Whether a value, or a template in it, has words of one of the names."""
    return any(_is_one(path, names, arguments) for _, source in strings(value, (), "{") for path in scan(source).shown)


def _is_one(path: tuple[str, ...], names: set[str], arguments: set[str]) -> bool:
    if path[0] == ARGUMENTS and len(path) > 1:
        return path[1] in arguments
    return path[0] in names


def _leads_outside(step: StepView, project: Surroundings) -> bool:
    """Whether what a call sends goes to another machine; a server that is a program here is not known to pass it on."""
    if step.kind == "APICall":
        url = url_of(step)
        return url is None or not url.loopback
    reference = text(step.get("mcp", "server"))
    server = project.resolve(reference) if reference else None
    spec = spec_of(server.data) if server is not None else {}
    return spec.get("transport") in _REMOTE

"""What the tools of an agent can do, and what stands between untrusted text and that."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

from tuvl.analysis.answered import acts_unasked
from tuvl.analysis.approvals import always_asks, asks_at_times
from tuvl.analysis.context import ARGUMENTS
from tuvl.analysis.egress import sends_words
from tuvl.analysis.parameters import ToolUse, argument_reads, choices, tool_uses
from tuvl.analysis.signals import BUILT_IN_NODES
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings, spec_of
from tuvl.analysis.untrusted_sources import gives_outside_text
from tuvl.dataclass import dataclass
from tuvl.http.url_parts import UrlSyntaxError, host_is_templated
from tuvl.templating.scan import scan

Site: TypeAlias = Literal["input", "tools", "output"]

OUTSIDE = ("APICall", "MCP")
"""Kinds of steps whose results are somebody else's text."""

_SAYS_NOTHING = frozenset({"$comment", "$defs", "$id", "$schema", "default", "description", "examples", "title"})
"""Keywords of a JSON Schema that refuse no value."""


@dataclass(frozen=True, slots=True)
class Guard:
    """One guardrail of an agent, with its checks."""

    index: int
    reference: str
    checks: tuple[Mapping[str, Any], ...]


def guards(step: StepView, site: Site, project: Surroundings) -> list[Guard]:
    """The guardrails at a site of an agent; one that is not found has no checks."""
    found = []
    for index, reference in enumerate(items(mapping(step.agent.get("guardrails")).get(site))):
        artifact = project.resolve(reference) if isinstance(reference, str) else None
        checks = items(spec_of(artifact.data).get("checks")) if artifact is not None else []
        found.append(Guard(index, str(reference), tuple(map(mapping, checks))))
    return found


def gates(step: StepView, site: Site, project: Surroundings) -> list[Guard]:
    """The guardrails at a site that can refuse a text for what it says; masks and lengths refuse no words.

    One that is not found counts: it is told as a mistake of its own, and the file says what is meant.
    """
    return [guard for guard in guards(step, site, project) if not guard.checks or any(map(_refuses, guard.checks))]


def _refuses(check: Mapping[str, Any]) -> bool:
    return check.get("check") == "llm_judge" or _needs_no_model(check)


def _needs_no_model(check: Mapping[str, Any]) -> bool:
    match check.get("check"):
        case "regex_deny":
            return bool(items(check.get("patterns")))
        case "json_schema":
            schema = check.get("schema")
            return schema is not True and not (isinstance(schema, dict) and schema.keys() <= _SAYS_NOTHING)
        case _:
            return False


def fails_open(found: list[Guard]) -> Guard | None:
    """The guardrail with the judge that everything depends on, if it lets pass what it cannot judge."""
    judging: Guard | None = None
    for guard in found:
        for check in guard.checks:
            is_judge = check.get("check") == "llm_judge"
            if _needs_no_model(check) or (is_judge and check.get("on_judge_error") == "violation"):
                return None
            if is_judge:
                judging = judging or guard
    return judging


def acting_tools(step: StepView, workflow: WorkflowView, project: Surroundings) -> list[ToolUse]:
    """Tools with which an agent can act outside, unasked, with words or amounts of its own choice.

    A call that only reads acts as well where it takes words: it carries out whatever the model has seen.
    """
    return [
        use
        for use in tool_uses(step, workflow)
        if not always_asks(use, project)
        and takes_its_choice(use, amounts=True)
        and (not only_sends(use, project) or sends_words(use, workflow, project))
    ]


def only_sends(use: ToolUse, project: Surroundings) -> bool:
    """Whether the most a tool can do outside unasked is to tell something there, at a host of the author's choice."""
    return not acts_unasked(use.step, use.workflow, project) and not _chooses_host(use.step)


def takes_its_choice(use: ToolUse, *, amounts: bool) -> bool:
    """Whether a model decides with free text, or with `amounts` also with unbounded numbers, what a tool does."""
    if not use.declared:
        return use.step.kind not in OUTSIDE or bool(use.names)
    free = choices(use)
    if amounts:
        free |= choices(use, amounts=True) - _weighed(use)
    if use.step.kind in (*OUTSIDE, "ModelOp") or text(use.step.data.get("runner")) in BUILT_IN_NODES:
        plain, under, whole = argument_reads(use.step)
        return bool(free) if whole else bool(free & (plain | under))
    return bool(free) or not use.checked


def _weighed(use: ToolUse) -> frozenset[str]:
    """Arguments that an approval looks at: below what a person is asked about, an amount is the author's choice."""
    if not asks_at_times(use):
        return frozenset()
    paths = scan(text(use.entry.get("approval")) or "").paths
    return frozenset(name for path in paths for name in path[: 2 if path[0] == ARGUMENTS else 1])


def _chooses_host(step: StepView) -> bool:
    url = step.get("http", "url")
    if step.kind != "APICall" or not isinstance(url, str):
        return False
    try:
        return host_is_templated(url)
    except UrlSyntaxError:
        return False


def outside_tools(step: StepView, workflow: WorkflowView, project: Surroundings) -> Iterator[ToolUse]:
    """Tools whose results are, or hold, somebody else's text."""
    return (use for use in tool_uses(step, workflow) if gives_outside_text(use.step, project))

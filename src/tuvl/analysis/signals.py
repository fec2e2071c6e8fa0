"""Which signals a step can return."""

from collections.abc import Callable, Mapping
from typing import Any

from tuvl.analysis.steps import StepView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings, spec_of
from tuvl.dataclass import dataclass
from tuvl.spec.signals import DEFAULT, ERROR, RESERVED_EXITS, Reserved

ABORTED = Reserved.ABORTED.value
GUARDRAIL_VIOLATION = Reserved.GUARDRAIL_VIOLATION.value
BUDGET_EXCEEDED = Reserved.BUDGET_EXCEEDED.value
MAX_ITERATIONS = Reserved.MAX_ITERATIONS.value
PARSE_ERROR = "parse_error"
TIMEOUT = "timeout"

FAILURES: frozenset[str] = RESERVED_EXITS | {PARSE_ERROR, TIMEOUT}
"""Signals that say a step went wrong or was cut short; all others are decisions or success."""

ENDS_CLEANLY: frozenset[str] = frozenset({ERROR, ABORTED})
"""Signals that end the run cleanly, as failed or aborted, when no route maps them."""

BUILT_IN_NODES: frozenset[str] = frozenset({"set", "wait", "fail", "log"})
"""Functional runners that come with tuvl."""

_AGENT_BUDGETS = ("token_budget", "cost_budget_usd", "max_wall_clock_s", "max_tool_calls")
_RUN_BUDGETS = ("max_tokens", "max_cost_usd", "timeout_s")
_POLICY_BUDGETS = ("max_cost_usd_per_run", "max_tokens_per_run")


@dataclass(frozen=True, slots=True)
class SignalSet:
    """Signals a step can return: those known, and whether there may be others."""

    known: frozenset[str]
    open: bool = False

    def may_be(self, signal: str) -> bool:
        """Whether the step can return this signal."""
        return self.open or signal in self.known


def possible_signals(step: StepView, workflow: Mapping[str, Any], project: Surroundings) -> SignalSet:
    """Signals the step can return on the spine; `workflow` is the `spec:` it belongs to.

    A step of an unknown kind, a node without declared signals and a router on a free value are *open*.
    """
    signals = _BY_KIND.get(step.kind or "")
    return signals(step, workflow, project) if signals else SignalSet(frozenset({DEFAULT, ERROR, ABORTED}), open=True)


def outcomes(step: StepView) -> tuple[str, ...]:
    """The author's outcomes of an agent: texts in `outcome.enum`, in order, each once."""
    values = items(mapping(step.agent.get("outcome")).get("enum"))
    return tuple(dict.fromkeys(value for value in values if isinstance(value, str) and value))


def guarded(step: StepView) -> bool:
    """Whether any guardrail is attached to the agent."""
    return any(isinstance(site, list) and site for site in mapping(step.agent.get("guardrails")).values())


def budgeted(step: StepView, workflow: Mapping[str, Any], project: Surroundings) -> bool:
    """Whether any bound can end the agent with `budget_exceeded`: its own, the run's, or the project's policy."""
    limits = mapping(workflow.get("limits"))
    policy = mapping(spec_of(project.config).get("policy"))
    return (
        any(step.agent.get(name) is not None for name in _AGENT_BUDGETS)
        or any(limits.get(name) is not None for name in _RUN_BUDGETS)
        or any(policy.get(name) is not None for name in _POLICY_BUDGETS)
    )


def when_signals(step: StepView) -> tuple[str, ...]:
    """Signals that the `when:` cases of a router name, in order, each once."""
    named = (text(mapping(case).get("signal")) for case in items(step.data.get("when")))
    return tuple(dict.fromkeys(signal for signal in named if signal))


def feedback_choices(step: StepView) -> tuple[str, ...] | None:
    """Values of the answer that `signal_from` names, as signals; `None` when they are not a closed set."""
    source = step.data.get("signal_from")
    for entry in items(step.data.get("human_feedback")):
        answer = mapping(entry)
        if answer.get("name") != source:
            continue
        if answer.get("type") == "boolean":
            return ("true", "false")
        choices = answer.get("choices")
        return tuple(_as_signal(choice) for choice in choices) if isinstance(choices, list) else None
    return None


def _as_signal(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)


def _functional(step: StepView, workflow: Mapping[str, Any], project: Surroundings) -> SignalSet:
    runner = text(step.data.get("runner"))
    match runner:
        case "set" | "log":
            return SignalSet(frozenset({DEFAULT, ERROR}))
        case "wait":
            return SignalSet(frozenset({DEFAULT, ERROR, ABORTED}))
        case "fail":
            return SignalSet(frozenset({ERROR}))
    node = project.nodes.declared.get(runner) if runner else None
    if node is None or node.signals is None:
        return SignalSet(frozenset({DEFAULT, ERROR, ABORTED}), open=True)
    return SignalSet(frozenset({*node.signals, ERROR, ABORTED}))


def _plain(step: StepView, workflow: Mapping[str, Any], project: Surroundings) -> SignalSet:
    return SignalSet(frozenset({DEFAULT, ERROR, ABORTED}))


def _response(step: StepView, workflow: Mapping[str, Any], project: Surroundings) -> SignalSet:
    return SignalSet(frozenset({DEFAULT, ERROR}))


def _router(step: StepView, workflow: Mapping[str, Any], project: Surroundings) -> SignalSet:
    if "match" in step.data:
        return SignalSet(frozenset({DEFAULT, ERROR}), open=True)
    if "when" in step.data:
        return SignalSet(frozenset({*when_signals(step), DEFAULT, ERROR}))
    return SignalSet(frozenset({"true", "false", ERROR}), open="condition" not in step.data)


def _human(step: StepView, workflow: Mapping[str, Any], project: Surroundings) -> SignalSet:
    known = {DEFAULT, ERROR, ABORTED}
    if step.data.get("timeout_s") is not None:
        known.add(TIMEOUT)
    if step.data.get("signal_from") is None:
        return SignalSet(frozenset(known))
    choices = feedback_choices(step)
    return SignalSet(frozenset(known | set(choices or ())), open=choices is None)


def _agent(step: StepView, workflow: Mapping[str, Any], project: Surroundings) -> SignalSet:
    known = {*(outcomes(step) or (DEFAULT,)), ERROR, ABORTED}
    if guarded(step):
        known.add(GUARDRAIL_VIOLATION)
    if budgeted(step, workflow, project):
        known.add(BUDGET_EXCEEDED)
    match step.mode:
        case "autonomous":
            known.add(MAX_ITERATIONS)
        case "completion":
            known.add(TIMEOUT)
            if mapping(step.agent.get("outcome")).get("format") == "json" or outcomes(step):
                known.add(PARSE_ERROR)
        case _:
            return SignalSet(frozenset(known), open=True)
    return SignalSet(frozenset(known))


_BY_KIND: Mapping[str, Callable[[StepView, Mapping[str, Any], Surroundings], SignalSet]] = {
    "Functional": _functional,
    "APICall": _plain,
    "MCP": _plain,
    "ModelOp": _plain,
    "Router": _router,
    "Response": _response,
    "HumanInTheLoop": _human,
    "Agent": _agent,
    "Workflow": _plain,
    "ForEach": _plain,
}

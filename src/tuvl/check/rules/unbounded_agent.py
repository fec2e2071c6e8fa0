"""TV601 unbounded-agent."""

from collections.abc import Iterator

from tuvl.analysis.bound_faults import models_called
from tuvl.analysis.envelope import agent_envelope
from tuvl.analysis.language_models import whole
from tuvl.analysis.measure import EXPECTED
from tuvl.analysis.run_bounds import run_bounds
from tuvl.analysis.steps import StepView, WorkflowView
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.dataclass import dataclass
from tuvl.project.index import ProjectIndex
from tuvl.values import number_text


class UnboundedAgent(Rule):
    """Neither the agent nor the run bounds the tokens, the dollars or the time of an autonomous agent.

    `max_iterations` counts turns, and one turn can cost a window full of tokens. Until they are used up, an agent that
    goes in circles is stopped by nothing. Any one of the three bounds will do; with `--strict` all three are asked for,
    save dollars where a model has no known price, or costs nothing. `tuvl bounds` says what they come to.
    """

    code = "TV601"
    name = "unbounded-agent"
    severity = Severity.WARNING

    def visit_agent(self, step: StepView, subject: Subject) -> Iterator[Finding]:
        """Look for the bounds."""
        if step.mode != "autonomous":
            return
        workflow, project = subject.graph.workflow, subject.project
        missing = _missing(step, workflow, project)
        if len(missing) < len(_BOUNDS) and not project.strict:
            return
        reason = None
        if project.strict and _DOLLARS in missing:
            reason = _why_no_dollars(step, workflow, project)
            missing = [bound for bound in missing if bound is not _DOLLARS or reason is None]
        if not missing:
            return
        if len(missing) + (reason is not None) == len(_BOUNDS):
            message = _only_iterations(step, workflow, project)
        else:
            message = f"nothing bounds the {_listed([each.what for each in missing], 'or')} of step {step.id!r}"
        yield self.finding(
            subject,
            (*step.path, "agent", "max_iterations") if "max_iterations" in step.agent else (*step.path, "agent"),
            message,
            hint=_hint(missing, reason, strict=project.strict),
            at_key=True,
        )


@dataclass(frozen=True, slots=True)
class _Bound:
    """One axis, and the field of the agent that bounds it."""

    what: str
    of_agent: str


_DOLLARS = _Bound("dollars", "cost_budget_usd")
_BOUNDS = (_Bound("tokens", "token_budget"), _DOLLARS, _Bound("time", "max_wall_clock_s"))


def _missing(step: StepView, workflow: WorkflowView, project: ProjectIndex) -> list[_Bound]:
    of_run = run_bounds(workflow, project)
    given = (of_run.max_tokens, of_run.max_cost_usd, of_run.timeout_s or step.data.get("timeout_s"))
    return [
        bound
        for bound, run in zip(_BOUNDS, given, strict=True)
        if run is None and step.agent.get(bound.of_agent) is None
    ]


def _why_no_dollars(step: StepView, workflow: WorkflowView, project: ProjectIndex) -> str | None:
    """Say why no bound on dollars can be had."""
    models = models_called(step, workflow, project)
    unpriced = next((model for model in models if not model.priced), None)
    if unpriced is not None:
        return f"the price of model {unpriced.name!r} is not known, so dollars cannot be bounded"
    if not any(model.input_price or model.output_price for model in models):
        return "its models cost nothing, so dollars need no bound"
    return None


def _only_iterations(step: StepView, workflow: WorkflowView, project: ProjectIndex) -> str:
    agent = agent_envelope(step, workflow, project, EXPECTED)
    tokens, written = agent.unbudgeted.total_tokens.value, step.agent.get("max_iterations")
    # The number that stands in the file, which may be larger than any that is reckoned with.
    iterations = number_text(written if isinstance(written, int) and whole(written) else agent.fields.iterations)
    only = f"only its {iterations} iterations bound step {step.id!r}"
    if tokens is None:
        return f"{only}, and nothing says how many tokens they may use"
    return f"{only}, which may use about {tokens:,.0f} tokens"


def _hint(missing: list[_Bound], reason: str | None, *, strict: bool) -> str:
    own = _listed([f"`{bound.of_agent}`" for bound in missing], "and" if strict else "or")
    if not strict:
        return f"give it a {own}, or the workflow `limits:`"
    asked = f"give it {own}; a strict check asks for tokens, dollars and time, and the workflow's `limits:` count, too"
    return asked if reason is None else f"{asked}; {reason}"


def _listed(words: list[str], last: str) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"

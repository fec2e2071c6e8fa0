"""Everything a drawing of one workflow shows, gathered: the picture, what is known of each step, what was found."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from tuvl.analysis.amount import Amount
from tuvl.analysis.assumptions import assumptions
from tuvl.analysis.envelope import AgentWorst, Envelope, Worst, envelope
from tuvl.analysis.graph import route_graph
from tuvl.analysis.picture import Picture, picture_of
from tuvl.analysis.run_bounds import run_bounds
from tuvl.analysis.scope import Waits
from tuvl.analysis.step_facts import StepFacts, step_facts
from tuvl.analysis.steps import WorkflowView, mapping, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.check.finding import Finding, Severity
from tuvl.dataclass import dataclass
from tuvl.source.document import Document
from tuvl.values import number_text

_STEP = re.compile(r"spec\.steps\[(\d+)\]")
FIGURES = ("model calls", "tool calls", "tokens", "USD", "seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What was found at one step, worst first."""

    findings: tuple[Finding, ...]

    @property
    def worst(self) -> Severity:
        """How much the worst of it weighs."""
        return self.findings[0].severity

    @property
    def text(self) -> str:
        """The count in words: `2 errors, 1 note`."""
        return counted(self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstRow:
    """One line of the worst case: whose, how often, and the figures, each proved and expected."""

    name: str
    times: int
    proved: tuple[str, ...]
    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What is drawn; steps by id."""

    title: str
    description: str
    file: str
    picture: Picture
    facts: Mapping[str, StepFacts]
    marks: Mapping[str, Mark] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    """All of them, those of other files too."""
    checked: bool = False
    """Whether findings were looked for."""
    worst: tuple[WorstRow, ...] = ()
    """The agents in order, and the whole run last."""
    limits: tuple[tuple[str, str], ...] = ()
    rests_on: tuple[str, ...] = ()
    lines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What bounds each step, in short lines for its box."""


_SHORT = (
    ("max_iterations", "{} turns"),
    ("max_tool_calls", "{} tool calls"),
    ("token_budget", "{} tokens"),
    ("cost_budget_usd", "{}"),
    ("max_wall_clock_s", "{}"),
    ("max_items", "{} items"),
    ("concurrency", "{} at once"),
)
_A_LINE = 3
_OPEN = ("unbounded", "unknown")


def sheet_of(
    document: Document,
    project: Surroundings,
    *,
    waits: Waits,
    findings: Sequence[Finding] | None,
) -> Sheet:
    """Gather it; without `findings` nothing was looked for."""
    workflow = WorkflowView(mapping(document.data))
    graph = route_graph(workflow, project)
    facts = {step.id: step_facts(step, graph, workflow, project) for step in workflow.by_id.values()}
    rows = tuple(_rows(envelope(workflow, project, graph=graph, waits=waits)))
    return Sheet(
        title=workflow.name,
        description=text(mapping(workflow.data.get("metadata")).get("description")) or "",
        file=document.file,
        picture=picture_of(workflow, project, graph=graph),
        facts=facts,
        marks=marks_of(document, workflow, findings or ()),
        findings=tuple(findings or ()),
        checked=findings is not None,
        worst=rows,
        limits=tuple(_limits(workflow, project)),
        rests_on=tuple(assumptions(workflow, project, graph, waits=waits)),
        lines=_lines(facts, rows),
    )


def counted(findings: Iterable[Finding]) -> str:
    """So many errors, warnings and notes, in words; nothing for none."""
    numbers = dict.fromkeys(Severity, 0)
    for finding in findings:
        numbers[finding.severity] += 1
    return ", ".join(f"{number} {severity.value}{'s' * (number > 1)}" for severity, number in numbers.items() if number)


def marks_of(document: Document, workflow: WorkflowView, findings: Iterable[Finding]) -> dict[str, Mark]:
    """The findings of a document by the step they are at. A file may hold several documents: the lines tell."""
    place = document.locate(())
    steps = {step.index: step.id for step in workflow.steps}
    at: dict[str, list[Finding]] = {}
    for finding in findings:
        index = _STEP.match(finding.path)
        inside = finding.file == document.file and place.start.line <= finding.line <= place.end.line
        if index and inside and int(index[1]) in steps:
            at.setdefault(steps[int(index[1])], []).append(finding)
    weights = {severity: weight for weight, severity in enumerate(Severity)}
    return {
        step: Mark(findings=tuple(sorted(of_step, key=lambda finding: (weights[finding.severity], finding.order))))
        for step, of_step in at.items()
    }


def _lines(facts: Mapping[str, StepFacts], rows: Sequence[WorstRow]) -> dict[str, tuple[str, ...]]:
    worst = {row.name: row for row in reversed(rows[:-1])}
    found: dict[str, tuple[str, ...]] = {}
    for name, each in facts.items():
        given = dict(each.bounds)
        said = [words.format(given[bound]) for bound, words in _SHORT if bound in given]
        lines = [" · ".join(said[at : at + _A_LINE]) for at in range(0, len(said), _A_LINE)]
        lines = [f"at most {line}" for line in lines[:1]] + lines[1:]
        if name in worst:
            calls, _, tokens, usd, seconds = worst[name].proved
            cost = f"cost {usd}" if usd in _OPEN else f"${usd}"
            lines.append(f"worst case {_of(calls, 'calls')} · {_of(tokens, 'tokens')}")
            lines.append(f"{cost} · {_of(seconds, 's')}, proved")
        if lines:
            found[name] = tuple(lines)
    return found


def _rows(found: Envelope) -> Iterable[WorstRow]:
    for proved, expected in zip(found.proved.agents, found.expected.agents, strict=True):
        yield WorstRow(name=proved.place, times=proved.times, proved=_figures(proved), expected=_figures(expected))
    yield WorstRow(name="", times=1, proved=_figures(found.proved), expected=_figures(found.expected))


def _figures(worst: AgentWorst | Worst) -> tuple[str, ...]:
    spend = worst.spend
    return (
        _figure(spend.model_calls),
        _figure(spend.tool_calls),
        _figure(spend.total_tokens),
        _figure(spend.cost_usd, dollars=True),
        _figure(worst.seconds),
    )


def _figure(amount: Amount, *, dollars: bool = False) -> str:
    if amount.value is None:
        return amount.state
    if dollars:
        return f"{amount.value:,.2f}" if amount.value >= 1 or not amount.value else f"{amount.value:.4f}"
    return f"{amount.value:,.0f}" if amount.value == int(amount.value) or amount.value >= 100 else f"{amount.value:.1f}"


def _limits(workflow: WorkflowView, project: Surroundings) -> Iterable[tuple[str, str]]:
    bounds = run_bounds(workflow, project)
    yield "limits.max_steps", f"{bounds.max_steps:,}"
    if bounds.timeout_s is not None:
        yield "limits.timeout_s", f"{number_text(bounds.timeout_s)} s"
    if bounds.max_tokens is not None:
        yield bounds.max_tokens_field, f"{bounds.max_tokens:,}"
    if bounds.max_cost_usd is not None:
        yield bounds.max_cost_field, f"${bounds.max_cost_usd:,.2f}"
    yield "limits.max_context_bytes", f"{bounds.max_context_bytes:,}"


def _of(figure: str, unit: str) -> str:
    return f"{unit} {figure}" if figure in _OPEN else f"{figure} {unit}"

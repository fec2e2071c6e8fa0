"""The worst case of a workflow: what one run of it uses at most, and each of its agents.

Everything here is an upper bound. What the file leaves open is unbounded, what nobody can know is unknown, and both
say what is missing.
"""

from collections.abc import Callable
from dataclasses import field, replace
from functools import cached_property

from tuvl.analysis.agent_envelope import AgentEnvelope
from tuvl.analysis.amount import NOTHING, Amount, exactly, unknown
from tuvl.analysis.graph import RouteGraph, route_graph
from tuvl.analysis.language_models import Lookup, positive, whole
from tuvl.analysis.measure import EXPECTED, PROVED, Figure, Measure
from tuvl.analysis.run_bounds import run_bounds
from tuvl.analysis.run_paths import run_paths
from tuvl.analysis.scope import Scope, Waits
from tuvl.analysis.spend import NO_SPEND, Spend, same_in_all
from tuvl.analysis.step_envelope import StepEnvelope
from tuvl.analysis.steps import StepView, WorkflowView, mapping, text
from tuvl.analysis.sums import AMOUNTS, SPENDS
from tuvl.analysis.surroundings import Surroundings
from tuvl.analysis.value_sizes import Longest, unknown_sizes
from tuvl.analysis.waiting import cut_off, item_bytes, item_count, rounds, step_seconds
from tuvl.dataclass import dataclass
from tuvl.model_table import table_entry

DEEPEST = 16
"""Workflows and lists inside each other that are followed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentWorst:
    """One agent: the worst case of one execution of it, and how often a run can execute it."""

    place: str
    """Its step id, after those of the steps around it: `outer/step`."""
    mode: str
    model: str
    times: int
    spend: Spend
    seconds: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class Worst:
    """One figure of a workflow, proved or expected."""

    name: Figure
    spend: Spend
    seconds: Amount
    unlimited: Spend
    """The same without the bounds of the whole run: what the steps' own bounds say."""
    agents: tuple[AgentWorst, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Envelope:
    """The worst case of one workflow, each figure reckoned when it is asked for."""

    workflow: str
    reckon: Callable[[Measure], Worst]

    @cached_property
    def proved(self) -> Worst:
        """What no run exceeds."""
        return self.reckon(PROVED)

    @cached_property
    def expected(self) -> Worst:
        """What a run uses at most when texts and models are of the ordinary kind."""
        return self.reckon(EXPECTED)


def envelope(
    workflow: WorkflowView,
    project: Surroundings,
    *,
    graph: RouteGraph | None = None,
    waits: Waits | None = None,
    lookup: Lookup = table_entry,
) -> Envelope:
    """Reckon the worst case of a workflow."""
    waits = waits or Waits()

    def reckon(measure: Measure) -> Worst:
        return _Reckoning(_scope(workflow, project, measure, waits, lookup), graph).run().worst

    return Envelope(workflow=workflow.name, reckon=reckon)


def agent_envelope(
    step: StepView,
    workflow: WorkflowView,
    project: Surroundings,
    measure: Measure,
    *,
    lookup: Lookup = table_entry,
    longest: Longest = unknown_sizes,
) -> AgentEnvelope:
    """Reckon one agent by itself; `longest` tells of values in its texts that cannot be as long as the context."""
    reckoning = _Reckoning(_scope(workflow, project, measure, Waits(), lookup), None)
    return AgentEnvelope(step, reckoning.scope, reckoning.nested, longest)


def _scope(workflow: WorkflowView, project: Surroundings, measure: Measure, waits: Waits, lookup: Lookup) -> Scope:
    bounds = run_bounds(workflow, project)
    return Scope(workflow=workflow, project=project, bounds=bounds, measure=measure, waits=waits, lookup=lookup)


@dataclass(frozen=True, slots=True)
class _Run:
    """A run of a workflow, reckoned: the figure, and what it may use after a budget around it is reached."""

    worst: Worst
    turn: Spend


@dataclass
class _Reckoning:
    """One workflow under one measure; the workflows inside it are reckoned once."""

    scope: Scope
    graph: RouteGraph | None = None
    done: dict[str, _Run] = field(default_factory=dict)
    agents: list[AgentWorst] = field(default_factory=list)

    def run(self) -> _Run:
        """The whole run."""
        total, turn, seconds = self._unlimited()
        bounds, spend = self.scope.bounds, total
        if bounds.max_tokens is not None:
            before = exactly(bounds.max_tokens - 1, bounds.max_tokens_field)
            spend = spend.within_tokens(before + turn.counted_total.set_by())
        if bounds.max_cost_usd is not None:
            spend = spend.within_cost(exactly(bounds.max_cost_usd, bounds.max_cost_field) + turn.counted_cost.set_by())
        worst = Worst(
            name=self.scope.measure.name,
            spend=spend,
            seconds=cut_off(seconds, bounds.timeout_s, "limits.timeout_s"),
            unlimited=total,
            agents=tuple(self.agents),
        )
        return _Run(worst, turn)

    def _unlimited(self) -> tuple[Spend, Spend, Amount]:
        """The run without its own limits: in all, its worst turn, its seconds."""
        graph = self.graph or route_graph(self.scope.workflow, self.scope.project)
        total, turn, seconds = NO_SPEND, NO_SPEND, NOTHING
        found: dict[str, StepEnvelope] = {}
        for number, paths in enumerate(run_paths(graph, self.scope.bounds.max_steps)):
            steps = [step for step in graph.spine if step in paths.steps]
            for step in steps:
                if step not in found:
                    found[step] = self._step(graph.steps[step], paths.times(step), self.scope, 0)
            spends = {step: found[step].spend for step in steps if found[step].spend is not NO_SPEND}
            total += paths.dearest(spends, SPENDS) if spends else NO_SPEND
            for step in spends:
                turn = turn.or_more(found[step].turn)
            if not number:  # what cleans up after an abort has a time of its own
                times = {step: found[step].seconds for step in steps if found[step].seconds.value != 0}
                seconds = paths.dearest(times, AMOUNTS)
        return total, turn, seconds

    def _step(self, step: StepView, times: int, scope: Scope, depth: int) -> StepEnvelope:
        match step.kind:
            case "Agent":
                return self._agent(step, times, scope)
            case "Workflow":
                return self.nested(step, times)
            case "ForEach":
                return self._for_each(step, times, scope, depth)
        return StepEnvelope(seconds=_labelled(step_seconds(step), step.id))

    def _agent(self, step: StepView, times: int, scope: Scope) -> StepEnvelope:
        agent = AgentEnvelope(step, scope, self.nested)
        found = agent.envelope
        self.agents.append(
            AgentWorst(
                place=step.id,
                mode=step.mode or "",
                model=agent.fields.model.name,
                times=times,
                spend=found.spend,
                seconds=found.seconds,
            )
        )
        spend = found.spend.relabelled(lambda amount: _labelled(amount, step.id))
        return replace(found, spend=spend, seconds=_labelled(found.seconds, step.id))

    def nested(self, step: StepView, times: int = 0) -> StepEnvelope:
        """The worst case of the workflow that a step runs; without `times` its agents are not listed."""
        name = text(step.data.get("workflow")) or ""
        run = self._inner(name)
        if run is None:
            return _unknown(f"what workflow {name!r} of step {step.id!r} uses")
        if times:
            self.agents.extend(
                replace(agent, place=f"{step.id}/{agent.place}", times=agent.times * times)
                for agent in run.worst.agents
            )
        spend = run.worst.spend.relabelled(lambda amount: _labelled(amount, step.id, inside=True))
        seconds = cut_off(
            _labelled(run.worst.seconds, step.id, inside=True),
            positive(step.data.get("timeout_s")),
            f"{step.id}: timeout_s",
        )
        return StepEnvelope(spend=spend, turn=run.turn, seconds=seconds)

    def _inner(self, name: str) -> _Run | None:
        scope, inside = self.scope, (*self.scope.inside, self.scope.workflow.name)
        document = scope.project.workflow(name)
        if document is None or name in inside or len(inside) > DEEPEST:
            return None
        if name not in self.done:
            view = WorkflowView(mapping(document.data))
            within = replace(_scope(view, scope.project, scope.measure, scope.waits, scope.lookup), inside=inside)
            self.done[name] = _Reckoning(within, done=self.done).run()
        return self.done[name]

    def _for_each(self, step: StepView, times: int, scope: Scope, depth: int) -> StepEnvelope:
        body = scope.workflow.by_id.get(text(step.data.get("step")) or "")
        if body is None or depth > DEEPEST:
            return _unknown(f"what step {step.id!r} runs")
        # Each item is a step of the run, and the list itself is one: more of them do not begin.
        steps = scope.bounds.max_steps
        count = min(item_count(step), steps - 1)
        if not count:
            return StepEnvelope()
        one = self._step(
            body,
            min(times * count, steps),
            scope.with_item(item_bytes(step, scope.bounds.max_context_bytes)),
            depth + 1,
        )
        at_once = min(whole(step.data.get("concurrency")) or 1, count)
        seconds = cut_off(
            one.seconds.times(rounds(count, at_once)), positive(step.data.get("timeout_s")), f"{step.id}: timeout_s"
        )
        return StepEnvelope(spend=one.spend.times(count), turn=one.turn.times(at_once), seconds=seconds)


def _unknown(why: str) -> StepEnvelope:
    amount = unknown(why)
    spend = same_in_all(amount)
    return StepEnvelope(spend=spend, turn=spend, seconds=amount)


def _labelled(amount: Amount, step: str, *, inside: bool = False) -> Amount:
    """Say of which step the fields are that bound it, or would."""
    if not (amount.by or amount.needs):
        return amount

    def named(field: str) -> str:
        if field.startswith(_OF_RUN):
            return field
        return f"{step}/{field}" if inside else f"{step}: {field}"

    return replace(amount, by=tuple(map(named, amount.by)), needs=tuple(map(named, amount.needs)))


_OF_RUN = ("limits.max_context_bytes", "policy.", "TUVL_", "LiteLLM")
"""What is no field of a step, and so stands for itself."""

"""Bounds that contradict each other, and bounds on dollars where nobody knows the price: what cannot run."""

from collections.abc import Iterable, Iterator, Mapping

from tuvl.analysis.agent_fields import agent_fields
from tuvl.analysis.fault import Fault
from tuvl.analysis.judges import judge_models
from tuvl.analysis.language_models import Lookup, ModelFacts, model_facts, positive, whole
from tuvl.analysis.parameters import tool_uses
from tuvl.analysis.reference_faults import called_workflows
from tuvl.analysis.run_bounds import run_bounds
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text
from tuvl.analysis.supervision_spend import watching_judge
from tuvl.analysis.surroundings import Surroundings
from tuvl.analysis.waiting import MAX_ITEMS
from tuvl.model_table import table_entry
from tuvl.values import KeyPath

OPENING = 2
"""Messages of the first request of a tool loop."""


def contradictory_bounds(
    workflow: WorkflowView, project: Surroundings, lookup: Lookup = table_entry
) -> Iterator[Fault]:
    """Bounds of which one makes the other pointless, in the order of the steps."""
    bounds = run_bounds(workflow, project)
    timeout_s, left = bounds.timeout_s, bounds.max_steps - 1  # whatever goes through a list, or calls it, is a step
    for step in workflow.steps:
        deadlines = [("timeout_s", positive(step.data.get("timeout_s"))), ("limits.timeout_s", timeout_s)]
        if step.kind == "APICall":
            yield from _slow_call(step, deadlines)
        elif step.kind == "Agent":
            yield from _of_agent(step, deadlines, project, lookup)
        elif step.kind == "ForEach":
            yield from _long_list(step, left)


def _of_agent(
    step: StepView, deadlines: list[tuple[str, float | None]], project: Surroundings, lookup: Lookup
) -> Iterator[Fault]:
    fields, agent, path = agent_fields(step, project, lookup), step.agent, (*step.path, "agent")
    given = positive(agent.get("timeout_s")) or fields.model.preset_timeout_s
    if step.mode == "autonomous":
        deadlines = [("max_wall_clock_s", fields.max_wall_clock_s), *deadlines]
        yield from _hasty_notice(step, fields.iterations)
        most = whole(mapping(agent.get("context_limits")).get("max_messages"))
        if most is not None and most < OPENING:
            yield Fault(
                (*path, "context_limits", "max_messages"),
                f"no request of step {step.id!r} fits `context_limits.max_messages: {most}`: "
                f"the first one has {OPENING}",
                "raise it, or leave it out",
            )
    if given is not None and fields.attempts > 1:
        yield from _too_slow(
            (*path, "retry", "attempts"), f"a model call of step {step.id!r}", fields.attempts, given, deadlines
        )


def _hasty_notice(step: StepView, iterations: int) -> Iterator[Fault]:
    conclude = step.agent.get("conclude")
    if not isinstance(conclude, dict):
        return
    margin = conclude.get("margin", 1)
    if isinstance(margin, int) and not isinstance(margin, bool) and margin >= iterations:
        yield Fault(
            (*step.path, "agent", "conclude", *(["margin"] if "margin" in conclude else [])),
            f"step {step.id!r} is told to finish before it begins: `conclude.margin: {margin}` with "
            f"`max_iterations: {iterations}`",
            "let the margin be smaller than the iterations",
            at_key="margin" not in conclude,
        )


def _long_list(step: StepView, left: int) -> Iterator[Fault]:
    """A list in the file that is longer than its step takes, or than its run has steps left: it runs none of it."""
    count, most = len(items(step.data.get("items"))), whole(step.data.get("max_items")) or MAX_ITEMS
    if count > most:
        given = "max_items" in step.data
        yield Fault(
            (*step.path, "max_items" if given else "items"),
            f"step {step.id!r} has {count} items and takes {most}{'' if given else ' without `max_items`'}: "
            "it runs none of them",
            f"write `max_items: {count}`, or shorten the list",
        )
    elif count > left:
        yield Fault(
            (*step.path, "items"),
            f"step {step.id!r} has {count} items, each of them a step, and the run has {left} steps for them "
            "(`limits.max_steps`): it runs none of them",
            "raise `limits.max_steps`, or shorten the list",
        )


def _slow_call(step: StepView, deadlines: list[tuple[str, float | None]]) -> Iterator[Fault]:
    http = mapping(step.data.get("http"))
    attempts, given = whole(mapping(http.get("retry")).get("attempts")) or 1, positive(http.get("timeout"))
    if attempts > 1 and given is not None:
        path = (*step.path, "http", "retry", "attempts")
        yield from _too_slow(path, f"the call of step {step.id!r}", attempts, given, deadlines)


def _too_slow(
    path: KeyPath, what: str, attempts: int, timeout_s: float, deadlines: list[tuple[str, float | None]]
) -> Iterator[Fault]:
    found = [(deadline, name) for name, deadline in deadlines if deadline is not None]
    deadline, name = min(found, default=(None, ""))
    if deadline is not None and attempts * timeout_s > deadline:
        yield Fault(
            path,
            f"{what} may take {attempts} attempts of {timeout_s:g} s, {attempts * timeout_s:g} s in all, "
            f"and `{name}: {deadline:g}` cuts it off before",
            "lower the attempts or their timeout, or give it more time",
        )


def unpriced_models(
    workflow: WorkflowView,
    project: Surroundings,
    *,
    lookup: Lookup = table_entry,
    models: Mapping[str, str] | None = None,
) -> Iterator[Fault]:
    """Models without a known price where dollars are bounded; `models` replaces models by the name they are called by.

    A model that is not in the project, or is named by a variable, is not among them: the run asks again.
    """
    bounds, replaced = run_bounds(workflow, project), models or {}
    of_run = bounds.max_cost_field if bounds.max_cost_usd is not None else None
    for step in workflow.steps:
        bound, path = of_run, (*step.path, "workflow")
        found: Iterable[ModelFacts] = ()
        if step.kind == "Agent":
            bound = "cost_budget_usd" if positive(step.agent.get("cost_budget_usd")) is not None else of_run
            path = (*step.path, "agent", "model")
            inside = _behind_tools(step, workflow, project, lookup, replaced) if bound is not None else ()
            found = (*_models_of(step, workflow, project, lookup, replaced), *inside)
        elif step.kind == "Workflow" and bound is not None:
            found = _models_inside(text(step.data.get("workflow")), project, lookup, replaced)
        if bound is not None:
            yield from _unpriced_of(step, path, bound, found)


def models_called(step: StepView, workflow: WorkflowView, project: Surroundings) -> tuple[ModelFacts, ...]:
    """Every model that an agent calls: its own, those that sum up and judge, those of workflows behind its tools."""
    return (
        *_models_of(step, workflow, project, table_entry, {}),
        *_behind_tools(step, workflow, project, table_entry, {}),
    )


def _unpriced_of(step: StepView, path: KeyPath, bound: str, models: Iterable[ModelFacts]) -> Iterator[Fault]:
    for model in {each.name: each for each in models if _unpriced(each)}.values():
        yield Fault(
            path,
            f"`{bound}` bounds dollars, and step {step.id!r} calls model {model.name!r}, whose price is not known",
            _price_hint(model),
        )


def _unpriced(model: ModelFacts) -> bool:
    return model.found and model.settled and not model.priced


def _price_hint(model: ModelFacts) -> str:
    price = "`price: { input_per_mtok: …, output_per_mtok: … }`"
    if "/" in model.name:
        return f"call it through an AgentModel that gives its {price}, or take the bound away"
    return f"give the AgentModel {model.name!r} its {price}, or take the bound away"


def _models_of(
    step: StepView, workflow: WorkflowView, project: Surroundings, lookup: Lookup, models: Mapping[str, str]
) -> tuple[ModelFacts, ...]:
    """The models that one agent calls: its own, the one that sums up, its judges, the judge that watches it."""

    def facts(name: object) -> ModelFacts:
        own = model_facts(name, project, lookup)
        return model_facts(models[own.name], project, lookup) if own.name in models else own

    summary = text(mapping(step.agent.get("compaction")).get("model"))
    watching = watching_judge(step, workflow, project, lookup)
    judges = [facts(judge.name) for judge in (*judge_models(step, project, lookup), *watching)]
    return (facts(step.agent.get("model")), *([] if summary is None else [facts(summary)]), *judges)


def _behind_tools(
    step: StepView, workflow: WorkflowView, project: Surroundings, lookup: Lookup, models: Mapping[str, str]
) -> Iterator[ModelFacts]:
    for use in tool_uses(step, workflow):
        if use.step.kind == "Workflow":
            yield from _models_inside(text(use.step.data.get("workflow")), project, lookup, models)


def _models_inside(
    name: str | None, project: Surroundings, lookup: Lookup, models: Mapping[str, str]
) -> Iterator[ModelFacts]:
    """The models of a workflow and of those that it runs."""
    waiting, seen = [name], {name}
    while waiting:
        document = project.workflow(current) if (current := waiting.pop()) is not None else None
        if document is None:
            continue
        view = WorkflowView(mapping(document.data))
        for step in view.steps:
            if step.kind == "Agent":
                yield from _models_of(step, view, project, lookup, models)
        for _, called in called_workflows(view):
            if called not in seen:
                seen.add(called)
                waiting.append(called)

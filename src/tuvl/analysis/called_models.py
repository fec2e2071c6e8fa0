"""Every place of a workflow that calls a language model: agents, their judges and summaries, the supervisor."""

from collections.abc import Iterator

from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text
from tuvl.analysis.supervision import supervising_judge
from tuvl.analysis.surroundings import Surroundings, spec_of
from tuvl.dataclass import dataclass
from tuvl.values import KeyPath


@dataclass(frozen=True, slots=True, kw_only=True)
class CalledModel:
    """One place that calls a model."""

    owner: str
    """How messages call who calls it: a step, or the supervisor."""
    step: str | None
    """Id of the step; `None` for the supervisor."""
    site: tuple[str | int, ...]
    """What tells it from other places of the same step."""
    path: KeyPath
    """Where the place stands."""
    name: object
    """The name as it is written; `None` leaves it to the project."""


def called_models(workflow: WorkflowView, project: Surroundings) -> Iterator[CalledModel]:
    """Yield the places in file order, the supervisor last."""
    for step in workflow.steps:
        if step.kind == "Agent":
            yield from _of_agent(step, project)
    judge = supervising_judge(workflow)
    if judge:
        path = ("spec", "supervisor", "judge", "model")
        yield CalledModel(owner="the supervisor", step=None, site=path, path=path, name=judge.get("model"))


def _of_agent(step: StepView, project: Surroundings) -> Iterator[CalledModel]:
    path = (*step.path, "agent")

    def called(site: tuple[str | int, ...], place: KeyPath, name: object) -> CalledModel:
        return CalledModel(owner=f"step {step.id!r}", step=step.id, site=site, path=place, name=name)

    yield called(("model",), (*path, "model") if "model" in step.agent else path, step.agent.get("model"))
    summary = text(mapping(step.agent.get("compaction")).get("model"))
    if summary is not None:
        yield called(("compaction",), (*path, "compaction", "model"), summary)
    for site, references in mapping(step.agent.get("guardrails")).items():
        for index, reference in enumerate(items(references)):
            for number, judge in enumerate(_judges(reference, project)):
                yield called((site, str(reference), number), (*path, "guardrails", site, index), judge)


def _judges(reference: object, project: Surroundings) -> Iterator[object]:
    artifact = project.resolve(reference) if isinstance(reference, str) else None
    if artifact is None or artifact.type != "guardrail":
        return
    for check in items(spec_of(artifact.data).get("checks")):
        if isinstance(check, dict) and check.get("check") == "llm_judge":
            yield check.get("model")

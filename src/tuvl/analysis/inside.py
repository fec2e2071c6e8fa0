"""What the workflows behind a step do: whether they change anything outside, and whether a stranger's text comes out.

Both are asked of all steps of the workflow, and of those it runs in turn, in whatever order they run.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tuvl.analysis.effects import effects_of, writes_by_kind
from tuvl.analysis.references import step_references
from tuvl.analysis.signals import BUILT_IN_NODES
from tuvl.analysis.spill import OTHERS
from tuvl.analysis.steps import StepView, WorkflowView, mapping, text
from tuvl.analysis.surroundings import Surroundings

MOST = 50
"""Workflows inside each other that are looked at; with more the answer is the careful one."""

_ONLY_INSIDE = ("Agent", "ForEach", "HumanInTheLoop", "Router", "Response")
"""Kinds of steps that change nothing outside by themselves; what they call are steps too."""


def inside(name: str | None, project: Surroundings) -> list[WorkflowView] | None:
    """A workflow and all that it runs; `None` when one is not there, or they are too many."""
    waiting, found = [name], dict[str | None, WorkflowView]()
    while waiting:
        current = waiting.pop()
        if current in found:
            continue
        document = project.workflow(current) if current else None
        if document is None or len(found) == MOST:
            return None
        view = found[current] = WorkflowView(mapping(document.data))
        waiting.extend(text(step.data.get("workflow")) for step in view.steps if step.kind == "Workflow")
    return list(found.values())


def writes_in_fact(step: StepView, workflow: WorkflowView, project: Surroundings) -> bool:
    """Whether a step of a workflow writes, in doubt; what it declares makes it stricter, and takes no write away."""
    return effects_of(step, project) == "write" or acts(step, workflow, project)


def is_overruled(step: StepView, workflow: WorkflowView, project: Surroundings) -> bool:
    """Whether a step declares that it reads, and writes by its own text, or by that of what it runs."""
    return step.data.get("effects") == "read" and acts(step, workflow, project)


def acts(step: StepView, workflow: WorkflowView, project: Surroundings) -> bool:
    """Whether a step of a workflow can change something outside the run; in doubt it can.

    What it declares is believed of MCP tools and nodes alone, of which the files tell no more.
    """
    if step.data.get("effects") == "write":
        return True
    body = body_of(step, workflow)
    if body.kind != "Workflow":
        return acts_itself(body, project)
    views = inside(text(body.data.get("workflow")), project)
    return (
        views is None
        or acts_itself(body, project)
        or any(acts_itself(each, project) for view in views for each in view.steps)
    )


def body_of(step: StepView, workflow: WorkflowView) -> StepView:
    """The step that a ForEach runs for its items, through any number of them; any other step itself."""
    seen: set[str] = set()
    while step.kind == "ForEach" and step.id not in seen:
        seen.add(step.id)
        step = workflow.by_id.get(text(step.data.get("step")) or "", step)
    return step


def acts_itself(step: StepView, project: Surroundings) -> bool:
    """Whether a step can change something outside by itself, what it calls left out."""
    if writes_by_kind(step, project):
        return True
    declared = step.data.get("effects")
    if declared == "read" or step.kind in _ONLY_INSIDE:
        return False
    if step.kind == "Workflow" or text(step.data.get("runner")) in BUILT_IN_NODES:
        return bool(declared == "write")
    return effects_of(step, project) == "write"


class Told(NamedTuple):
    """What a step writes: a key, whether it holds a stranger's text, and the keys it is made of otherwise."""

    key: str
    stranger: bool
    sources: tuple[str, ...]
    but: frozenset[str] = frozenset()
    """Where the key stands for all others, those that are not among them."""


Tells = Callable[[StepView, WorkflowView, frozenset[str]], Iterator[Told]]
"""Tells what a step writes; the names are those of the workflows whose output is known to hold such text."""


def outside_text(name: str | None, project: Surroundings, tells: Tells) -> bool:
    """Whether what a workflow gives back may hold text from outside, beside that of its own input."""
    views = inside(name, project)
    if views is None:
        return False  # a mistake of the file, which is told
    found: frozenset[str] = frozenset()
    left = views[::-1]  # those that are called before those that call them, where they stand in a row
    while True:
        before = len(found)
        for view in left:
            if _gives(view, found, tells):
                found |= {view.name}
        left = [view for view in left if view.name not in found]
        if len(found) == before or not left:
            return name in found


def run_by_routes(view: WorkflowView) -> list[StepView]:
    """The steps that routes lead to, or the order of the file: not those that others only call."""
    routed = {target for step in view.steps for target in step.routes.values()}
    only_called = {reference.target for reference in step_references(view)} - routed
    return [step for step in view.steps if step.id not in only_called]


def _gives(view: WorkflowView, known: frozenset[str], tells: Tells) -> bool:
    written = [each for step in run_by_routes(view) for each in tells(step, view, known)]
    output = text(view.spec.get("output"))
    shown = {output.split(".")[0]} if output else _answered(view)
    dirty = {each.key for each in written if each.stranger}
    if OTHERS in dirty:
        names = {each.key for each in written} | {name for each in written for name in each.sources} | (shown or set())
        dirty |= {name for each in written if each.key == OTHERS for name in names - each.but}
    grows = True
    while grows:
        more = {key for key, _, sources, _ in written if key not in dirty and not dirty.isdisjoint(sources)}
        grows = bool(more)
        dirty |= more
    return bool(dirty if shown is None else dirty & shown)


def _answered(view: WorkflowView) -> set[str] | None:
    """Keys that the Response steps of a workflow show; `None` where the whole context is the output."""
    answers = [step for step in view.steps if step.kind == "Response"]
    if not answers:
        return None
    paths = [step.data.get("source") for step in answers]
    paths += [path for step in answers for path in mapping(step.data.get("mapping")).values()]
    return {path.split(".")[0] for path in paths if isinstance(path, str)}

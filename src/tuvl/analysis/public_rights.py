"""Rights that a workflow asks of callers to whom its trigger is open without a token: they have none."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tuvl.analysis.fault import Fault
from tuvl.analysis.graph import RouteGraph, route_graph
from tuvl.analysis.steps import END, StepView, WorkflowView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.dataclass import dataclass
from tuvl.spec.signals import ERROR
from tuvl.values import KeyPath

_RIGHTS = ("required_scope", "required_group")
_ACTS = {"read": "read", "list": "read", "create": "write", "update": "write", "delete": "delete"}


@dataclass(frozen=True, slots=True)
class _Demand:
    """One right that is asked for."""

    place: KeyPath
    field: str
    """The field that asks: `auth.required_scope`."""
    of: str = ""
    """What it is a field of, as a person reads it; empty for the workflow with the trigger."""
    certain: bool = True
    """Whether every call comes to it, unless it failed before, and ends there."""


def public_rights(routes: RouteGraph, project: Surroundings, *, certain: bool) -> Iterator[Fault]:
    """What a trigger without a token offers and a right forbids: on every way, or only on some."""
    trigger = mapping(routes.workflow.spec.get("trigger"))
    for demand in _Reading(project).of_workflow(routes) if trigger.get("public") is True else ():
        if demand.certain is certain:
            why = "that nobody without a token has" if certain else "on some way, and nobody without a token has it"
            yield Fault(
                demand.place,
                f"the trigger is public, but `{demand.field}`{demand.of} asks for a right {why}",
                f"remove `public: true`, or `{demand.field.rpartition('.')[2]}`",
            )


class _Reading:
    """One look at a workflow and at all that it calls, each once."""

    def __init__(self, project: Surroundings) -> None:
        self.project = project
        self._called: dict[str, tuple[_Demand, ...]] = {}

    def of_workflow(self, routes: RouteGraph) -> Iterator[_Demand]:
        """The first right that the workflow asks for, and the first of each step whose failure ends the run."""
        for field in _of_head(routes.workflow.data):
            yield _Demand(("spec", "trigger", "public"), field)
            break
        sure = _sure(routes)
        for step in routes.steps.values():
            found = min(self._of_step(step), key=lambda demand: not demand.certain, default=None)
            if found is not None and ERROR not in step.routes:
                yield replace(found, certain=found.certain and step.id in sure)

    def _of_step(self, step: StepView) -> Iterator[_Demand]:
        """Rights that one step asks for; a question to a person asks them of who answers."""
        if step.kind != "HumanInTheLoop":
            for name in _RIGHTS:
                if step.get("auth", name) is not None:
                    yield _Demand((*step.path, "auth", name), f"auth.{name}", f" of step {step.id!r}")
        if step.kind == "ModelOp":
            yield from self._of_records(step)
        elif step.kind == "Workflow":
            name = text(step.data.get("workflow")) or ""
            for demand in self._of_called(name):
                yield replace(demand, place=(*step.path, "workflow"), of=f"{demand.of} of workflow {name!r}")

    def _of_records(self, step: StepView) -> Iterator[_Demand]:
        name = text(step.data.get("model"))
        document = self.project.data_model(name) if name else None
        if document is None:
            return
        data = mapping(document.data)
        access, act = mapping(mapping(data.get("spec")).get("access")), _ACTS.get(str(step.data.get("operation")))
        asked = [*_of_head(data)]
        asked += [f"access.{act}_scope"] if access.get(f"{act}_scope") is not None else []
        asked += [f"access.{act}_groups"] if items(access.get(f"{act}_groups")) else []
        for field in asked:
            yield _Demand((*step.path, "model"), field, f" of data model {name!r}")

    def _of_called(self, name: str) -> tuple[_Demand, ...]:
        """Rights that a called workflow asks for: itself, or in one of its steps."""
        if name not in self._called:
            self._called[name] = ()  # one that calls itself asks for no more
            document = self.project.workflow(name) if name else None
            if document is not None:
                routes = route_graph(WorkflowView(mapping(document.data)), self.project)
                self._called[name] = tuple(self.of_workflow(routes))
        return self._called[name]


def _of_head(document: Mapping[str, Any]) -> Iterator[str]:
    head = mapping(document.get("metadata"))
    return (f"metadata.{name}" for name in _RIGHTS if head.get(name) is not None)


def _sure(routes: RouteGraph) -> frozenset[str]:
    """Steps that every run comes to, as long as none before has failed."""
    found: dict[str, None] = {}
    step = routes.entry
    while step is not None and step != END and step not in found:
        found[step] = None
        following = routes.decided[step]
        step = following[0] if len(following) == 1 else None
    return frozenset(found)

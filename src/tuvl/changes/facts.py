"""Facts about one state of a workflow that comparisons share: its routes, hosts, writes and models."""

from collections.abc import Mapping
from functools import cached_property

from tuvl.analysis.answered import Unanswered
from tuvl.analysis.effects import effects_of
from tuvl.analysis.graph import RouteGraph, route_graph
from tuvl.analysis.policy import allows_model, asks_by_policy, model_names
from tuvl.analysis.signals import BUILT_IN_NODES
from tuvl.analysis.steps import StepView, WorkflowView, mapping, text
from tuvl.analysis.urls import Url, urls
from tuvl.changes.differences import members
from tuvl.dataclass import dataclass
from tuvl.project.index import ProjectIndex
from tuvl.values import KeyPath

_ACTING = ("APICall", "MCP", "ModelOp")


@dataclass(frozen=True, slots=True)
class Deed:
    """That something acts; `sure`: the files say so, it is not taken in doubt.

    `asked`: only ever after a person agreed. An approval that an expression decides is none: it may let anything pass.
    """

    asked: bool = False
    sure: bool = True


class Callees:
    """The workflows of one state that steps run; each is looked at once, however they run each other."""

    def __init__(self, index: ProjectIndex) -> None:
        """Look at those of one project."""
        self.index = index
        self.deeds: dict[str, Deed | None] = {}
        """What each does outside, as far as it was asked."""
        self._facts: dict[str, WorkflowFacts | None] = {}
        self._reached: dict[str, tuple[str, ...]] = {}

    def facts(self, name: str) -> "WorkflowFacts | None":
        """A workflow by its name; `None` where there is none."""
        if name not in self._facts:
            document = self.index.find("Workflow", name) if name else None
            view = None if document is None else WorkflowView(mapping(document.data))
            self._facts[name] = None if view is None else WorkflowFacts(view, self.index, self)
        return self._facts[name]

    def reached(self, name: str) -> tuple[str, ...]:
        """Names of a workflow and of all that it runs, itself first; also those that are not there."""
        if name not in self._reached:
            found = dict.fromkeys([name])
            waiting = [name]
            while waiting:
                facts = self.facts(waiting.pop())
                new = [] if facts is None else [each for each in facts.runs if each not in found]
                found |= dict.fromkeys(new)
                waiting.extend(new)
            self._reached[name] = tuple(found)
        return self._reached[name]


@dataclass(frozen=True)
class WorkflowFacts:
    """One state of one workflow, beside those that its steps run."""

    view: WorkflowView
    index: ProjectIndex
    callees: Callees

    @cached_property
    def runs(self) -> tuple[str, ...]:
        """Names of the workflows that its steps run."""
        names = [text(step.data.get("workflow")) or "" for step in self.view.steps if step.kind == "Workflow"]
        return tuple(dict.fromkeys(names))

    @cached_property
    def graph(self) -> RouteGraph:
        """Its route graph."""
        return route_graph(self.view, self.index)

    @cached_property
    def unanswered(self) -> Unanswered:
        """Tells by which exits of its steps a person has decided."""
        return Unanswered(self.index)

    @cached_property
    def urls(self) -> dict[KeyPath, Url]:
        """URLs of its calls by where they stand."""
        return {url.path: url for url in urls(self.view.data, "Workflow")}

    @cached_property
    def hosts(self) -> dict[str, Url]:
        """Hosts its calls go to, each with the first URL that names it."""
        found: dict[str, Url] = {}
        for url in self.urls.values():
            found.setdefault(host_of(url), url)
        return found

    @cached_property
    def writes(self) -> frozenset[tuple[str, str]]:
        """Data model and operation of its steps that change records."""
        return frozenset(
            (str(step.data.get("model")), str(step.data.get("operation")))
            for step in self.view.steps
            if step.kind == "ModelOp" and self.acts(step)
        )

    @cached_property
    def tools(self) -> frozenset[str]:
        """Steps that agents may call and no route leads to."""
        named = {each.target for each in self.graph.references if each.role == "tool"}
        others = {each.target for each in self.graph.references if each.role != "tool"}
        return frozenset((named - others) & self.graph.off_spine)

    @cached_property
    def fired(self) -> Mapping[str, tuple[str, ...]]:
        """Steps by the step whose hooks, or whose agent's helpers, they are."""
        found: dict[str, tuple[str, ...]] = {}
        for each in self.graph.references:
            if each.role in ("hook target", "agent helper") and each.path[:2] != ("spec", "hooks"):
                found[each.owner] = (*found.get(each.owner, ()), each.target)
        return found

    @cached_property
    def data_models(self) -> frozenset[str]:
        """Data models that it names, as its own or in a step."""
        named = [step.data.get("model") for step in self.view.steps if step.kind == "ModelOp"]
        return frozenset(
            name.partition("@")[0]
            for name in (*members(self.view.spec.get("context")).values(), *named)
            if isinstance(name, str)
        )

    def acts(self, step: StepView) -> bool:
        """Whether a step itself changes something outside the run, as far as the files tell."""
        if step.kind == "Functional":
            runner = text(step.data.get("runner"))
            return runner not in BUILT_IN_NODES and effects_of(step, self.index) == "write"
        return step.kind in _ACTING and effects_of(step, self.index) == "write"

    def model_names(self, name: object) -> tuple[str, ...]:
        """What the policy on models looks at: the name, and provider and model behind it."""
        return model_names(name, self.index)

    def allows_model(self, names: tuple[str, ...]) -> bool:
        """Whether the project's policy allows a model."""
        return allows_model(names, self.index)

    def by_policy(self, step: StepView) -> bool:
        """Whether the project's policy has a person asked before a tool runs."""
        return asks_by_policy(step, self.view, self.index)


def host_of(url: Url) -> str:
    """A host with its port, and the scheme unless it is https; expressions in it are written as `{…}`."""
    host = url.host.replace("\0", "{…}") or "{…}"
    host = f"[{host}]" if ":" in host else host
    host = host if url.port == (443 if url.scheme == "https" else 80) else f"{host}:{url.port}"
    return host if url.scheme == "https" else f"{url.scheme}://{host}"

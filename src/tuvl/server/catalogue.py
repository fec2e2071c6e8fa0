"""The workflows of the project that the server runs: found, checked and compiled once, when it starts."""

from collections.abc import Iterable, Mapping

from tuvl.analysis.steps import mapping
from tuvl.analysis.trigger_paths import is_of_server
from tuvl.check.finding import Report
from tuvl.check.runner import check_document
from tuvl.dataclass import dataclass
from tuvl.errors import ConfigError
from tuvl.plan.model import ExecutionPlan, HumanPlan
from tuvl.principal import Principal
from tuvl.project.index import ProjectIndex
from tuvl.runtime import Engine
from tuvl.server.problems import Problem
from tuvl.source.document import Document
from tuvl.values import JsonObject, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """Where a request starts a workflow."""

    path: str
    method: str
    public: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A workflow that can be started."""

    name: str
    description: str
    document: Document
    plan: ExecutionPlan
    trigger: Trigger | None

    @property
    def waits_for_people(self) -> bool:
        """Whether a run may wait for an answer, which outlives its process."""
        plans = self.plan.with_nested()
        return any(isinstance(step.action, HumanPlan) for one in plans for step in one.steps.values())

    @property
    def must_be_durable(self) -> bool:
        """Whether a run of it is durable whatever the caller says."""
        # Only so many at once: durable runs alone stand in a line, over all processes.
        return self.plan.durable or self.waits_for_people or self.plan.limits.concurrency is not None

    @property
    def is_public(self) -> bool:
        """Whether everybody may start it, by its trigger."""
        return self.trigger is not None and self.trigger.public

    def is_for(self, principal: Principal) -> bool:
        """Whether somebody may start it; to others it is not there."""
        return principal.lacks(scope=self.plan.required_scope, group=self.plan.required_group) is None

    def to_json(self) -> JsonObject:
        """Return what callers are told of it."""
        plan, trigger = self.plan, self.trigger
        schema: JsonValue = None if plan.input_schema is None else dict(plan.input_schema.schema)
        return {
            "name": self.name,
            "schema_version": plan.schema_version,
            "description": self.description,
            "durable": self.must_be_durable,
            "input": schema,
            "trigger": None
            if trigger is None
            else {"path": trigger.path, "method": trigger.method, "public": trigger.public},
        }


class Catalogue:
    """The workflows that are offered, by name and by trigger."""

    def __init__(self, offered: Iterable[Offered]) -> None:
        self._by_name = {each.name: each for each in offered}
        self._by_path: dict[str, dict[str, Offered]] = {}
        for each in self._by_name.values():
            if each.trigger is not None:
                self._by_path.setdefault(each.trigger.path, {})[each.trigger.method] = each

    @property
    def workflows(self) -> Mapping[str, Offered]:
        """All of them, by name."""
        return self._by_name

    def names_for(self, principal: Principal) -> frozenset[str]:
        """Return the names of those that somebody may start."""
        return frozenset(name for name, each in self._by_name.items() if each.is_for(principal))

    def named(self, name: str, principal: Principal) -> Offered:
        """Return one by its name; raises `Problem`, the same one for what is not there and what is not the caller's."""
        found = self._by_name.get(name)
        if found is None or not found.is_for(principal):
            raise Problem(
                404,
                "unknown-workflow",
                "there is no such workflow that this caller may start; GET /api/workflows lists those there are",
            )
        return found

    def is_public(self, path: str, method: str | None) -> bool:
        """Whether a request needs no token; without a method, whether there is one that needs none."""
        found = self._by_path.get(path, {})
        return any(each.is_public for at, each in found.items() if method is None or at == method)

    def triggered(self, path: str, principal: Principal | None) -> Mapping[str, Offered]:
        """Return what requests to a path start for somebody, by their method; what is not theirs is not there.

        Without a principal it is what everybody may start.
        """
        found = self._by_path.get(path, {})
        return {
            method: each
            for method, each in found.items()
            if each.is_public or (principal is not None and each.is_for(principal))
        }


def catalogue_of(project: ProjectIndex, engine: Engine) -> tuple[Catalogue, Report]:
    """Check and compile every workflow of a project; the report tells those with errors, which are left out.

    Raises `ConfigError` for a trigger on a path of the server.
    """
    offered, findings = [], []
    for name, document in sorted(project.named("Workflow").items()):
        found = check_document(document, project)
        findings += found
        if not Report.of(found, files=1, texts={}).failed():
            offered.append(_offered(name, document, engine))
    files = {finding.file for finding in findings}
    texts = {file: project.text_of(file) or "" for file in files}
    return Catalogue(offered), Report.of(findings, files=len(files), texts=texts)


def _offered(name: str, document: Document, engine: Engine) -> Offered:
    data = mapping(document.data)
    described = mapping(data.get("metadata")).get("description")
    trigger = _trigger(mapping(mapping(data.get("spec")).get("trigger")))
    if trigger is not None and is_of_server(trigger.path):
        raise ConfigError(
            f"{document.file}: the path {trigger.path!r} of the trigger is one of the server itself; change it"
        )
    return Offered(
        name=name,
        description=described if isinstance(described, str) else "",
        document=document,
        plan=engine.plan(document),
        trigger=trigger,
    )


def _trigger(given: Mapping[str, object]) -> Trigger | None:
    path = given.get("path")
    if not isinstance(path, str):
        return None
    return Trigger(path=path, method=str(given.get("method", "POST")), public=given.get("public") is True)

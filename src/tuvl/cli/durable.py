"""Durable runs on the command line: what is kept of a run when it begins, and how it is performed from that."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast
from uuid import uuid4

from tuvl.cli.options import RunOptions
from tuvl.control import RunControl
from tuvl.durable.definitions import Definitions, digest_of
from tuvl.durable.embedded import EmbeddedRuns
from tuvl.durable.record import DurableJournal
from tuvl.durable.rehearsal import Divergence, Rehearsal
from tuvl.engine.result import RunResult
from tuvl.errors import InputError, UsageError
from tuvl.events.sink import Sink
from tuvl.plan.model import ExecutionPlan
from tuvl.principal import Principal
from tuvl.project.index import ProjectIndex
from tuvl.runtime import Engine
from tuvl.settings import environment, load_settings
from tuvl.shipping.contents import collect
from tuvl.source.document import Document
from tuvl.tools.approval import Approvals, AskedLater, StandingAnswer
from tuvl.values import JsonObject, JsonValue

PAYLOAD_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """What a run was started with."""

    workflow: str
    definition: str
    input: JsonObject
    models: dict[str, str]
    principal: Principal
    timeout_s: float | None
    trace: bool

    def to_json(self) -> JsonObject:
        """Write it as the run's own record keeps it."""
        principal = self.principal
        return {
            "v": PAYLOAD_VERSION,
            "workflow": self.workflow,
            "definition": self.definition,
            "input": self.input,
            "models": dict(self.models),
            "principal": {
                "id": principal.id,
                "tenant": principal.tenant,
                "groups": list[JsonValue](sorted(principal.groups)),
                "scopes": list[JsonValue](sorted(principal.scopes)),
            },
            "timeout_s": self.timeout_s,
            "trace": self.trace,
        }

    @classmethod
    def of(cls, payload: JsonObject) -> "Started":
        """Read it; raises `UsageError` for a form of another tuvl."""
        if payload.get("v") != PAYLOAD_VERSION:
            raise UsageError("the run was begun by another version of tuvl; resume it with that one")
        who = cast(dict[str, JsonValue], payload["principal"])
        return cls(
            workflow=str(payload["workflow"]),
            definition=str(payload["definition"]),
            input=cast(JsonObject, payload["input"]),
            models=cast(dict[str, str], payload["models"]),
            principal=Principal(
                id=str(who["id"]),
                tenant=cast(str | None, who["tenant"]),
                groups=frozenset(cast(list[str], who["groups"])),
                scopes=frozenset(cast(list[str], who["scopes"])),
            ),
            timeout_s=cast(float | None, payload["timeout_s"]),
            trace=bool(payload["trace"]),
        )


def keep_definition(project: ProjectIndex, document: Document) -> str:
    """Keep the files that a run of a workflow is made of; returns their digest."""
    return Definitions(project.state_root).keep(collect(project, only=document).files)


def starting(
    plan: ExecutionPlan,
    document: Document,
    project: ProjectIndex,
    options: RunOptions,
    *,
    data: JsonObject,
    principal: Principal,
) -> Started:
    """Return what a run is started with, its definition kept."""
    return Started(
        workflow=plan.workflow,
        definition=keep_definition(project, document),
        input=data,
        models=dict(options.models),
        principal=principal,
        timeout_s=options.timeout_s,
        trace=options.trace,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Defined:
    """The project that a run goes on with, and whether its files are another now."""

    project: ProjectIndex
    document: Document
    changed: bool


def defined(root: Path, started: Started) -> Defined:
    """Find the definition of a run: the project as it is, when nothing has changed, else what was kept of it."""
    project = ProjectIndex(root)
    document = project.workflow(started.workflow)
    if document is not None and _digest(project, document) == started.definition:
        return Defined(project=project, document=document, changed=False)
    kept = ProjectIndex(Definitions(root).folder(started.definition))
    kept.state_root = root
    document = kept.workflow(started.workflow)
    if document is None:
        raise UsageError(f"the kept definition has no workflow {started.workflow!r}")
    return Defined(project=kept, document=document, changed=True)


def _digest(project: ProjectIndex, document: Document) -> str | None:
    try:
        return digest_of(collect(project, only=document).files)
    except UsageError:
        return None


DEFINITION = "definition"
"""Name of the entries that say which definition a run goes on with from there."""


def last_definition(rows: Mapping[str, JsonObject], started: Started) -> Started:
    """Return what a run was started with, with the definition that it has come to."""
    changes = [row for name, row in rows.items() if name.startswith(f"{DEFINITION}#")]
    if not changes:
        return started
    return replace(started, definition=str(max(changes, key=lambda row: float(cast(float, row["t"])))["value"]))


async def rehearse(
    project: ProjectIndex, document: Document, started: Started, run_id: str, rows: Mapping[str, JsonObject]
) -> Divergence | None:
    """Go through a record with a definition, doing nothing; returns where the two first part."""
    engine = Engine(project, settings=load_settings(), environ=environment(), model_overrides=started.models)
    journal = Rehearsal({name: row for name, row in rows.items() if not name.startswith(f"{DEFINITION}#")})
    try:
        await engine.run(
            _unhooked(engine.plan(document)),
            started.input,
            principal=started.principal,
            run_id=run_id,
            approvals=AskedLater(),
            journal=journal,
        )
    except InputError as error:
        return Divergence(at="input", why=str(error))
    finally:
        await engine.aclose()
    return journal.divergence()


def _unhooked(plan: ExecutionPlan) -> ExecutionPlan:
    """Return a plan that tells nobody of what is only gone through."""
    return replace(plan, hooks=(), steps={name: replace(step, hooks=()) for name, step in plan.steps.items()})


async def begin(
    engine: Engine,
    plan: ExecutionPlan,
    started: Started,
    *,
    root: Path,
    control: RunControl,
    sinks: Sequence[Sink],
    approvals: Approvals,
    say: Callable[[str], None],
) -> RunResult:
    """Run a plan on a new record, to its end or to where it waits."""
    run_id = uuid4().hex

    async def perform(payload: JsonObject, journal: DurableJournal) -> RunResult:
        say(f"durable run {run_id}; `tuvl resume {run_id}` goes on with it when this process is lost")
        return await performed(
            engine, plan, Started.of(payload), run_id, journal, control=control, sinks=sinks, approvals=approvals
        )

    ended = await EmbeddedRuns(root).start(run_id, started.to_json(), perform)
    assert ended.result is not None
    return ended.result


async def performed(
    engine: Engine,
    plan: ExecutionPlan,
    started: Started,
    run_id: str,
    journal: DurableJournal,
    *,
    control: RunControl,
    sinks: Sequence[Sink],
    approvals: Approvals,
) -> RunResult:
    """Run a plan on its record, as it was started."""
    return await engine.run(
        plan,
        started.input,
        control=control,
        sinks=sinks,
        principal=started.principal,
        timeout_s=started.timeout_s,
        run_id=run_id,
        trace=started.trace,
        approvals=durable_approvals(approvals),
        journal=journal,
    )


def durable_approvals(approvals: Approvals) -> Approvals:
    """Return who approves in a durable run: where nobody can be asked, it waits instead of being refused."""
    nobody = isinstance(approvals, StandingAnswer) and approvals.by == "nobody"
    return AskedLater() if nobody else approvals

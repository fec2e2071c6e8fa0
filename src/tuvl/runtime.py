"""The composition root: settings and a project → an engine that compiles workflows and runs them."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from uuid import uuid4

from tuvl.agent.paced import paced
from tuvl.agent.recorded import restored
from tuvl.clock import Clock, SystemClock
from tuvl.control import RunControl
from tuvl.data.patience import answering
from tuvl.data.run_records import RunRecords, StoreAccess
from tuvl.data.run_rows import RunRow
from tuvl.data.sessions import DataAccess, RunData
from tuvl.engine.keeping import goes_on, keeps_records, kept, leaves
from tuvl.engine.masking import masked
from tuvl.engine.places import Places
from tuvl.engine.result import RunResult
from tuvl.engine.run import RunPorts, run_plan
from tuvl.engine.telling import hide_by_record, tell_by_record
from tuvl.errors import UsageError
from tuvl.events.fanout import Fanout
from tuvl.events.sink import Sink
from tuvl.http.client import HttpClient
from tuvl.journal import NO_JOURNAL, Journal, RunJournal
from tuvl.leftovers import noting
from tuvl.llm.factory import make_model
from tuvl.llm.litellm_model import close_connections
from tuvl.llm.messages import ChatModel
from tuvl.llm.pacing import LocalPaces, Paces, Rate
from tuvl.llm.recording import Recorder
from tuvl.llm.replay import Replay
from tuvl.mcp.pool import McpPool
from tuvl.metrics import Counters
from tuvl.plan.compile import compile_workflow
from tuvl.plan.compile_model_op import node_source
from tuvl.plan.model import ExecutionPlan, ModelPlan
from tuvl.plan.sources import sources_written
from tuvl.principal import Principal
from tuvl.project.index import ProjectIndex
from tuvl.settings import Settings
from tuvl.source.document import Document
from tuvl.steps.base import Oversight, StandIn
from tuvl.supervision.runs import Registry, RunInfo
from tuvl.tools.approval import Approvals, StandingAnswer
from tuvl.values import JsonObject


class Engine:
    """Runs the workflows of one project, any number at once. Close it with `aclose` in the loop it was used in."""

    def __init__(
        self,
        project: ProjectIndex,
        *,
        settings: Settings,
        environ: Mapping[str, str],
        model_overrides: Mapping[str, str] | None = None,
        record: Path | None = None,
        replay: Path | None = None,
        clock: Clock | None = None,
        chat_models: Callable[[ModelPlan], ChatModel | None] | None = None,
        stand_in: StandIn | None = None,
        registry: Registry | None = None,
        paces: Paces | None = None,
    ) -> None:
        """Wire an engine; nothing is opened before the first run.

        Args:
            project: The project whose workflows are run.
            settings: Bounds and modes that the environment sets.
            environ: Where `${VAR}` of configuration fields is read from.
            model_overrides: Name that agents call a model by → preset or provider string to call instead.
            record: File that gets what the models answered, as a script, when a run ends.
            replay: Such a file; models are then not called, and a request that differs fails.
            clock: Time; the real one unless a test holds the hands.
            chat_models: Gives models in place of presets and providers; for `None` the model is made as ever.
            stand_in: Gives results in place of the work of steps; for `None` the step works as ever.
            registry: Lets runs that are on record be seen and controlled from other processes; closed with the engine.
            paces: Where the rate limits of models are kept; without it they hold for the runs of this engine.
        """
        self._project = project
        self._settings = settings
        self._environ = environ
        self._overrides = dict(model_overrides or {})
        self._record = record
        self._replay = replay
        self._clock: Clock = clock or SystemClock()
        self._chat_models = chat_models
        self._stand_in = stand_in
        self._paces: Paces = paces or LocalPaces(self._clock)
        self._places = Places(self._clock)
        self._http = HttpClient()
        self.counters = Counters()
        """What was counted over all runs."""
        self._data = DataAccess(environ, lambda: node_source(project))
        self._registry: Registry | None = None
        self._store = StoreAccess(str(project.state_root), settings.database_url, settings.record_keys)
        if registry is not None:
            self.show_runs(registry)

    def plan(self, workflow: Document) -> ExecutionPlan:
        """Compile a workflow; raises `ConfigError` for every mistake that `tuvl validate` calls an error."""
        return compile_workflow(workflow, self._project, models=self._overrides)

    async def run(
        self,
        plan: ExecutionPlan,
        input: JsonObject,
        *,
        control: RunControl | None = None,
        sinks: Sequence[Sink] = (),
        principal: Principal | None = None,
        timeout_s: float | None = None,
        run_id: str | None = None,
        trace: bool = False,
        approvals: Approvals | None = None,
        journal: RunJournal | None = None,
        on_record: bool = False,
    ) -> RunResult:
        """Run a plan once, to its end. Without `approvals`, every tool call that needs one is refused.

        With a `journal` the run is durable: what is recorded there is not done again, and the run is on record. With
        `on_record` a run that is not durable is on record, too, from its beginning.

        Raises `ConfigError`, `UsageError` or `InputError` when the run cannot begin; every later fault is in the
        result. Cancelling the call stops the run; `control.abort()` stops it with a result.
        """
        rehearses = journal is not None and journal.rehearses
        wanted = not rehearses and (on_record or journal is not None or keeps_records(plan))
        if wanted:
            await self._store.ready()
        recorder = Recorder(self._record) if self._record is not None else None
        replay = Replay.load(self._replay) if self._replay is not None else None
        models = _RunModels(
            lambda model: self._make_model(model, recorder, replay),
            (lambda model: model) if journal is None else partial(restored, journal=journal),
        )
        fanout = Fanout(sinks)
        run_id, principal = run_id or uuid4().hex, principal or Principal()
        data = RunData(self._data, durable=journal is not None)
        passing = journal is None and self._shows(plan)
        records = self._records(plan, run_id, principal, data, passing=passing)
        if not rehearses and (on_record or journal is not None):
            await records.open(again=journal is not None and journal.begun)
        servers = McpPool(environ=self._environ, http=self._http)
        ports = RunPorts(
            settings=self._settings,
            environ=self._environ,
            http=self._http,
            mcp=servers,
            model_for=models.get,
            clock=self._clock if journal is None else journal.clock,
            control=control or RunControl(pause_max_s=self._settings.agent_pause_max_s),
            principal=principal,
            accept=fanout.accept if fanout.listening else None,
            transactions=data,
            secure=data.secure,
            records=records,
            approvals=approvals or StandingAnswer(),
            counters=self.counters,
            stand_in=self._stand_in,
            oversight_of=_oversight_of,
            journal=NO_JOURNAL if journal is None else journal,
        )
        if journal is not None:
            if not rehearses:
                tell_by_record(journal, ports.control, hear=partial(self._hear, run_id))
            hide_by_record(journal, data.secure)
        elapsed_s = 0.0 if journal is None or rehearses else journal.elapsed_s
        try:
            shown = nullcontext() if rehearses else self._registered(plan, run_id, ports.control, principal)
            # What has begun waits for its store as long as that takes, also where a request has begun it.
            with noting() as left, shown, answering(False):
                async with self._place(plan, ports.control, timeout_s, durable=journal is not None) as waited_s:
                    elapsed_s += waited_s
                    result = await run_plan(
                        plan, input, ports, run_id=run_id, timeout_s=timeout_s, elapsed_s=elapsed_s, trace=trace
                    )
            result = masked(replace(result, warnings=(*result.warnings, *left)), data.secure)
            if leaves(result):
                records.leave()
            else:
                result = await kept(result, records, wanted=wanted)
                if journal is not None and not rehearses and not goes_on(result):
                    await data.forget(run_id, sources_written(plan) if journal.begun else ())
        except asyncio.CancelledError:
            if journal is not None:
                records.leave()  # cut off, not ended: it goes on from its record
            raise
        finally:
            await servers.aclose()
            await records.interrupted()
            await models.aclose()
            await fanout.aclose()
        return result if recorder is None else _saved(result, recorder)

    def show_runs(self, registry: Registry) -> None:
        """Let runs be seen and controlled by a registry; said before the first of them, and closed with the engine."""
        self._registry, self._store = registry, registry.access

    def _place(
        self, plan: ExecutionPlan, control: RunControl, timeout_s: float | None, *, durable: bool
    ) -> AbstractAsyncContextManager[float]:
        """Have a place among the runs of a workflow; whoever performs durable runs has given them theirs."""
        most = None if durable else plan.limits.concurrency
        bounds = [bound for bound in (timeout_s, plan.limits.timeout_s) if bound is not None]
        return self._places.one(plan.workflow, most, control, timeout_s=min(bounds, default=None))

    def pace_by(self, paces: Paces) -> None:
        """Keep the rate limits of models where others see them; said before the first run."""
        self._paces = paces

    def _shows(self, plan: ExecutionPlan) -> bool:
        """Whether others see the runs of a plan, and that their process is alive."""
        return self._registry is not None and (self._registry.every_run or keeps_records(plan))

    def _registered(
        self, plan: ExecutionPlan, run_id: str, control: RunControl, principal: Principal
    ) -> AbstractContextManager[None]:
        if self._registry is None or not self._shows(plan):
            return nullcontext()
        info = RunInfo(
            run_id=run_id,
            workflow=plan.workflow,
            schema_version=plan.schema_version,
            principal=principal.id,
            tenant=principal.tenant,
            started_at=self._clock.now(),
        )
        return self._registry.register(run_id, control, info)

    async def _hear(self, run_id: str) -> None:
        if self._registry is not None:
            await self._registry.hear(run_id)

    async def aclose(self) -> None:
        """Let go of connections."""
        await self._data.aclose()
        if self._registry is not None:
            await self._registry.aclose()
        await self._store.aclose()
        await self._http.aclose()
        await close_connections()

    def _records(
        self, plan: ExecutionPlan, run_id: str, principal: Principal, data: RunData, *, passing: bool
    ) -> RunRecords:
        run = RunRow(
            run_id=run_id,
            workflow=plan.workflow,
            schema_version=plan.schema_version,
            principal=principal,
            started_at=self._clock.now(),
            passing=passing,
        )
        return RunRecords(self._store, run, secure=data.secure, clock=self._clock)

    def _make_model(self, plan: ModelPlan, recorder: Recorder | None, replay: Replay | None) -> ChatModel:
        given = None if self._chat_models is None else self._chat_models(plan)
        if given is not None:
            return given
        model = make_model(
            plan.name,
            plan.preset,
            environ=self._environ,
            script_dir=Path(plan.folder) if plan.folder is not None else self._project.root,
            only_hosts=plan.only_hosts,
            http=self._http,
            clock=self._clock,
            recorder=recorder,
            replay=replay,
            known=self._project.presets,
        )
        limit = None if plan.preset is None or replay is not None else plan.preset.spec.rate_limit
        if limit is None:
            return model
        rate = Rate(model=plan.name, calls=limit.calls, per_s=limit.per_seconds)
        return paced(model, rate, self._paces, self._clock)


def _oversight_of(plan: ExecutionPlan, journal: Journal) -> Oversight | None:
    if plan.supervisor is None:
        return None
    from tuvl.supervision.oversight import oversight_of  # most runs have no supervisor

    return oversight_of(plan, journal)


def _saved(result: RunResult, recorder: Recorder) -> RunResult:
    """Save the recording; a run that is over is not lost because its recording is."""
    try:
        recorder.save()
    except UsageError as error:
        return replace(result, warnings=(*result.warnings, str(error)), recording_lost=str(error))
    return result


class _RunModels:
    """The models of one run, each made when it is first called. A scripted one has its place in the script here."""

    def __init__(self, make: Callable[[ModelPlan], ChatModel], restore: Callable[[ChatModel], ChatModel]) -> None:
        self._make = make
        self._restore = restore
        self._models: dict[str, ChatModel] = {}

    def get(self, plan: ModelPlan) -> ChatModel:
        """Return the model of a plan; raises `ConfigError` when it cannot be made."""
        model = self._models.get(plan.name)
        if model is None:
            model = self._models[plan.name] = self._restore(self._make(plan))
        return model

    async def aclose(self) -> None:
        """Close what was made."""
        if self._models:
            await asyncio.gather(*(model.aclose() for model in self._models.values()), return_exceptions=True)

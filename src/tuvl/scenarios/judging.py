"""Asks models about a run: assertions of a scenario that a model judges. What it says is told, and fails nothing."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, assert_never

from tuvl.analysis.policy import allows_model, model_names
from tuvl.clock import SystemClock
from tuvl.dataclass import dataclass
from tuvl.engine.result import RunResult
from tuvl.errors import ConfigError, ModelError, TuvlError
from tuvl.guardrails.guards.llm_judge import RETRY, judge_request, read_judgement
from tuvl.http.client import HttpClient
from tuvl.llm.factory import make_model
from tuvl.llm.litellm_model import close_connections
from tuvl.llm.messages import ChatModel, Usage
from tuvl.llm.meter import Meter
from tuvl.llm.retrying import RetryingModel
from tuvl.plan.compile_guardrails import criteria_of
from tuvl.plan.model import ExecutionPlan, ModelPlan
from tuvl.plan.project import PlanProject
from tuvl.project.index import ProjectIndex
from tuvl.redaction import redact
from tuvl.source.document import Document
from tuvl.spec.scenario import JudgedAssertion
from tuvl.values import dig, dump_json, shorten

JudgedVerdict = Literal["met", "unmet", "skipped", "unanswered"]

_NO_MODEL = "no model: it names none, and `tuvl test` was given no --judge-model"
_NO_JUDGES = "no model is asked here; `tuvl test` asks"
_MOST_CHARACTERS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Judges:
    """Which models judge, and how long each may take."""

    environ: Mapping[str, str]
    timeout_s: float
    """One attempt to get a verdict."""
    model: str | None = None
    """AgentModel or provider string that goes before the ones that scenarios name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What came of one assertion. `skipped` was not asked; `unanswered` was, and no verdict came that can be read."""

    name: str
    over: str
    file: str
    line: int
    column: int
    verdict: JudgedVerdict
    reason: str | None = None
    """Why: the judge's own words where there is a verdict."""
    model: str | None = None
    duration_ms: float = 0.0
    usage: Usage | None = None


async def judge(
    document: Document,
    assertions: tuple[JudgedAssertion, ...],
    result: RunResult | None,
    project: ProjectIndex,
    judges: Judges | None,
) -> tuple[Judged, ...]:
    """Judge a run by each assertion, in order; without `judges`, or a result, each is skipped."""
    if not assertions:
        return ()
    bench = _Bench(document, project, judges, result)
    try:
        return tuple([await bench.judged(index, assertion) for index, assertion in enumerate(assertions)])
    finally:
        await bench.aclose()


class _Bench:
    """The judges of one scenario: each model is made once, so that a scripted one goes on in its script."""

    def __init__(
        self, document: Document, project: ProjectIndex, judges: Judges | None, result: RunResult | None
    ) -> None:
        self._document = document
        self._project = project
        self._judges = judges
        self._result = result
        self._models: dict[str, ChatModel] = {}
        self._http = HttpClient()

    async def judged(self, index: int, assertion: JudgedAssertion) -> Judged:
        """Get the verdict on one assertion."""
        judges, result = self._judges, self._result
        if judges is None:
            return self._told(index, assertion, "skipped", _NO_JUDGES)
        if result is None:
            return self._told(index, assertion, "skipped", "the scenario did not run")
        name = judges.model or assertion.model
        if name is None:
            return self._told(index, assertion, "skipped", _NO_MODEL)
        text = _text_of(result, assertion.over)
        if text is None:
            return self._told(index, assertion, "skipped", f"the run left nothing at `{assertion.over}`")
        started, usage = time.monotonic(), None
        verdict: JudgedVerdict = "unanswered"
        reason: str | None
        try:
            model = self._model(name, judges, assertion)
            request = judge_request(self._criteria(assertion, result), text)
            reply = await model.complete(request)
        except ModelError as error:
            reason = f"the model could not be asked ({error.type}): {error}"
        except TuvlError as error:
            reason = str(error)
        else:
            usage = Meter().count_reply(request, reply, model.price)
            said = read_judgement(reply)
            verdict, reason = _verdict(said.verdict), said.reason
            if verdict == "unanswered":
                reason = "what it said cannot be read as a verdict"
        duration_ms = (time.monotonic() - started) * 1000
        return self._told(index, assertion, verdict, reason, model=name, duration_ms=duration_ms, usage=usage)

    async def aclose(self) -> None:
        """Let go of the models."""
        for model in self._models.values():
            await model.aclose()
        await self._http.aclose()
        if self._models:
            await close_connections()

    def _model(self, name: str, judges: Judges, assertion: JudgedAssertion) -> RetryingModel:
        if name not in self._models:
            plan = self._compiled(name, assertion)
            self._models[name] = make_model(
                plan.name,
                plan.preset,
                environ=judges.environ,
                script_dir=self._project.root if plan.folder is None else Path(plan.folder),
                only_hosts=plan.only_hosts,
                http=self._http,
                known=self._project.presets,
            )
        return RetryingModel(self._models[name], RETRY, timeout_s=judges.timeout_s, clock=SystemClock())

    def _compiled(self, name: str, assertion: JudgedAssertion) -> ModelPlan:
        """Look a model up; raises `ConfigError` for one that the project's policy does not allow."""
        names = model_names(name, self._project)
        if not allows_model(names, self._project):
            raise ConfigError(f"model {names[-1]!r} is none that `policy.allow_models` allows")
        return PlanProject(self._project, {}, _no_workflow).model(name, step=assertion.name)

    def _criteria(self, assertion: JudgedAssertion, result: RunResult) -> str:
        project = PlanProject(self._project, {}, _no_workflow)
        template = criteria_of(assertion.criteria, f"judge {assertion.name!r}", project)
        return template.render_text(result.context).strip()

    def _told(
        self,
        index: int,
        assertion: JudgedAssertion,
        verdict: JudgedVerdict,
        reason: str | None,
        *,
        model: str | None = None,
        duration_ms: float = 0.0,
        usage: Usage | None = None,
    ) -> Judged:
        start = self._document.locate(("spec", "expect", "judge", index)).start
        return Judged(
            name=assertion.name,
            over=assertion.over,
            file=self._document.file,
            line=start.line,
            column=start.column,
            verdict=verdict,
            reason=None if reason is None else shorten(redact(reason), _MOST_CHARACTERS),
            model=model,
            duration_ms=duration_ms,
            usage=usage,
        )


def _no_workflow(name: str) -> ExecutionPlan:
    raise ConfigError(f"workflow {name!r} is none of a judge's")


def _verdict(said: Literal["passed", "refused", "unreadable"]) -> JudgedVerdict:
    match said:
        case "passed":
            return "met"
        case "refused":
            return "unmet"
        case "unreadable":
            return "unanswered"
        case _:
            assert_never(said)


def _text_of(result: RunResult, over: str) -> str | None:
    """Return what is judged; `None` when there is nothing."""
    if over == "trace":
        return "\n".join(dump_json(entry) for entry in result.trace or ()) or None
    try:
        value = result.output if over == "output" else dig(result.context, over.split(".")[1:])
    except KeyError:
        return None
    if value is None:
        return None
    return value if isinstance(value, str) else dump_json(value)

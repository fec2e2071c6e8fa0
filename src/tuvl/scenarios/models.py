"""The models a scenario meets: its own replies, a preset that is a script already, or a refusal."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from tuvl.dataclass import dataclass
from tuvl.errors import ConfigError, ModelError, UsageError
from tuvl.llm.factory import price_of
from tuvl.llm.messages import ChatModel, ModelReply, ModelRequest, Price
from tuvl.llm.script import ScriptedReply, parse_script
from tuvl.llm.scripted import ScriptedModel
from tuvl.plan.guards import LlmJudgeGuard
from tuvl.plan.model import AgentPlan, ExecutionPlan, ModelPlan
from tuvl.scenarios.refusals import Refusals
from tuvl.scenarios.stubs import UNSTUBBED
from tuvl.source.loading import load_data
from tuvl.spec.scenario import ScenarioModel
from tuvl.suggest import did_you_mean
from tuvl.values import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Gives the models of one scenario."""

    scripts: Mapping[str, tuple[ScriptedReply, ...]]
    refusals: Refusals

    @classmethod
    def of(cls, models: Mapping[str, ScenarioModel], folder: Path, plan: ExecutionPlan, refusals: Refusals) -> "Models":
        """Read the scripts; raises `ConfigError` for one that cannot be used, and a model that nothing calls."""
        called = tuple(dict.fromkeys(called_models(plan)))
        for name in models:
            if name not in called:
                hint = did_you_mean(name, called) or (f"it calls {', '.join(called)}" if called else "it calls none")
                raise ConfigError(f"`models` scripts {name!r}, which the workflow does not call; {hint}")
        return cls(scripts={name: _script(name, model, folder) for name, model in models.items()}, refusals=refusals)

    def __call__(self, plan: ModelPlan) -> ChatModel | None:
        """Return the model in place of a preset; `None` leaves a scripted preset as it is."""
        preset = plan.preset
        price = price_of(plan.name, preset)
        script = self.scripts.get(plan.name)
        if script is not None:
            return ScriptedModel(script, name=plan.name, price=price)
        if preset is not None and preset.spec.provider == "scripted":
            return None
        return _RefusedModel(name=plan.name, price=price, refusals=self.refusals)


def called_models(plan: ExecutionPlan) -> Iterator[str]:
    """Yield the names of the models that a plan calls: those of agents, summaries and judges, at any depth."""
    for each in plan.with_nested():
        if each.supervisor is not None and each.supervisor.judge is not None:
            yield each.supervisor.judge.model.name
        for step in each.steps.values():
            if isinstance(step.action, AgentPlan):
                yield from _models_of(step.action)


def _models_of(agent: AgentPlan) -> Iterator[str]:
    yield agent.model.name
    if agent.compaction is not None and agent.compaction.model is not None:
        yield agent.compaction.model.name
    for check in agent.guardrails.checks:
        if isinstance(check, LlmJudgeGuard):
            yield check.model.name


def _script(name: str, model: ScenarioModel, folder: Path) -> tuple[ScriptedReply, ...]:
    if model.script is None:
        replies = [
            item if isinstance(item, str) else item.model_dump(mode="json", by_alias=True, exclude_unset=True)
            for item in model.replies or ()
        ]
        return parse_script(cast(JsonValue, replies), where=f"the replies of model {name!r}")
    try:
        return parse_script(load_data((folder / model.script).read_bytes(), name=model.script), where=model.script)
    except (OSError, UsageError) as error:
        why = (error.strerror or "failed").lower() if isinstance(error, OSError) else str(error)
        raise ConfigError(f"the script {model.script!r} of model {name!r} cannot be used: {why}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _RefusedModel:
    """Stands where a model would be called over the network."""

    name: str
    price: Price | None
    refusals: Refusals

    async def complete(self, request: ModelRequest) -> ModelReply:
        message = f"model {self.name!r} has no replies; add `models: {{ {self.name}: {{ replies: [ … ] }} }}`"
        raise ModelError(self.refusals.add(message), type=UNSTUBBED, retryable=False)

    async def aclose(self) -> None:
        """Nothing is held."""

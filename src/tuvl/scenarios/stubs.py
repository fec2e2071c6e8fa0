"""Stands in for steps: gives what the scenario says, and keeps the others from reaching outside."""

from collections.abc import Mapping
from dataclasses import field
from typing import cast

from tuvl.dataclass import dataclass
from tuvl.errors import StepError
from tuvl.plan.model import ApiCallPlan, FunctionalPlan, HumanPlan, McpPlan, ModelOpPlan, StepPlan
from tuvl.scenarios.answers import Answers
from tuvl.scenarios.refusals import Refusals
from tuvl.spec.scenario import Stub, WorkflowTestSpec
from tuvl.spec.signals import DEFAULT, ERROR
from tuvl.steps.base import StepFailure, StepResult, StepScope
from tuvl.values import JsonObject, JsonValue, copy_json

STUBBED = "stubbed"
UNSTUBBED = "unstubbed"


@dataclass(slots=True)
class Stubs:
    """The `StandIn` of one scenario."""

    workflow: str
    """Name of the workflow that is tested."""
    stubs: Mapping[str, Stub | tuple[Stub, ...]]
    allowed: bool | tuple[str, ...]
    refusals: Refusals
    answers: Answers
    used: dict[str, int] = field(default_factory=dict)
    """Step → how often it was stubbed."""

    @classmethod
    def of(cls, spec: WorkflowTestSpec, refusals: Refusals, answers: Answers) -> "Stubs":
        """Make the stand-in of a scenario."""
        return cls(
            workflow=spec.workflow, stubs=spec.stubs, allowed=spec.allow_effects, refusals=refusals, answers=answers
        )

    def __call__(self, scope: StepScope) -> StepResult | None:
        """Return the result of a step that is stubbed or answered.

        Raises `StepError` for one that may not reach outside, and `Suspended` for one that waits for a person.
        """
        key = self._key(scope)
        stub = self._next(key)
        if stub is not None:
            return _result(scope.step, stub)
        if isinstance(scope.step.action, HumanPlan):
            return self.answers.to(key, scope.step.action, scope)
        reason = _reach(scope.step)
        if reason is None or self.allowed is True or (isinstance(self.allowed, tuple) and key in self.allowed):
            return None
        message = f"step {key!r} {reason} and has no stub; add `stubs: {{ {key}: {{ delta: … }} }}`, or name it in"
        raise StepError(self.refusals.add(f"{message} `allow_effects`"), type=UNSTUBBED)

    def _key(self, scope: StepScope) -> str:
        plan = scope.services.plan
        return scope.step.id if plan.workflow == self.workflow else f"{plan.workflow}/{scope.step.id}"

    def _next(self, key: str) -> Stub | None:
        stub = self.stubs.get(key)
        if not isinstance(stub, tuple):
            return stub
        number = self.used.get(key, 0)
        self.used[key] = number + 1
        return stub[min(number, len(stub) - 1)] if stub else None


def _result(step: StepPlan, stub: Stub) -> StepResult:
    failure = None
    if stub.error is not None:
        failure = StepFailure(type=stub.error_type or STUBBED, message=stub.error)
    has_output = "output" in stub.model_fields_set
    return StepResult(
        signal=stub.signal or (DEFAULT if failure is None else ERROR),
        delta=cast(JsonObject, copy_json(cast(JsonValue, stub.delta))),
        failure=failure,
        output=copy_json(stub.output),
        has_output=has_output,
    )


def _reach(step: StepPlan) -> str | None:
    """Say how a step reaches outside, if it does."""
    match step.action:
        case ApiCallPlan():
            return "calls an API"
        case McpPlan():
            return "calls an MCP server"
        case ModelOpPlan():
            return "uses a database"
        case FunctionalPlan() if step.effects == "write":
            return "may write (a node with `effects: write`, or with none declared)"
        case _:
            return None

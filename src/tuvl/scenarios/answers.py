"""Stands in for the persons that HumanInTheLoop steps ask: they say what the scenario gives, and then nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import cast

from tuvl.dataclass import dataclass
from tuvl.errors import StepError, UsageError
from tuvl.journal import Suspended
from tuvl.plan.model import HumanPlan
from tuvl.scenarios.refusals import Refusals
from tuvl.spec.scenario import WorkflowTestSpec
from tuvl.steps.base import StepResult, StepScope
from tuvl.steps.human import answered, question_of, refuse_fields
from tuvl.values import JsonObject, JsonValue, KeyPath, copy_json

REFUSED = "answer_refused"


@dataclass(slots=True)
class Answers:
    """The answers of one scenario; a list gives one each time the step asks, a single one every time."""

    given: Mapping[str, Mapping[str, object] | Sequence[Mapping[str, object]]]
    waits: bool
    """Whether the scenario expects that the run ends with a question."""
    refusals: Refusals
    asked: dict[str, int] = field(default_factory=dict)
    """Step → how often it has asked."""

    @classmethod
    def of(cls, spec: WorkflowTestSpec, refusals: Refusals) -> "Answers":
        """Take those of a scenario."""
        return cls(given=spec.answers, waits=spec.expect.status == "suspended", refusals=refusals)

    def to(self, key: str, plan: HumanPlan, scope: StepScope) -> StepResult:
        """Answer a step as a person would.

        Raises `StepError` for an answer that does not fit, and `Suspended` when there is none.
        """
        wait = question_of(plan, scope)
        path, answer = self._next(key)
        if answer is None:
            if not self.waits:
                self.refusals.add(
                    f"step {key!r} asks a person, and the scenario gives no answer{self._again(key)}; add "
                    f"`answers: {{ {key}: {{ {_names(plan)} }} }}`, or expect `status: suspended`",
                    path,
                )
            raise Suspended(wait)
        try:
            refuse_fields(wait.asked, answer)
        except UsageError as error:
            self.refusals.add(f"step {key!r}: {error}", path)
            raise StepError(str(error), type=REFUSED) from error
        return answered(plan, answer)

    def _next(self, key: str) -> tuple[KeyPath, JsonObject | None]:
        given = self.given.get(key)
        number = self.asked.get(key, 0)
        self.asked[key] = number + 1
        if given is None:
            return ("spec",), None
        path: KeyPath = ("spec", "answers", key)
        if isinstance(given, Mapping):
            return path, _own(given)
        return (path, None) if number >= len(given) else ((*path, number), _own(given[number]))

    def _again(self, key: str) -> str:
        number = self.asked[key]
        return "" if number == 1 else f" for its question {number}"


def _own(answer: Mapping[str, object]) -> JsonObject:
    return cast(JsonObject, copy_json(cast(JsonValue, answer)))


def _names(plan: HumanPlan) -> str:
    return ", ".join(f"{field.name}: …" for field in plan.spec.human_feedback)

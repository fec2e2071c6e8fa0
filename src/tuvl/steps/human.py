"""HumanInTheLoop steps: the run waits until somebody has answered, whatever becomes of its process meanwhile."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from tuvl.errors import StepError, UsageError
from tuvl.journal import Suspended, Wait
from tuvl.plan.model import HumanPlan
from tuvl.principal import Principal
from tuvl.spec.human import FeedbackField
from tuvl.steps.base import StepResult, StepScope
from tuvl.values import JsonObject, JsonValue, NotJsonError, to_json


async def run_human(scope: StepScope) -> StepResult:
    """Ask, and go on with the answer; raises `Suspended` while there is none."""
    plan = scope.step.action
    if not isinstance(plan, HumanPlan):
        raise TypeError(f"step {scope.step.id!r} asks nobody")
    journal = scope.services.journal
    if not journal.keeps:
        raise StepError(
            f"step {scope.step.id!r} waits for a person, which only a durable run can, such as one of "
            "`tuvl run --durable`",
            type="not_durable",
        )
    deadline = await _deadline(scope)
    try:
        answer = cast(JsonObject, await journal.ask(replace(question_of(plan, scope), deadline=deadline)))
    except Suspended:
        # An answer that was given in time counts, whenever the run comes to it.
        if deadline is not None and scope.services.clock.now().timestamp() >= deadline:
            return StepResult(signal="timeout")
        raise
    return answered(plan, cast(JsonObject, answer["answer"]))


def answered(plan: HumanPlan, given: JsonObject) -> StepResult:
    """Return what the step gives for an answer."""
    signal = plan.spec.signal_from
    delta: JsonObject = {plan.output_key: given}
    return StepResult(delta=delta, signal="default" if signal is None else signal_of(given.get(signal)))


async def _deadline(scope: StepScope) -> float | None:
    """Return when the time for an answer is over, in seconds since 1970; it counts from the first time of asking."""
    timeout_s = scope.step.timeout_s
    if timeout_s is None:
        return None

    async def now() -> JsonValue:
        return scope.services.clock.now().timestamp()

    return cast(float, await scope.services.journal.record("asked_at", now)) + timeout_s


def signal_of(value: JsonValue) -> str:
    """Return the signal that an answer stands for."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "default" if value is None else str(value)


def question_of(plan: HumanPlan, scope: StepScope) -> Wait:
    """Return what a person is asked; raises `TemplateError` for a text of it that cannot be rendered."""
    spec, values = plan.spec, scope.values
    assignee = None if plan.assignee is None else plan.assignee.render_text(values).strip()
    asked: JsonObject = {
        "title": plan.title.render_text(values),
        "instruction": None if plan.instruction is None else plan.instruction.render_text(values),
        "shown": {key: values.get(key) for key in spec.ui.display_context},
        "fields": [_field(field) for field in spec.human_feedback],
        "required_group": None if spec.auth is None else spec.auth.required_group,
        "assignee": assignee or None,
        "requested_by": scope.services.principal.id,
    }
    return Wait(
        name="answer",
        kind="question",
        step=scope.place,
        message=f"step {scope.place!r} waits for an answer: {asked['title']}",
        asked=asked,
    )


def _field(field: FeedbackField) -> JsonObject:
    return {
        "name": field.name,
        "type": field.type,
        "required": field.required,
        "label": field.label,
        "choices": None if field.choices is None else list[JsonValue](field.choices),
    }


def refuse_person(asked: JsonObject, who: Principal, also_requested_by: Sequence[str] = ()) -> None:
    """Raise `UsageError` for somebody who may not answer: of another group, not the assignee, or who has asked."""
    group, assignee = asked.get("required_group"), asked.get("assignee")
    missing = who.lacks(scope=None, group=cast(str | None, group))
    if missing is not None:
        raise UsageError(f"principal {who.id!r} may not answer: it needs {missing}")
    if group is not None and who.id in (asked.get("requested_by"), *also_requested_by):
        raise UsageError(f"principal {who.id!r} has asked for this, so that somebody else has to answer")
    if assignee is not None and who.id != assignee:
        raise UsageError(f"principal {who.id!r} may not answer: it is up to {assignee!r}")


def refuse_answer(asked: JsonObject, given: JsonObject, who: Principal, also_requested_by: Sequence[str] = ()) -> None:
    """Raise `UsageError` for an answer that is none, or one of somebody who may not give it."""
    refuse_person(asked, who, also_requested_by)
    refuse_fields(asked, given)


def refuse_fields(asked: JsonObject, given: JsonObject) -> None:
    """Raise `UsageError` for an answer that does not fit what is asked, whoever gives it."""
    try:
        to_json(given, where="answer")
    except NotJsonError as error:
        raise UsageError(f"the answer cannot be kept: {error}") from None
    fields = {str(field["name"]): field for field in cast(list[JsonObject], asked.get("fields") or [])}
    for name in given:
        if name not in fields:
            raise UsageError(f"the answer has {name!r}, which is not asked; asked are {', '.join(fields) or 'nothing'}")
    for name, field in fields.items():
        wrong = _wrong(field, given.get(name))
        if wrong is not None:
            raise UsageError(f"the answer {name!r} {wrong}")


def _wrong(field: JsonObject, value: JsonValue) -> str | None:
    if value is None:
        return "is missing" if field["required"] else None
    if field["required"] and isinstance(value, str) and not value.strip():
        return "is empty, and is asked for"
    match field["type"]:
        case "integer":
            return None if isinstance(value, int) and not isinstance(value, bool) else "is no whole number"
        case "number":
            return None if isinstance(value, int | float) and not isinstance(value, bool) else "is no number"
        case "boolean":
            return None if isinstance(value, bool) else "is neither true nor false"
        case "choice":
            choices = cast(list[JsonValue], field["choices"] or [])
            listed = ", ".join(map(str, choices))
            return None if value in choices else f"is none of {listed}"
        case _:
            return None if isinstance(value, str) else "is no text"

"""Guardrail artifacts → `GuardrailSites`: schemas, patterns and criteria settled before anything runs."""

from typing import assert_never

from tuvl.analysis.pattern import pattern_problem
from tuvl.analysis.reference_faults import allowed_data_models
from tuvl.analysis.steps import WorkflowView, items, mapping, text
from tuvl.artifacts.reference import is_reference
from tuvl.errors import ConfigError
from tuvl.linear_regex import LinearRegex
from tuvl.plan.compile_schema import compile_schema
from tuvl.plan.guards import (
    GuardPlan,
    GuardrailPlan,
    GuardrailSites,
    JsonSchemaGuard,
    LlmJudgeGuard,
    MaxCharsGuard,
    PiiMaskGuard,
    RegexDenyGuard,
)
from tuvl.plan.project import PlanProject
from tuvl.spec.agent import Guardrails
from tuvl.spec.artifact import (
    Check,
    GuardrailSpec,
    JsonSchemaCheck,
    LlmJudgeCheck,
    MaxCharsCheck,
    PiiMaskCheck,
    RegexDenyCheck,
)
from tuvl.templating.render import Template, literal_template


def compile_guardrails(
    guardrails: Guardrails, *, step: str, workflow: WorkflowView, project: PlanProject
) -> GuardrailSites:
    """Compile the guardrails of an agent, site by site."""

    def site(name: str, references: tuple[str, ...]) -> tuple[GuardrailPlan, ...]:
        where = f"step {step!r} field 'agent.guardrails.{name}"
        return tuple(
            _guardrail(reference, f"{where}[{index}]'", step, workflow, project)
            for index, reference in enumerate(references)
        )

    return GuardrailSites(
        input=site("input", guardrails.input),
        tools=site("tools", guardrails.tools),
        output=site("output", guardrails.output),
    )


def _guardrail(reference: str, where: str, step: str, workflow: WorkflowView, project: PlanProject) -> GuardrailPlan:
    name, spec = project.structured(reference, site="guardrails", where=where)
    if not isinstance(spec, GuardrailSpec):
        raise ConfigError(f"{where}: {reference!r} is no guardrail")
    checks = tuple(
        _check(check, f"guardrail {name!r} check {index + 1} ({check.check})", step, workflow, project)
        for index, check in enumerate(spec.checks)
    )
    return GuardrailPlan(artifact=name, checks=checks)


def _check(check: Check, where: str, step: str, workflow: WorkflowView, project: PlanProject) -> GuardPlan:
    match check:
        case JsonSchemaCheck():
            return JsonSchemaGuard(schema=compile_schema(check.schema_, where=where))
        case RegexDenyCheck():
            return RegexDenyGuard(patterns=tuple(_pattern(pattern, where) for pattern in check.patterns))
        case MaxCharsCheck():
            return MaxCharsGuard(limit=check.limit)
        case PiiMaskCheck():
            fields = _secure_fields(workflow, project) if check.fields is None else check.fields
            return PiiMaskGuard(fields=tuple(fields))
        case LlmJudgeCheck():
            return LlmJudgeGuard(
                model=project.model(check.model, step=step),
                criteria=criteria_of(check.criteria, where, project),
                on_judge_error=check.on_judge_error,
            )
        case _:
            assert_never(check)


def _pattern(pattern: str, where: str) -> LinearRegex:
    problem = pattern_problem(pattern)
    if problem is not None:
        raise ConfigError(f"{where}: regular expression {pattern!r}: {problem}")
    return LinearRegex(pattern)


def criteria_of(text: str, where: str, project: PlanProject) -> Template:
    """Return what a judge goes by: an artifact, or literal text."""
    return project.prose(text, site="criteria", where=where) if is_reference(text) else literal_template(text)


def _secure_fields(workflow: WorkflowView, project: PlanProject) -> list[str]:
    """Return the `secure` fields of the data models that the workflow may touch."""
    found: dict[str, None] = {}
    for name in allowed_data_models(workflow):
        document = project.index.data_model(name)
        spec = mapping(mapping(document.data if document is not None else None).get("spec"))
        for entry in map(mapping, items(spec.get("fields"))):
            field = text(entry.get("name"))
            if field and entry.get("secure") is True:
                found[field] = None
    return list(found)

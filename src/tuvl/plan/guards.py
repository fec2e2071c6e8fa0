"""Guardrails, compiled: which checks look at an agent's texts, at which site."""

from typing import Literal, TypeAlias

from tuvl.dataclass import dataclass
from tuvl.linear_regex import LinearRegex
from tuvl.plan.language_model import ModelPlan
from tuvl.templating.render import Template
from tuvl.tools.schema import ValueSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonSchemaGuard:
    """The text must be JSON that satisfies a schema."""

    schema: ValueSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class RegexDenyGuard:
    """No pattern may match."""

    patterns: tuple[LinearRegex, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxCharsGuard:
    """The text may not be longer."""

    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PiiMaskGuard:
    """Personal data and the values of these fields are masked."""

    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmJudgeGuard:
    """A model judges the text by criteria; `on_judge_error` is about a model that cannot be asked."""

    model: ModelPlan
    criteria: Template
    on_judge_error: Literal["ignore", "violation"] = "ignore"


GuardPlan: TypeAlias = JsonSchemaGuard | RegexDenyGuard | MaxCharsGuard | PiiMaskGuard | LlmJudgeGuard


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailPlan:
    """A guardrail artifact: `name@version`, and its checks in order."""

    artifact: str
    checks: tuple[GuardPlan, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardrailSites:
    """The guardrails of an agent, by where they look."""

    input: tuple[GuardrailPlan, ...] = ()
    tools: tuple[GuardrailPlan, ...] = ()
    output: tuple[GuardrailPlan, ...] = ()

    @property
    def checks(self) -> tuple[GuardPlan, ...]:
        """Every check at any site."""
        return tuple(check for site in (self.input, self.tools, self.output) for plan in site for check in plan.checks)

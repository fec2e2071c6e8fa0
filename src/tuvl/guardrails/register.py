"""Which guard serves which check: the only list."""

from typing import assert_never

from tuvl.guardrails.guard import Guard, GuardServices, Post
from tuvl.guardrails.guards.json_schema import JsonSchema
from tuvl.guardrails.guards.llm_judge import LlmJudge
from tuvl.guardrails.guards.max_chars import MaxChars
from tuvl.guardrails.guards.pii_mask import PiiMask
from tuvl.guardrails.guards.regex_deny import RegexDeny
from tuvl.guardrails.masking.masker import masker_for
from tuvl.plan.guards import (
    GuardPlan,
    JsonSchemaGuard,
    LlmJudgeGuard,
    MaxCharsGuard,
    PiiMaskGuard,
    RegexDenyGuard,
)


def guard_for(plan: GuardPlan, services: GuardServices, post: Post) -> Guard:
    """Make the guard of one check, for one agent run."""
    match plan:
        case JsonSchemaGuard():
            return JsonSchema(plan.schema)
        case RegexDenyGuard():
            return RegexDeny(plan.patterns)
        case MaxCharsGuard():
            return MaxChars(plan.limit)
        case PiiMaskGuard():
            return PiiMask(masker_for(plan.fields))
        case LlmJudgeGuard():
            return LlmJudge.of(plan, services, post)
        case _:
            assert_never(plan)

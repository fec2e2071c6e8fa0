"""The limits of a run: the workflow's own, else the project's, never looser than its policy."""

from typing import TypeVar

from tuvl.plan.model import RunLimits
from tuvl.spec.project_config import Policy
from tuvl.spec.workflow import Limits

Number = TypeVar("Number", int, float)


def run_limits(own: Limits, general: Limits | None, policy: Policy) -> RunLimits:
    """Merge limits, field by field."""
    given = own.model_fields_set
    base = {} if general is None else {name: getattr(general, name) for name in general.model_fields_set - given}
    limits = own.model_copy(update=base)
    tokens = stricter(limits.max_tokens, policy.max_tokens_per_run)
    cost = stricter(limits.max_cost_usd, policy.max_cost_usd_per_run)
    return RunLimits(
        max_steps=limits.max_steps,
        timeout_s=limits.timeout_s,
        max_tokens=tokens,
        max_cost_usd=cost,
        max_context_bytes=limits.max_context_bytes,
        concurrency=limits.concurrency,
        max_tokens_field="limits.max_tokens" if tokens == limits.max_tokens else "policy.max_tokens_per_run",
        max_cost_field="limits.max_cost_usd" if cost == limits.max_cost_usd else "policy.max_cost_usd_per_run",
    )


def stricter(one: Number | None, other: Number | None) -> Number | None:
    """Return the smaller bound; `None` is no bound."""
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)

"""The bounds of a whole run: the workflow's own, else the project's, never looser than its policy."""

from collections.abc import Mapping
from typing import Any

from tuvl.analysis.language_models import positive, whole
from tuvl.analysis.steps import WorkflowView, mapping
from tuvl.analysis.surroundings import Surroundings, spec_of
from tuvl.dataclass import dataclass

MAX_CONTEXT_BYTES = 262_144
MAX_STEPS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBounds:
    """Bounds of a run; `None` is off. The fields name where each one stands."""

    max_steps: int = MAX_STEPS
    max_context_bytes: int = MAX_CONTEXT_BYTES
    timeout_s: float | None = None
    max_tokens: int | None = None
    max_tokens_field: str = "limits.max_tokens"
    max_cost_usd: float | None = None
    max_cost_field: str = "limits.max_cost_usd"


def run_bounds(workflow: WorkflowView, project: Surroundings) -> RunBounds:
    """Read them; what is no number counts as not given."""
    spec = spec_of(project.config)
    own, general, policy = (
        mapping(workflow.spec.get("limits")),
        mapping(spec.get("limits")),
        mapping(spec.get("policy")),
    )

    def given(name: str) -> object:
        source: Mapping[str, Any] = own if name in own else general
        return source.get(name)

    tokens, most_tokens = whole(given("max_tokens")), whole(policy.get("max_tokens_per_run"))
    cost, most_cost = positive(given("max_cost_usd")), positive(policy.get("max_cost_usd_per_run"))
    by_policy = most_tokens is not None and (tokens is None or most_tokens < tokens)
    dear_policy = most_cost is not None and (cost is None or most_cost < cost)
    return RunBounds(
        max_steps=whole(given("max_steps")) or MAX_STEPS,
        max_context_bytes=whole(given("max_context_bytes")) or MAX_CONTEXT_BYTES,
        timeout_s=positive(given("timeout_s")),
        max_tokens=most_tokens if by_policy else tokens,
        max_tokens_field="policy.max_tokens_per_run" if by_policy else "limits.max_tokens",
        max_cost_usd=most_cost if dear_policy else cost,
        max_cost_field="policy.max_cost_usd_per_run" if dear_policy else "limits.max_cost_usd",
    )

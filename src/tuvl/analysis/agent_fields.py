"""The fields of an agent that bound it, with their defaults, read from a file in whatever state."""

from tuvl.analysis.amount import Amount, exactly, unbounded
from tuvl.analysis.language_models import Lookup, ModelFacts, model_facts, positive, whole
from tuvl.analysis.measure import Measure
from tuvl.analysis.steps import StepView, items, mapping
from tuvl.analysis.surroundings import Surroundings
from tuvl.dataclass import dataclass

MAX_ITERATIONS = 8
RESULT_MAX_CHARS = 8000
MAX_BACKOFF_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFields:
    """What of an `agent:` block counts for its worst case; `None` is off."""

    autonomous: bool
    model: ModelFacts
    iterations: int
    attempts: int
    """Attempts of one model call."""
    timeout_s: float
    max_backoff_s: float
    output: int | None
    """`max_output_tokens` of the agent itself."""
    token_budget: int | None
    cost_budget_usd: float | None
    max_wall_clock_s: float | None
    max_tool_calls: int | None
    max_calls_per_turn: int | None
    concurrency: int
    result_chars: int
    result_bytes: int | None
    answer_retries: int
    max_continuations: int
    request_bytes: int | None
    """`context_limits.max_bytes`."""

    def reply(self) -> Amount:
        """Tokens of one reply."""
        return self.model.longest_reply(self.output, "max_output_tokens")

    def calls_per_turn(self, measure: Measure) -> Amount:
        """Tool calls of one reply; each takes tokens to ask for."""
        found = self.reply()
        if found.value is not None:
            found = exactly(max(1, found.value // measure.tokens_per_call), *found.by)
        for name, bound in (
            ("max_tool_calls", self.max_tool_calls),
            ("max_calls_per_turn", self.max_calls_per_turn),
        ):
            if bound is not None:
                found = found.at_most(exactly(bound, name))
        return unbounded("max_calls_per_turn", "max_tool_calls") if found.value is None else found

    def tool_calls(self, measure: Measure) -> Amount:
        """Tool calls of one run of the agent."""
        found = self.calls_per_turn(measure) * exactly(self.iterations, "max_iterations")
        return found if self.max_tool_calls is None else found.at_most(exactly(self.max_tool_calls, "max_tool_calls"))


def agent_fields(step: StepView, project: Surroundings, lookup: Lookup) -> AgentFields:
    """Read them."""
    agent = step.agent
    model = model_facts(agent.get("model"), project, lookup)
    retry, autonomous = mapping(agent.get("retry")), step.mode == "autonomous"
    on = retry["on"] if isinstance(retry.get("on"), list) else ["timeout", "error"]
    declared = whole(retry.get("attempts")) or 1
    return AgentFields(
        autonomous=autonomous,
        model=model,
        iterations=_iterations(step, declared if "parse_error" in on else 1),
        attempts=declared if {"timeout", "error"} & {each for each in items(on) if isinstance(each, str)} else 1,
        timeout_s=positive(agent.get("timeout_s")) or model.timeout_s,
        max_backoff_s=positive(retry.get("max_backoff_s")) or MAX_BACKOFF_S,
        output=whole(agent.get("max_output_tokens")),
        token_budget=whole(agent.get("token_budget")),
        cost_budget_usd=positive(agent.get("cost_budget_usd")),
        max_wall_clock_s=positive(agent.get("max_wall_clock_s")),
        max_tool_calls=whole(agent.get("max_tool_calls")),
        max_calls_per_turn=whole(agent.get("max_calls_per_turn")),
        concurrency=whole(agent.get("tool_concurrency")) or 1,
        result_chars=whole(agent.get("tool_result_max_chars")) or RESULT_MAX_CHARS,
        result_bytes=whole(agent.get("tool_result_max_bytes")),
        answer_retries=whole(agent.get("answer_retries")) or 0,
        max_continuations=whole(agent.get("max_continuations")) or 3,
        request_bytes=whole(mapping(agent.get("context_limits")).get("max_bytes")),
    )


def _iterations(step: StepView, completion_tries: int) -> int:
    if step.mode == "completion":
        return completion_tries
    return whole(step.agent.get("max_iterations")) or MAX_ITERATIONS

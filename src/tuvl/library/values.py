"""What bounds and shapes a run, as values that are checked where they are written down."""

from dataclasses import replace

from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.given import able, flag, items, not_negative, one_of, positive, text
from tuvl.llm.messages import ChatModel
from tuvl.plan.model import AgentLimits, CompactionPlan, ConcludePlan, RetryPlan
from tuvl.tools.toolbox import ToolPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(AgentLimits):
    """Bounds of one run; `None` is off.

    Attributes:
        max_iterations: Model calls, transport retries not counted.
        token_budget: Tokens in all. Tested before each model call: the call that overruns it may finish.
        cost_budget_usd: US dollars in all; needs a model with a known price.
        budget_check: `after_call` tests the budgets also after each model call, before its tools run.
        max_wall_clock_s: Seconds in all, pauses included; cancels what is in flight.
        max_tool_calls: Tool calls in all, unknown and repeated ones included.
        max_calls_per_turn: Calls in one reply; with more, none of them runs.
        max_consecutive_tool_failures: Replies in a row in which every call failed.
        max_repeated_calls: So many calls of one tool with the same arguments and the same result end the run.
        answer_retries: How often a bad final answer is sent back with a correction.
    """

    def __post_init__(self) -> None:
        """Refuse bounds that cannot be meant."""
        where = "Limits"
        positive(where, "max_iterations", self.max_iterations, whole=True)
        positive(where, "token_budget", self.token_budget, whole=True, optional=True)
        positive(where, "cost_budget_usd", self.cost_budget_usd, optional=True)
        one_of(where, "budget_check", self.budget_check, ("turn_start", "after_call"))
        positive(where, "max_wall_clock_s", self.max_wall_clock_s, optional=True)
        positive(where, "max_tool_calls", self.max_tool_calls, whole=True, optional=True)
        positive(where, "max_calls_per_turn", self.max_calls_per_turn, whole=True, optional=True)
        streak = self.max_consecutive_tool_failures
        positive(where, "max_consecutive_tool_failures", streak, whole=True, optional=True)
        positive(where, "max_repeated_calls", self.max_repeated_calls, whole=True, optional=True)
        not_negative(where, "answer_retries", self.answer_retries, whole=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry(RetryPlan):
    """When a model call is made again.

    Attributes:
        attempts: Attempts in all, the first included.
        on: `timeout`, and `error` for every other failure that may pass: connections, 408, 429, 5xx.
        backoff_s: Seconds before the second attempt; doubled for each further one. `Retry-After` is a floor.
        max_backoff_s: Longest wait in seconds.
    """

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        positive("Retry", "attempts", self.attempts, whole=True)
        items("Retry", "on", self.on)
        for reason in self.on:
            one_of("Retry", "on", reason, ("timeout", "error"))
        not_negative("Retry", "backoff_s", self.backoff_s)
        positive("Retry", "max_backoff_s", self.max_backoff_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclude(ConcludePlan):
    """Near a bound, one notice to finish.

    Attributes:
        margin: Notice when this many iterations or fewer are left; 0 is never.
        deadline_s: Notice once the run has taken this many seconds.
        notice: Its text.
        offer_tools: `False`: the last iteration offers no tools.
    """

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        not_negative("Conclude", "margin", self.margin, whole=True)
        positive("Conclude", "deadline_s", self.deadline_s, optional=True)
        text("Conclude", "notice", self.notice)
        flag("Conclude", "offer_tools", self.offer_tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """A long history is kept inside the model's window: its oldest turns become one summary."""

    max_tokens: int
    """Tokens of a request that the percentages count from, such as the model's context window."""
    reserve: int = 0
    """Tokens of it that are kept free for the answer."""
    trigger_percent: float = 80
    """Compact at this fill."""
    target_percent: float = 50
    """Compact down to this fill."""
    recent_tail: int = 8
    """Newest messages that always stay."""
    preserve: frozenset[str] = frozenset()
    """Tools whose calls and results always stay."""
    model: ChatModel | None = None
    """Model that summarises; default the agent's own."""
    calibrate: bool = True
    """Whether estimates are corrected by the usage that the provider reports."""

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        where = "Compaction"
        positive(where, "max_tokens", self.max_tokens, whole=True)
        not_negative(where, "reserve", self.reserve, whole=True)
        positive(where, "max_tokens - reserve", self.max_tokens - self.reserve, whole=True)
        _percent(where, "trigger_percent", self.trigger_percent)
        _percent(where, "target_percent", self.target_percent)
        if self.target_percent >= self.trigger_percent:
            raise UsageError(
                f"{where}: target_percent {self.target_percent:g} is not below trigger_percent"
                f" {self.trigger_percent:g}, so nothing would be compacted"
            )
        positive(where, "recent_tail", self.recent_tail, whole=True)
        items(where, "preserve", self.preserve)
        for tool in self.preserve:
            text(where, "preserve", tool)
        able(where, "model", self.model, "complete")
        flag(where, "calibrate", self.calibrate)

    @property
    def plan(self) -> CompactionPlan:
        """The same in the engine's words; its model goes another way."""
        return CompactionPlan(
            max_tokens=self.max_tokens,
            reserve=self.reserve,
            trigger_percent=self.trigger_percent,
            target_percent=self.target_percent,
            recent_tail=self.recent_tail,
            preserve=frozenset(self.preserve),
            calibrate=self.calibrate,
        )


def _percent(where: str, name: str, value: object) -> None:
    positive(where, name, value)
    if isinstance(value, int | float) and value > 100:
        raise UsageError(f"{where}: {name} is {value:g}; it must be 100 at most")


def with_heartbeat(policy: ToolPolicy, every_s: float | None) -> ToolPolicy:
    """Return the policy with the heartbeat of the run, unless it has one of its own."""
    return policy if every_s is None or policy.heartbeat_s is not None else replace(policy, heartbeat_s=every_s)

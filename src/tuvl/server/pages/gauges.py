"""Gauges: what a run has used of each of its bounds, as a figure, a share and words."""

from collections.abc import Iterator

from tuvl.dataclass import dataclass
from tuvl.server.following import FollowedStep
from tuvl.server.pages.bounds import AgentBounds, Bounds
from tuvl.wording import cost, seconds

NEAR = 0.8
"""Share of a bound from which a gauge says that it is near."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """One bound and what is used of it."""

    id: str
    label: str
    value: float
    limit: float
    text: str
    """What is used of how much, in words."""

    @property
    def share(self) -> float:
        """What is used, from 0 to 1; more than the bound counts as all of it."""
        return min(1.0, self.value / self.limit) if self.limit > 0 else 1.0

    @property
    def percent(self) -> str:
        """The share in words."""
        return f"{self.share * 100:.0f} %"

    @property
    def state(self) -> str:
        """Class of the style sheet: `calm`, `near` or `full`."""
        return "full" if self.share >= 1 else "near" if self.share >= NEAR else "calm"

    @property
    def warning(self) -> str:
        """What there is to say of the state, beside the figures; nothing while it is calm."""
        return {"full": "used up", "near": "nearly used up"}.get(self.state, "")

    @property
    def high(self) -> float:
        """The value from which it is near."""
        return self.limit * NEAR


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """The gauges of the run, or of one agent."""

    id: str
    title: str
    gauges: tuple[Gauge, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What a run has used so far; `None` is not known."""

    steps: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    cost_usd: float | None = None


def run_panel(bounds: Bounds, used: Used) -> Panel:
    """Return the gauges of the run itself; what has no bound has no gauge."""
    return Panel(id="run", title="The run", gauges=tuple(_of_run(bounds, used)))


def _of_run(bounds: Bounds, used: Used) -> Iterator[Gauge]:
    yield from _whole("run-steps", "Steps", used.steps, bounds.steps)
    yield from _seconds("run-time", "Time", used.seconds, bounds.seconds)
    yield from _whole("run-tokens", "Tokens", used.tokens, bounds.tokens)
    yield from _dollars("run-cost", "Cost", used.cost_usd, bounds.cost_usd)


def agent_panel(number: int, name: str, bounds: AgentBounds, step: FollowedStep, busy_s: float) -> Panel:
    """Return the gauges of one execution of an agent, the last one."""
    prefix = f"agent-{number}"
    gauges = (
        *_whole(f"{prefix}-turns", "Turns", step.turn, bounds.turns),
        *_whole(f"{prefix}-tools", "Tool calls", step.tool_calls, bounds.tool_calls),
        *_seconds(f"{prefix}-time", "Time", busy_s, bounds.seconds),
        *_whole(f"{prefix}-tokens", "Tokens", step.tokens, bounds.tokens),
        *_dollars(f"{prefix}-cost", "Cost", step.cost_usd, bounds.cost_usd),
    )
    return Panel(id=prefix, title=name, gauges=gauges)


def _whole(id: str, label: str, used: int | None, bound: int | None) -> Iterator[Gauge]:
    if used is not None and bound is not None:
        yield Gauge(id=id, label=label, value=used, limit=bound, text=f"{used:,} of {bound:,}")


def _seconds(id: str, label: str, used: float | None, bound: float | None) -> Iterator[Gauge]:
    if used is not None and bound is not None:
        text = f"{seconds(used)} of {seconds(bound)}"
        yield Gauge(id=id, label=label, value=round(used, 3), limit=bound, text=text)


def _dollars(id: str, label: str, used: float | None, bound: float | None) -> Iterator[Gauge]:
    if used is not None and bound is not None:
        yield Gauge(id=id, label=label, value=used, limit=bound, text=f"{cost(used)} of {_bound(bound)}")


def _bound(dollars: float) -> str:
    return f"${dollars:,.2f}" if round(dollars, 2) == dollars else cost(dollars)

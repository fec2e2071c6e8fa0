"""What a guard is, what it may use of the run, and how it objects."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, Protocol, TypeAlias

from tuvl.clock import Clock
from tuvl.dataclass import dataclass
from tuvl.llm.messages import ChatModel, Usage
from tuvl.llm.meter import Meter
from tuvl.plan.language_model import ModelPlan
from tuvl.values import JsonValue

Site: TypeAlias = Literal["input", "tools", "output"]

Verdict: TypeAlias = Literal["passed", "refused", "unreadable", "unanswered"]


class Objection(Exception):
    """The text may not pass; the message says why in one clause, never with the text. It stays inside this package."""


class Guard(Protocol):
    """One check of a guardrail; it is shared by everything one agent run sends through its site."""

    @property
    def check(self) -> str:
        """Name of the check, as it is written in the file."""
        ...

    async def look(self, text: str) -> str:
        """Return the text that may go on, or raise `Objection`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """Where a guard stands: the artifact it comes from as `name@version`, and the site it looks at.

    The judge of a supervisor stands between the turns, and comes from no artifact.
    """

    artifact: str
    site: Site | Literal["turns"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCall:
    """One question to a judge, for the record: what came of it and what it used; never the text, nor the reason."""

    post: Post
    model: str
    verdict: Verdict
    duration_ms: float
    usage: Usage | None = None
    """`None` for a judge that did not answer."""
    error_type: str | None = None
    """Why it did not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardServices:
    """What guards use of the run: judges call models, and what they use counts."""

    model_for: Callable[[ModelPlan], ChatModel]
    meter: Meter
    """The agent's own; what a judge uses is the agent's use."""
    clock: Clock
    judge_timeout_s: float
    values: Mapping[str, JsonValue]
    """What criteria that are templates are rendered with."""
    require_price: Callable[[ChatModel], None]
    """Refuses a model without a price where a cost bound is set; raises `StepError`."""
    check_budgets: Callable[[], None]
    """Tests the budgets after a call, where the agent wants that; raises `StepError`."""
    judged: Callable[[JudgeCall], Awaitable[None]]
    """Keeps a record of a judge's call; raises `StepError` when it cannot be kept."""

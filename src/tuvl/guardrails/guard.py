"""What a guard is, what it may use of the run, and how it objects."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from tuvl.clock import Clock
from tuvl.llm.messages import ChatModel
from tuvl.llm.meter import Meter
from tuvl.plan.language_model import ModelPlan
from tuvl.values import JsonValue


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

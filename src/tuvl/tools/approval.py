"""A person's yes or no before a tool runs: what is asked, who answers, and when there is something to ask."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from tuvl.errors import TemplateError
from tuvl.templating.render import Template
from tuvl.values import JsonObject, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRule:
    """When a tool's calls need approval: always, or when `condition` gives true; `reason` is told to the person."""

    reason: str
    condition: Template | None = None

    def reason_to_ask(self, arguments: JsonObject, values: Mapping[str, JsonValue]) -> str | None:
        """Return why this call needs approval; `None` when it does not.

        A condition that cannot be evaluated, or gives neither true nor false, asks: in doubt a person looks.
        """
        if self.condition is None:
            return self.reason
        try:
            answer = self.condition.render({**values, **arguments, "args": arguments})
        except TemplateError:
            return f"{self.reason} (which could not be evaluated)"
        return None if answer is False else self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """One call that waits for a decision."""

    run_id: str
    step_id: str
    """The agent whose model made the call."""
    iteration: int
    tool: str
    call_id: str
    arguments: JsonObject
    reason: str
    requested_by: str
    """Id of the principal that the run acts for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalDecision:
    """The answer: `by` says who gave it, `note` is told to the model with a refusal."""

    approved: bool
    by: str
    note: str | None = None


class Approvals(Protocol):
    """Asks whoever may approve. The run waits as long as it takes, and a cancellation ends the wait at once."""

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision:
        """Return the decision on one call."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingAnswer:
    """The same decision on every call, when nobody can be asked."""

    approved: bool = False
    by: str = "nobody"
    note: str | None = "there is nobody to approve it"

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision:
        """Answer at once."""
        return ApprovalDecision(approved=self.approved, by=self.by, note=self.note)

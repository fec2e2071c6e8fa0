"""A person's yes or no before a tool runs: what is asked, who answers, and when there is something to ask."""

from collections.abc import Mapping
from typing import Protocol, cast

from tuvl.dataclass import dataclass
from tuvl.errors import TemplateError
from tuvl.journal import Journal, Wait
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedLater:
    """Whoever approves is not here: a durable run is suspended until the answer comes."""

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision:
        """Refuse: outside of a durable run nothing could wait."""
        return ApprovalDecision(approved=False, by="nobody", note="there is nobody to approve it")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedApprovals:
    """Asks once for each call, whatever becomes of the process; the record of the run holds the answers."""

    inner: Approvals
    journal: Journal

    async def ask(self, request: ApprovalRequest) -> ApprovalDecision:
        """Return the recorded decision, or ask; raises `Suspended` when the answer is to come later."""
        name = self.journal.numbered(f"approval.{request.call_id}")
        if isinstance(self.inner, AskedLater):
            return _decision(await self.journal.ask(_wait(name, request)))

        async def ask() -> JsonValue:
            decision = await self.inner.ask(request)
            return {"approved": decision.approved, "by": decision.by, "note": decision.note}

        return _decision(await self.journal.record(name, ask))


def _wait(name: str, request: ApprovalRequest) -> Wait:
    return Wait(
        name=name,
        kind="approval",
        step=request.step_id,
        message=f"the call of tool {request.tool!r} by step {request.step_id!r} waits for approval",
        asked={
            "tool": request.tool,
            "call_id": request.call_id,
            "arguments": request.arguments,
            "reason": request.reason,
            "requested_by": request.requested_by,
        },
    )


def _decision(kept: JsonValue) -> ApprovalDecision:
    answer = cast(JsonObject, kept)
    return ApprovalDecision(
        approved=answer["approved"] is True,
        by=str(answer["by"]),
        note=cast(str | None, answer.get("note")),
    )

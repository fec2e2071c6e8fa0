"""What a `Host` is asked, and what it answers."""

from dataclasses import field
from datetime import datetime
from typing import Literal

from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.journal import WaitKind
from tuvl.principal import Principal
from tuvl.values import JsonObject, JsonValue

RunState = Literal["queued", "waiting", "running", "ended"]
"""Where a durable run is: taken by no process yet, or again; suspended until somebody answers; in a process; over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """A run to be started."""

    workflow: str
    """Its name in the project."""
    input: JsonObject = field(default_factory=dict)
    principal: Principal = field(default_factory=Principal)
    models: dict[str, str] = field(default_factory=dict)
    """Name that agents call a model by → preset or provider string to call instead."""
    timeout_s: float | None = None
    trace: bool = False
    run_id: str | None = None
    """Id of the run; made when there is none. One that is there already is attached to."""
    key: str | None = None
    """Idempotency key, which counts for one tenant: the same one again leads to the run that it has started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRun:
    """A run that is suspended until somebody answers, or until its deadline."""

    run_id: str
    workflow: str
    kind: WaitKind
    step: str
    message: str
    asked: JsonObject
    """What a person is shown: for a question `title`, `instruction`, `shown` and `fields`, for an approval `tool`,
    `arguments` and `reason`; for an outcome that is not known `request`, what the step was begun with, or
    `request_now`, what it would ask for by now."""
    digest: str
    """Of all that is asked; an answer names it, so that it counts for nothing else."""
    since: datetime
    deadline: datetime | None
    groups: tuple[str, ...]
    """Groups of which whoever answers has to be in one; empty where anybody may."""
    assignee: str | None
    requested_by: str | None
    tenant: str | None
    also_requested_by: tuple[str, ...] = ()
    """Who has asked for the runs that it was forked from, and may answer as little as who has asked for it."""
    encrypted: bool = False
    """Whether what is asked takes another key than this process has; `message` says so then."""

    def to_json(self) -> JsonObject:
        """Return what callers of a server are told of it."""
        return {
            "run_id": self.run_id,
            "workflow": self.workflow,
            "kind": self.kind,
            "step": self.step,
            "message": self.message,
            "asked": self.asked,
            "digest": self.digest,
            "since": self.since.isoformat(),
            "deadline": None if self.deadline is None else self.deadline.isoformat(),
            "groups": list[JsonValue](self.groups),
            "assignee": self.assignee,
            "requested_by": self.requested_by,
            "tenant": self.tenant,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRequest:
    """An answer to what a run waits for."""

    digest: str
    """That of the `WaitingRun` which was shown."""
    value: JsonObject
    """To a question the fields that are asked; to an approval `{approved, note}`; to an outcome that is not known
    `{outcome: done|retry|failed, answer}`, where `answer` holds what the step would have set."""
    by: Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An answer that counts: it is kept, and the run goes on."""

    run_id: str
    by: str
    at: datetime


Refusal = Literal["not_waiting", "already_answered", "other_question", "too_late", "not_allowed", "invalid"]


class AnswerRefused(UsageError):
    """An answer does not count; `refusal` says why in a word, the message to a person."""

    def __init__(self, message: str, refusal: Refusal) -> None:
        super().__init__(message)
        self.refusal: Refusal = refusal


class NotRenewed(UsageError):
    """A run does not go on with the files as they are now; `refusal` says why in a word, the message to a person."""

    def __init__(self, message: str, refusal: Literal["performed", "ended", "gone_on", "parts"]) -> None:
        super().__init__(message)
        self.refusal = refusal


class NoSuchRun(UsageError):
    """There is no run of that id which the caller may see."""

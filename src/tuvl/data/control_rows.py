"""What is kept of runs that go on, and of what they are told; plain rows that import nothing heavy."""

from datetime import datetime
from typing import Literal, TypeAlias

from tuvl.control import ControlAction
from tuvl.dataclass import dataclass

Outcome: TypeAlias = Literal["applied", "void"]
"""What became of a directive: the run did it, or had ended before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRow:
    """A run that goes on."""

    run_id: str
    workflow: str
    schema_version: str
    principal: str
    tenant: str | None
    started_at: datetime
    owner: str
    """The process that has the run."""
    paused: bool
    age_s: float = 0.0
    """Seconds since that process was last heard of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectiveRow:
    """Something a run is told; one of an id is kept once."""

    id: str
    run_id: str
    kind: ControlAction
    message: str
    by: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What became of a directive; `outcome` is `None` while nobody has read it."""

    outcome: Outcome | None
    note: str | None = None
    """What there is to say beside that, e.g. that the run was paused already."""

"""What is said of a run that goes on, and what it can be told."""

from contextlib import AbstractContextManager
from dataclasses import field
from datetime import datetime
from typing import Protocol
from uuid import uuid4

from tuvl.control import ControlAction, RunControl
from tuvl.data.control_rows import LiveRow
from tuvl.data.run_records import StoreAccess
from tuvl.dataclass import dataclass

DEAD_S = 8.0
"""A process that was not heard of for so many seconds is taken to be dead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """A run that goes on; `owner`, `paused` and `age_s` are filled in by the registry."""

    run_id: str
    workflow: str
    schema_version: str
    principal: str
    tenant: str | None
    started_at: datetime
    owner: str = ""
    """The process that has the run: host, process id, and a number of its own."""
    paused: bool = False
    age_s: float = 0.0
    """Seconds since that process was last heard of."""

    @property
    def alive(self) -> bool:
        """Whether somebody still has the run; a process that died says nothing more."""
        return self.age_s < DEAD_S

    @classmethod
    def of(cls, row: LiveRow) -> "RunInfo":
        """Return what a row says."""
        return cls(
            run_id=row.run_id,
            workflow=row.workflow,
            schema_version=row.schema_version,
            principal=row.principal,
            tenant=row.tenant,
            started_at=row.started_at,
            owner=row.owner,
            paused=row.paused,
            age_s=row.age_s,
        )

    def row(self, owner: str, *, paused: bool) -> LiveRow:
        """Return the row of a run of a process."""
        return LiveRow(
            run_id=self.run_id,
            workflow=self.workflow,
            schema_version=self.schema_version,
            principal=self.principal,
            tenant=self.tenant,
            started_at=self.started_at,
            owner=owner,
            paused=paused,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    """What a run is told; one of an id is carried out once, however often it is given."""

    kind: ControlAction
    message: str = ""
    """What a steer says to the agent, or why the run is aborted."""
    by: str = "operator"
    """Who says it."""
    id: str = field(default_factory=lambda: uuid4().hex)


class Registry(Protocol):
    """What an engine needs of a `RunRegistry`, which imports a database's library."""

    access: StoreAccess
    every_run: bool

    def register(self, run_id: str, control: RunControl, info: RunInfo) -> AbstractContextManager[None]:
        """Let a run be seen and controlled while the block runs."""
        ...

    async def hear(self, run_id: str) -> None:
        """Carry out at once what a run of this process was told, if it is on the list. Never raises for the store."""
        ...

    async def aclose(self) -> None:
        """Take the runs of this process off the list, and let go of connections."""
        ...

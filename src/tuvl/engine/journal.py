"""The durable record of a run as a port: unlike a sink it may not fail, and the run waits for it before each move."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from tuvl.values import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """One step of the spine, as it ended."""

    run_id: str
    number: int
    step_id: str
    signal: str
    delta: Mapping[str, JsonValue]
    engine_keys: Mapping[str, JsonValue]


class Journal(Protocol):
    """Keeps the steps of a run. What it raises ends the run."""

    async def step_finished(self, record: StepRecord) -> None:
        """Keep one step; the run moves on when this returns."""
        ...


class NoJournal:
    """For runs that do not outlive their process."""

    async def step_finished(self, record: StepRecord) -> None:
        """Keep nothing."""

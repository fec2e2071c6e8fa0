"""Durable runs while this process performs them: their events go to those who watch, and their ends are counted."""

from collections.abc import Callable

from tuvl.events.sink import InlineSink
from tuvl.events.types import Event, RunFinished, RunResumed, RunStarted
from tuvl.server.event_log import EventLog

Ended = Callable[[str, str, float], None]
"""Hears of a run that has ended: its workflow, its status, and the seconds since its beginning."""


class PerformedHere(InlineSink):
    """The events of one run that this process has; what happens to it elsewhere does not come by here."""

    def __init__(self, log: EventLog, ended: Ended) -> None:
        self._log = log
        self._ended = ended
        self._workflow = ""

    def accept(self, event: Event) -> None:
        """Hand an event on; a run that waits for somebody has not ended."""
        body = event.body
        if isinstance(body, RunStarted | RunResumed):
            self._workflow = body.workflow
        self._log.accept(event)
        if isinstance(body, RunFinished) and body.status != "suspended":
            began = self._log.following.started_at or event.at
            self._ended(self._workflow, body.status, max(0.0, (event.at - began).total_seconds()))

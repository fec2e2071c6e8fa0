"""Durable runs while this process performs them: their events go to those who watch, and their ends are counted."""

from collections.abc import Callable

from tuvl.events.types import Event, RunFinished, RunResumed, RunStarted, TextDelta
from tuvl.hosting.following import Follower
from tuvl.hosting.schedules import is_scheduled
from tuvl.server.event_log import EventLog

Ended = Callable[[str, str, float], None]
"""Hears of a run that has ended: its workflow, its status, and the seconds since its beginning."""

Scheduled = Callable[[str], None]
"""Hears of a run that a schedule has started and that begins here: its workflow."""


class PerformedHere(Follower):
    """The events of one run that this process has; what happens to it elsewhere does not come by here."""

    def __init__(self, log: EventLog, ended: Ended, scheduled: Scheduled) -> None:
        self._log = log
        self._ended = ended
        self._scheduled = scheduled
        self._workflow = ""

    def before(self, event: Event) -> None:
        """Hand on what was told of the run before it came here."""
        self._hand_on(event, held=False)

    def accept(self, event: Event) -> None:
        """Hand an event on, and count what it says; a run that waits for somebody has not ended."""
        body = event.body
        self._hand_on(event, held=not isinstance(body, TextDelta))
        if isinstance(body, RunStarted) and is_scheduled(event.run_id):
            self._scheduled(body.workflow)  # nobody has asked this server for it
        if isinstance(body, RunFinished) and body.status != "suspended":
            began = self._log.following.started_at or event.at
            self._ended(self._workflow, body.status, max(0.0, (event.at - began).total_seconds()))

    def _hand_on(self, event: Event, *, held: bool) -> None:
        if isinstance(event.body, RunStarted | RunResumed):
            self._workflow = event.body.workflow
        self._log.accept(event, held=held)

    def kept(self, seq: int) -> None:
        """Let events up to a number be read."""
        self._log.release(seq)

    @property
    def watched(self) -> bool:
        """Whether a client waits for the events."""
        return self._log.watched

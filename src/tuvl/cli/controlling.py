"""Tells people that somebody, or a supervisor, stepped in, and how a run that is paused goes on."""

from tuvl.cli.live import View
from tuvl.cli.observing import Observing, Speaker
from tuvl.cli.options import EventsMode
from tuvl.cli.wording import seconds
from tuvl.control import RunControl
from tuvl.dataclass import dataclass
from tuvl.events.sink import Sink
from tuvl.events.types import Event, Intervened
from tuvl.values import printable


def foreground_sinks(observed: Observing, view: View, control: RunControl, *, events: EventsMode) -> list[Sink]:
    """Return what follows a run that a command performs: it is recorded, shown, and told of who stepped in."""
    return [*observed.sinks(), *([] if events == "none" else [view]), ToldInterventions(view, control)]


@dataclass(frozen=True, slots=True)
class ToldInterventions:
    """A sink that tells people that their run was paused, and how it goes on."""

    view: Speaker
    control: RunControl

    def accept(self, event: Event) -> None:
        """Tell of one event; of most there is nothing to say."""
        if isinstance(event.body, Intervened):
            for line in _lines(event.run_id, event.body, self.control.pause_left_s):
                self.view.say(printable(line), mark="bad" if event.body.action in ("pause", "abort") else "now")


def _lines(run_id: str, said: Intervened, pause_left_s: float) -> list[str]:
    by = {"rule": f"the supervisor's {said.by}", "judge": f"the supervisor's judge {said.by}"}.get(said.source, said.by)
    why = f": {said.reason}" if said.reason else ""
    match said.action:
        case "pause":
            after = f"after {seconds(pause_left_s)} it is aborted"
            return [f"paused by {by}{why}", f"go on with `tuvl runs resume {run_id}`, stop with Ctrl-C; {after}"]
        case "resume":
            return [f"resumed by {by}"]
        case "steer":
            return [f"steered by {by}{why}"]
        case "abort":
            return [f"aborted by {by}{why}"]
